"""First schema: ticks, changes and their outcomes, node life. Nothing in it is ever updated."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = ("tick", "memory", "change", "change_event", "node_event")


def upgrade() -> None:
    """Create the tables, and refuse updates and deletions inside the database itself."""
    op.create_table(
        "tick",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("taken_at", sa.String(40), nullable=False),
        sa.Column("action", sa.String(16), nullable=False, index=True),
        sa.Column("withdrawn", sa.Text),
        sa.Column("inputs", sa.LargeBinary, nullable=False),
        sa.Column("decision", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "memory",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("tick_id", sa.Integer, sa.ForeignKey("tick.id"), nullable=False, index=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "change",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("tick_id", sa.Integer, sa.ForeignKey("tick.id"), nullable=False, index=True),
        sa.Column("stack", sa.String(255), nullable=False),
        sa.Column("sizes_before", sa.JSON, nullable=False),
        sa.Column("sizes_after", sa.JSON, nullable=False),
        sa.Column("victims", sa.JSON, nullable=False),
        sa.Column("candidate_digest", sa.String(64), nullable=False),
    )
    op.create_table(
        "change_event",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("change_id", sa.Integer, sa.ForeignKey("change.id"), nullable=False, index=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("at", sa.String(40), nullable=False),
    )
    op.create_table(
        "node_event",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("tick_id", sa.Integer, sa.ForeignKey("tick.id"), nullable=False, index=True),
        sa.Column("node", sa.String(255), nullable=False, index=True),
        sa.Column("pool", sa.String(63), nullable=False),
        sa.Column("before", sa.String(16)),
        sa.Column("after", sa.String(16), nullable=False),
        sa.Column("is_legal", sa.Boolean, nullable=False),
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
