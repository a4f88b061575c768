"""Large language-model jobs of Shanghai AI Lab's Kalos cluster, 2023 (CC-BY-4.0).

The source does not part fine-tuning from "other", so both are read as fine-tuning; all jobs are
gangs of whole nodes. No user, department or tier is given.
"""

from __future__ import annotations

from enum import StrEnum

from contract.work import WorkKind
from replay.trace import Job
from replay.traces.reader import Reader, Rows, TraceFormat
from replay.traces.table import Table


class Type(StrEnum):
    """The words of the column `type`, in small letters."""

    PRETRAIN = "pretrain"
    OTHER_OR_SFT = "other/sft"


KINDS = {Type.PRETRAIN: WorkKind.PRETRAINING, Type.OTHER_OR_SFT: WorkKind.FINETUNING}


def jobs(table: Table) -> Rows:
    """One job a row."""
    for line in table:
        yield (
            line,
            Job(
                name=table.name("job_id"),
                arrival_s=table.seconds("arrival_s"),
                runtime_s=table.runtime("duration_s"),
                gpus=table.gpus("gpus"),
                kind=KINDS[table.choice("type", Type, Type.OTHER_OR_SFT)],
            ),
        )


READER = Reader(
    format=TraceFormat.ACME,
    required=("job_id", "arrival_s", "gpus", "duration_s", "type"),
    optional=("nodes",),
    jobs=jobs,
)
