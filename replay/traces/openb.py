"""Pods of Alibaba's GPU-sharing cluster "openb", 2023 (no licence: for evaluation, never shipped).

A pod ran from `scheduled_time` to `deletion_time`. Pods without GPU and pods that never got a node
are no jobs on GPUs and are left out. A pod with a share of a GPU (`gpu_milli` below 1000) is a bad
row: rounding shares up would add 16 % of work that never was, and nothing here runs half a GPU.
"""

from __future__ import annotations

from enum import StrEnum

from contract.work import Tier, WorkKind
from replay.trace import Job
from replay.traces.reader import Reader, Rows, TraceFormat
from replay.traces.table import Table


class Quality(StrEnum):
    """The words of the column `qos`, in small letters."""

    LATENCY_SENSITIVE = "ls"
    GUARANTEED = "guaranteed"
    BURSTABLE = "burstable"
    BEST_EFFORT = "be"


TIERS = {
    Quality.LATENCY_SENSITIVE: Tier.PRODUCTION_CORE,
    Quality.GUARANTEED: Tier.PRODUCTION,
    Quality.BURSTABLE: Tier.PRODUCTION,
    Quality.BEST_EFFORT: Tier.EXPLORATION,
}
WHOLE_GPU = 1000


def jobs(table: Table) -> Rows:
    """One job for each pod that ran on whole GPUs."""
    for line in table:
        if table.text("num_gpu") == "0" or not table.text("scheduled_time"):
            table.leave_out(line)
            continue
        _refuse_share(table)
        quality = table.choice("qos", Quality, Quality.BEST_EFFORT)
        yield (
            line,
            Job(
                name=table.name("name"),
                arrival_s=table.seconds("creation_time"),
                runtime_s=_runtime(table),
                gpus=table.gpus("num_gpu"),
                tier=TIERS[quality],
                kind=WorkKind.INFERENCE if quality is Quality.LATENCY_SENSITIVE else WorkKind.OTHER,
                is_preemptible=quality is Quality.BEST_EFFORT,
            ),
        )


def _refuse_share(table: Table) -> None:
    milli = table.count("gpu_milli", at_least=0, unit="thousandths of a GPU")
    if milli < WHOLE_GPU:
        fix = "jobs take whole GPUs: leave such rows out with --skip-bad"
        table.bad("gpu_milli", f"{milli / WHOLE_GPU:g} of a GPU is a share", fix)


def _runtime(table: Table) -> float:
    value = table.seconds("deletion_time") - table.seconds("scheduled_time")
    if value <= 0:
        table.bad_runtime("deletion_time", value)
    return value


READER = Reader(
    format=TraceFormat.OPENB,
    required=("name", "num_gpu", "gpu_milli", "qos", "creation_time", "deletion_time", "scheduled_time"),
    optional=("cpu_milli", "memory_mib", "gpu_spec", "pod_phase"),
    jobs=jobs,
)
