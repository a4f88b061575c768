"""One file a revision; never edited once released."""
