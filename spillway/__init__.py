"""The front door: the command line, the demo, the reports. Imports every room; no room imports it."""
