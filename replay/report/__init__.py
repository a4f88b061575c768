"""The HTML report of played traces, in parts: the page, the curves over time, the front of the best, the sections."""
