"""Demand forecast from history, and the windows it proposes (R4.4). Proposes only; nothing here acts."""
