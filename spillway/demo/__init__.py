"""The demo: builds the platform on the twin, lets a surge come, shows what the agent does, reports."""
