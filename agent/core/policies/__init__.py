"""One pressure per file; each maps a snapshot and its own settings to one proposal and knows no other."""
