"""Sensors: one adapter a source, and assemble.py that joins their readings into one Snapshot."""
