"""Orders given by hand (R4.5), and what became of them. Nothing in it is ever updated."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TABLES = ("manual_order", "manual_order_event")


def upgrade() -> None:
    """Create the tables, and refuse updates and deletions inside the database itself."""
    op.create_table(
        "manual_order",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("nodes", sa.Integer, nullable=False),
        sa.Column("base", sa.Integer, nullable=False),
        sa.Column("who", sa.String(255), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("since", sa.String(40), nullable=False),
        sa.Column("until", sa.String(40), nullable=False),
    )
    op.create_table(
        "manual_order_event",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("order_id", sa.Integer, sa.ForeignKey("manual_order.id"), nullable=False, index=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("who", sa.String(255), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("at", sa.String(40), nullable=False),
    )
    if op.get_bind().dialect.name == "sqlite":
        for table in _TABLES:
            for verb in ("UPDATE", "DELETE"):
                op.execute(
                    f'CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON "{table}" '
                    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
                )


def downgrade() -> None:
    """Refused: it would lose the past."""
    raise NotImplementedError("the ledger is append-only; restore a backup instead")
