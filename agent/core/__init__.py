"""The pure core: values in, values out. No clock, no environment, no randomness, no logging, no I/O."""
