"""Jobs and nodes brought together: start, end, loss and second start of each job.

A small model of Kueue and the scheduler. Pods of waiting jobs stand as Pending in the home cluster
and move to the cluster where they run. A node that goes takes the whole gang down; the job then
starts again from the beginning. Must not know why nodes come and go, nor what they cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sim.world.bays import Bays
from sim.world.gpu_use import UseMeter
from sim.world.ground import Ground, Verb
from sim.world.nodes import LEAVING, LossCause, Node, Phase
from sim.world.waiting_queue import WaitingQueue
from sim.world.workload import Job, Pod, PodPhase, Run, RunState

# Finished pods stay as long as a Job with ttlSecondsAfterFinished: 60 keeps them.
FINISHED_TTL_S = 60.0
GRACE_S = 30.0


class Dispatcher:
    """All jobs of the world."""

    def __init__(self, ground: Ground, bays: Bays, meter: UseMeter) -> None:
        self._ground = ground
        self._bays = bays
        self._meter = meter
        self.queue = WaitingQueue()
        self.runs: list[Run] = []
        self._by_job: dict[str, Run] = {}
        self._expected = 0
        self._finished = 0
        self.home_cluster = next(
            (row.cluster for row in ground.catalog.onprem_pools()),
            next(iter(ground.catalog.pools.values())).cluster,
        )
        self.demand_gpus = 0
        self.wasted_gpu_s = 0.0

    def expect(self, jobs: Sequence[Job]) -> None:
        """Put the submissions of a trace on the agenda."""
        for job in jobs:
            at_s = max(job.submitted_s, self._ground.now_s)
            self._ground.agenda.at(at_s, partial(self.submit, job))
        self._expected += len(jobs)

    def submit(self, job: Job) -> Run:
        """A user submits a job now."""
        if job.name in self._by_job:
            raise ValueError(f"a job {job.name} was submitted before")
        run = Run(job=job, order=len(self.runs))
        self.runs.append(run)
        self._by_job[job.name] = run
        self.demand_gpus += job.gpus
        self._make_pods(run)
        if not self._place(run):
            self.queue.add(run)
        return run

    @property
    def is_done(self) -> bool:
        """Whether every job, of the trace or submitted by hand, has finished."""
        return self._finished == len(self.runs) and len(self.runs) >= self._expected

    def schedule(self) -> None:
        """Something came free: try the queue."""
        self.queue.offer(self._place)

    def follow(self, node: Node, before: Phase) -> None:
        """Keep up with a node's step of life."""
        if node.phase is Phase.GPU_READY:
            self.schedule()
        elif node.phase in LEAVING or node.phase is Phase.FAILED:
            self.clear(node, node.loss_cause or LossCause.NODE_FAILED)

    def clear(self, node: Node, cause: LossCause) -> None:
        """Whatever runs on the node loses its place."""
        runs = {id(run): run for pod in node.pods() if (run := self._run_of(pod))}
        for run in runs.values():
            self._lose(run, cause)
        if runs:
            self.schedule()

    def evict(self, pod: Pod, grace_s: float = GRACE_S) -> None:
        """End a pod after its grace time; its gang then starts again."""
        if pod.deletion is None and pod.phase in (PodPhase.PENDING, PodPhase.RUNNING):
            delay_s = grace_s if pod.phase is PodPhase.RUNNING else 0.0
            pod.deletion = self._ground.agenda.after(delay_s, lambda: self._end_pod(pod))
            if delay_s:
                self._ground.journal.pod(Verb.MODIFIED, pod)

    # ---- steps of one run ----

    def _place(self, run: Run) -> bool:
        run.is_tried = True
        places = self._bays.find(run.job)
        if places is None:
            return False
        now_s = self._ground.now_s
        for pod, node in zip(run.pods, places, strict=True):
            self._bind(pod, node)
        run.state, run.started_s = RunState.RUNNING, now_s
        run.first_started_s = now_s if run.first_started_s is None else run.first_started_s
        run.cluster = places[0].cluster
        run.pools = tuple(dict.fromkeys(node.row.pool for node in places))
        run.ending = self._ground.agenda.after(run.job.duration_s, lambda: self._finish(run))
        return True

    def _bind(self, pod: Pod, node: Node) -> None:
        moves = pod.cluster != node.cluster
        if moves:
            self._ground.journal.pod(Verb.DELETED, pod)
            pod.cluster, pod.created_s = node.cluster, self._ground.now_s
        pod.gpu_indexes = node.give(pod)
        pod.node, pod.phase, pod.bound_s = node, PodPhase.RUNNING, self._ground.now_s
        self._meter.held(node, pod.gpus)
        self._ground.journal.pod(Verb.ADDED if moves else Verb.MODIFIED, pod)

    def _finish(self, run: Run) -> None:
        run.state, run.ended_s = RunState.FINISHED, self._ground.now_s
        self.demand_gpus -= run.job.gpus
        self._finished += 1
        pods = tuple(run.pods)
        for pod in pods:
            self._release(pod, PodPhase.SUCCEEDED)
            self._ground.journal.pod(Verb.MODIFIED, pod)
        self._ground.agenda.after(FINISHED_TTL_S, lambda: self._sweep(pods))
        self.schedule()

    def _lose(self, run: Run, cause: LossCause) -> None:
        if run.ending is not None:
            run.ending.cancel()
        started_s = self._ground.now_s if run.started_s is None else run.started_s
        self.wasted_gpu_s += run.job.gpus * (self._ground.now_s - started_s)
        run.restarts += 1
        run.lost += cause is LossCause.SCALE_IN
        for pod in run.pods:
            self._release(pod, PodPhase.FAILED)
            self._ground.journal.pod(Verb.DELETED, pod)
        run.state, run.started_s, run.cluster, run.pools = RunState.QUEUED, None, "", ()
        self._make_pods(run)
        self.queue.add(run)

    def _end_pod(self, pod: Pod) -> None:
        run = self._run_of(pod)
        if run is None or run.state is RunState.FINISHED:
            return
        if run.state is RunState.RUNNING:
            self._lose(run, LossCause.EVICTED)
            self.schedule()
            return
        # A waiting pod is deleted: the Job's controller makes another.
        self._ground.journal.pod(Verb.DELETED, pod)
        run.pods[run.pods.index(pod)] = self._new_pod(run, pod.index, pod.gpus)

    def _make_pods(self, run: Run) -> None:
        run.pods = [self._new_pod(run, index, gpus) for index, gpus in enumerate(run.job.pod_sizes())]

    def _new_pod(self, run: Run, index: int, gpus: int) -> Pod:
        run.tries += 1
        suffix = self._ground.draws.token(5, "pod", run.job.name, index, run.tries)
        pod = Pod(
            name=f"{run.job.name}-{index}-{suffix}",
            job=run.job,
            index=index,
            gpus=gpus,
            cluster=self.home_cluster,
            created_s=self._ground.now_s,
        )
        self._ground.journal.pod(Verb.ADDED, pod)
        return pod

    def _release(self, pod: Pod, phase: PodPhase) -> None:
        if pod.node is not None and pod.phase is PodPhase.RUNNING:
            pod.node.take_back(pod)
            self._meter.held(pod.node, -pod.gpus)
        pod.phase, pod.ended_s = phase, self._ground.now_s

    def _sweep(self, pods: Sequence[Pod]) -> None:
        for pod in pods:
            self._ground.journal.pod(Verb.DELETED, pod)

    def _run_of(self, pod: Pod) -> Run | None:
        run = self._by_job[pod.job.name]
        return run if pod in run.pods else None
