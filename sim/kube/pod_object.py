"""A pod as its API server shows it: pods of jobs, and the exporter that each GPU node runs.

Waiting pods carry the scheduler's own words. The exporter is there because real nodes have such
pods: who counts every pod as work will find no idle node. Must not change the world.
"""

from __future__ import annotations

from contract.labels import DEPARTMENT, GPU_RESOURCE, TASK
from sim.kube.status import Json
from sim.world.bays import tolerated_keys
from sim.world.dispatch import GRACE_S
from sim.world.ground import Ground
from sim.world.nodes import Node
from sim.world.workload import Pod, PodPhase

EXPORTER_NAMESPACE = "gpu-operator"
_IMAGE = "registry.idc.example/train:torch2.0.1-cuda11.8-deepspeed0.9.5"


def pod_labels(pod: Pod) -> dict[str, str]:
    """Labels that the Job's controller and the user's template give."""
    return {
        TASK: pod.job.name,
        "job-name": pod.job.name,
        "batch.kubernetes.io/job-completion-index": str(pod.index),
        DEPARTMENT: pod.job.department,
    }


def pod_spec(pod: Pod) -> Json:
    """The spec: GPUs asked for, taints tolerated, the node once bound."""
    gpus = {GPU_RESOURCE: str(pod.gpus)}
    spec: Json = {
        "containers": [{"name": "main", "image": _IMAGE, "resources": {"limits": gpus, "requests": gpus}}],
        "restartPolicy": "Never",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": int(GRACE_S),
        "tolerations": [{"key": key, "operator": "Exists"} for key in tolerated_keys(pod.job.is_preemptible)],
    }
    if pod.job.gpu_memory_gib:
        spec["affinity"] = _memory_affinity(pod.job.gpu_memory_gib)
    if pod.node is not None:
        spec["nodeName"] = pod.node.name
    return spec


def pod_status(pod: Pod, ground: Ground, nodes: int) -> Json:
    """Phase and conditions; `nodes` is how many the scheduler looked at."""
    if pod.phase is PodPhase.PENDING:
        since = ground.stamp(pod.created_s)
        message = f"0/{nodes} nodes are available: {nodes} Insufficient nvidia.com/gpu."
        waiting = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": since,
        }
        return {"phase": pod.phase.value, "conditions": [waiting], "qosClass": "BestEffort"}
    started = ground.stamp(pod.created_s if pod.bound_s is None else pod.bound_s)
    ready = "True" if pod.phase is PodPhase.RUNNING else "False"
    conditions = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": started},
        {"type": "Ready", "status": ready, "lastTransitionTime": ground.stamp(pod.ended_s) if pod.ended_s else started},
    ]
    return {
        "phase": pod.phase.value,
        "conditions": conditions,
        "containerStatuses": [_container(pod, started, ground)],
        "startTime": started,
        "qosClass": "BestEffort",
    }


def _container(pod: Pod, started: str, ground: Ground) -> Json:
    """The only container: at work, or ended with its exit code."""
    state: Json = {"running": {"startedAt": started}}
    if pod.ended_s is not None:
        is_good = pod.phase is PodPhase.SUCCEEDED
        ended = {"exitCode": 0 if is_good else 137, "reason": "Completed" if is_good else "Error"}
        state = {"terminated": ended | {"startedAt": started, "finishedAt": ground.stamp(pod.ended_s)}}
    ready = pod.phase is PodPhase.RUNNING
    container: Json = {"name": "main", "image": _IMAGE, "imageID": _IMAGE, "ready": ready, "started": ready}
    return container | {"restartCount": 0, "state": state}


def exporter_name(node: Node, ground: Ground) -> str:
    """The name of the node's exporter pod."""
    return f"nvidia-dcgm-exporter-{ground.draws.token(5, 'exporter', node.instance_id)}"


def exporter_spec(node: Node) -> Json:
    """A DaemonSet pod: no GPU asked for, every taint tolerated."""
    return {
        "containers": [{"name": "nvidia-dcgm-exporter", "image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1-4.6.0"}],
        "nodeName": node.name,
        "tolerations": [{"operator": "Exists"}],
        "restartPolicy": "Always",
    }


def _memory_affinity(gib: int) -> Json:
    term = {"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": [str(gib * 1024 - 1)]}
    terms = [{"matchExpressions": [term]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
