"""Picture requests of Alibaba's Stable Diffusion service, 2024 (no licence: for evaluation, never shipped).

Each request is a short inference job on one GPU, the user group its user. Times carry no zone and
are read as UTC. Requests that were still pending never ran and are left out; failed ones took their
time and count.
"""

from __future__ import annotations

from contract.work import Tier, WorkKind
from replay.trace import Job
from replay.traces.reader import Reader, Rows, TraceFormat
from replay.traces.table import Table


def jobs(table: Table) -> Rows:
    """One job for each request that ran, named after its line: the table has no ids."""
    for line in table:
        if table.text("predict_status") == "PENDING":
            table.leave_out(line)
            continue
        yield (
            line,
            Job(
                name=f"row-{line}",
                arrival_s=table.naive_moment("gmt_create"),
                runtime_s=table.runtime("exec_time_seconds"),
                gpus=1,
                user=table.text("groupId"),
                tier=Tier.CUSTOMER_SERVICE,
                kind=WorkKind.INFERENCE,
            ),
        )


READER = Reader(
    format=TraceFormat.ALIBABA_LORA,
    required=("gmt_create", "predict_status", "exec_time_seconds", "groupId"),
    optional=(
        "predict_type",
        "prompt_length",
        "negative_prompt_length",
        "num_images_per_prompt",
        "num_inference_steps",
        "checkpoint_model_version_id",
        "num_lora",
    ),
    jobs=jobs,
)
