"""Tables of the ledger as SQLAlchemy sees them, and the way to bring a database up to date."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

HEAD = "0003"
metadata = sa.MetaData()

tick = sa.Table(
    "tick",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("taken_at", sa.String(40)),
    sa.Column("action", sa.String(16)),
    sa.Column("withdrawn", sa.Text),
    sa.Column("inputs", sa.LargeBinary),
    sa.Column("decision", sa.LargeBinary),
)
memory = sa.Table(
    "memory",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("tick_id", sa.Integer),
    sa.Column("content", sa.LargeBinary),
)
change = sa.Table(
    "change",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("tick_id", sa.Integer),
    sa.Column("stack", sa.String(255)),
    sa.Column("sizes_before", sa.JSON),
    sa.Column("sizes_after", sa.JSON),
    sa.Column("victims", sa.JSON),
    sa.Column("candidate_digest", sa.String(64)),
)
change_event = sa.Table(
    "change_event",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("change_id", sa.Integer),
    sa.Column("state", sa.String(16)),
    sa.Column("detail", sa.Text),
    sa.Column("at", sa.String(40)),
)
node_event = sa.Table(
    "node_event",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("tick_id", sa.Integer),
    sa.Column("node", sa.String(255)),
    sa.Column("pool", sa.String(63)),
    sa.Column("before", sa.String(16)),
    sa.Column("after", sa.String(16)),
    sa.Column("is_legal", sa.Boolean),
    sa.Column("at", sa.String(40)),
)
manual_order = sa.Table(
    "manual_order",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.String(16)),
    sa.Column("nodes", sa.Integer),
    sa.Column("base", sa.Integer),
    sa.Column("who", sa.String(255)),
    sa.Column("why", sa.Text),
    sa.Column("since", sa.String(40)),
    sa.Column("until", sa.String(40)),
)
manual_order_event = sa.Table(
    "manual_order_event",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("order_id", sa.Integer),
    sa.Column("state", sa.String(16)),
    sa.Column("who", sa.String(255)),
    sa.Column("why", sa.Text),
    sa.Column("at", sa.String(40)),
)
ended_task = sa.Table(
    "ended_task",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("identity", sa.String(255)),
    sa.Column("task", sa.String(520)),
    sa.Column("department", sa.String(255)),
    sa.Column("submitter", sa.String(255)),
    sa.Column("kind", sa.String(32)),
    sa.Column("gpus", sa.Integer),
    sa.Column("started_at", sa.String(40)),
    sa.Column("ended_at", sa.String(40)),
    sa.Column("outcome", sa.String(16)),
    sa.Column("kin", sa.String(512)),
)


def is_current(engine: sa.Engine) -> bool:
    """Whether the database stands at the newest revision."""
    with engine.connect() as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return False
        return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == HEAD


def upgrade(engine: sa.Engine) -> None:
    """Bring the database to the newest revision; harmless when it stands there."""
    # Alembic costs a third of a second to import; a database that is current does not pay it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
