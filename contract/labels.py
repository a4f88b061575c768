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
# What a pod says of its work: a label, or an annotation where a label cannot hold the value (a time, an address).
TIER = "spillway.dev/tier"
KIND = "spillway.dev/kind"
DATA_CLASS = "spillway.dev/data-class"
LOW_LATENCY = "spillway.dev/low-latency"
RUNTIME = "spillway.dev/estimated-runtime"
DEADLINE = "spillway.dev/deadline"
USER = "spillway.dev/user"
# The Alibaba device plugin's count of cards, also where HAMi shows each card as many.
PHYSICAL_GPUS = "aliyun.accelerator/nvidia_count"

# A node that its cloud takes back: when (RFC 3339); what the handlers of EKS and ACK show.
RECLAIM_AT = "spillway.dev/reclaim-at"
AWS_SPOT_TAINT = "aws-node-termination-handler/spot-itn"
ACK_SPOT_CONDITION = "InstanceExpired"


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
