"""The append-only ledger: what was seen, decided, done. SQLite by default; any SQLAlchemy URL."""
