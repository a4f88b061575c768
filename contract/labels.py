"""Names of labels and taints that tie a catalogue row to its nodes, and their spelling per cloud."""

from __future__ import annotations

from enum import StrEnum

PREFIX = "spillway.dev/"
POOL = "spillway.dev/pool"
SITE = "spillway.dev/site"
GPU_MODEL = "spillway.dev/gpu-model"
GPU_MEMORY = "spillway.dev/gpu-memory-gib"
PREEMPTIBLE = "spillway.dev/preemptible"
BURST_TAINT = "spillway.dev/burst"
PREEMPTIBLE_TAINT = "spillway.dev/preemptible"
GPU_RESOURCE = "nvidia.com/gpu"
# GPU Feature Discovery's label, in MiB of one card.
GPU_MEMORY_MIB = "nvidia.com/gpu.memory"
TASK = "batch.kubernetes.io/job-name"
DEPARTMENT = "spillway.dev/department"


class TaintEffect(StrEnum):
    """Kubernetes' own spelling; each cloud's API spelling is a method, never a second enum (I25)."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"

    @property
    def eks(self) -> str:
        """The EKS API's spelling: NO_SCHEDULE."""
        return self.name

    @property
    def ack(self) -> str:
        """The ACK API's spelling is Kubernetes' own: NoSchedule."""
        return self.value
