"""Replay: traces, engine, report."""
