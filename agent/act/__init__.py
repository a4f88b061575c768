"""Actuators: one adapter a target. Each turns its library's errors into those of agent.errors."""
