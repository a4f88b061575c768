"""Rules of the house: sizes, names, files."""
