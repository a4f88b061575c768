"""Recorded work in the formats people publish it in, one file a format, and the shapes a trace can be given.

`registry.read_trace` is the front door. Nothing here runs a trace or decides anything.
"""
