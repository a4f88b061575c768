"""Job traces that the twin runs, each with its source and licence in README.md."""
