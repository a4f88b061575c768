"""Speed and memory, as ratios and figures of one run: `python -m bench`. No assertions here."""
