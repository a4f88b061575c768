"""Alembic's home; `agent.ledger.schema.upgrade` is the only caller."""
