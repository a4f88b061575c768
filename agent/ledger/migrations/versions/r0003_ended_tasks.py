"""Tasks that ended, to learn run times from (R6.5). Never updated; what no longer teaches may go, and nothing else."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# A row may go once so many of its kin ended after it, or so many tasks in all: then no book looks at it again.
_KIN_KEPT = 50
_ALL_KEPT = 20_000
_LATER = (
    "SELECT count(*) FROM ended_task AS later WHERE (later.ended_at, later.identity) > (OLD.ended_at, OLD.identity)"
)


def upgrade() -> None:
    """Create the table, and refuse updates and untimely deletions inside the database itself."""
    op.create_table(
        "ended_task",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("identity", sa.String(255), nullable=False, unique=True),
        sa.Column("task", sa.String(520), nullable=False),
        sa.Column("department", sa.String(255), nullable=False),
        sa.Column("submitter", sa.String(255), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("gpus", sa.Integer, nullable=False),
        sa.Column("started_at", sa.String(40), nullable=False),
        sa.Column("ended_at", sa.String(40), nullable=False, index=True),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("kin", sa.String(512), nullable=False),
    )
    op.create_index("ix_ended_task_kin", "ended_task", ["kin", "ended_at", "identity"])
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            'CREATE TRIGGER ended_task_no_update BEFORE UPDATE ON "ended_task" '
            "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        )
        op.execute(
            'CREATE TRIGGER ended_task_no_delete BEFORE DELETE ON "ended_task" '
            f"WHEN ({_LATER} AND later.kin = OLD.kin) < {_KIN_KEPT} AND ({_LATER}) < {_ALL_KEPT} "
            "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: this task is still learned from'); END"
        )


def downgrade() -> None:
    """Refused: it would lose the past."""
    raise NotImplementedError("the ledger is append-only; restore a backup instead")
