"""Pure tests: values in, values out."""
