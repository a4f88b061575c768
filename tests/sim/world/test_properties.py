"""What must hold in any world after any legal sequence of calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sim.world.nodes import LEGAL, LossCause, Node, NodeEdit, Phase
from sim.world.refusals import CloudRefusal
from sim.world.workload import Job, PodPhase, RunState
from sim.world.world import World
from tests.sim.builders import a_catalog, a_job, a_spec, a_world

POOLS = ("ack-a100", "ack-a100-spot", "eks-h100", "eks-l4-spot")
FEW = settings(max_examples=25, deadline=None)

jobs = st.builds(
    lambda at, lasts, gpus, soft, memory: (at, lasts, gpus, soft, memory),
    st.floats(0, 3000),
    st.floats(1, 3000),
    st.integers(1, 24),
    st.booleans(),
    st.sampled_from([0, 24, 80]),
)
Shape = tuple[float, float, int, bool, int]
Step = tuple[str, float, int]
steps = st.lists(
    st.tuples(st.sampled_from(POOLS), st.floats(0, 900), st.integers(0, 6)),
    max_size=12,
)


def make_jobs(shapes: list[Shape]) -> list[Job]:
    """Jobs with these times and sizes."""
    return [
        a_job(
            f"job-{number}",
            submitted_s=at,
            duration_s=lasts,
            gpus=gpus,
            is_preemptible=soft,
            gpu_memory_gib=memory,
        )
        for number, (at, lasts, gpus, soft, memory) in enumerate(shapes)
    ]


def play(shapes: list[Shape], plan: list[Step], watch: Callable[[World], None]) -> World:
    """Resize groups as the plan says; `watch` looks at the world after each step."""
    world = a_world(make_jobs(shapes), seed=5)
    groups = {pool: world.groups.create(a_spec(pool)).group_id for pool in POOLS}
    for pool, pause_s, size in plan:
        world.groups.set_desired(groups[pool], size)
        watch(world)
        world.advance_to(world.now_s + pause_s)
        watch(world)
    return world


def check_gpus(world: World) -> None:
    """Each GPU has one owner at most, and every running pod holds what it asked for."""
    held = 0
    for node in world.fleet.nodes.values():
        owned = [owner for owner in node.owners if owner is not None]
        assert len(owned) == node.machine.gpus - node.free
        assert not (owned and node.is_leaving)
        held += len(owned)
    running = [run for run in world.dispatcher.runs if run.state is RunState.RUNNING]
    for run in running:
        assert sum(len(pod.gpu_indexes) for pod in run.pods) == run.job.gpus
        assert len({pod.cluster for pod in run.pods}) == 1
        for pod in run.pods:
            assert pod.node is not None
            assert all(pod.node.owners[index] is pod for index in pod.gpu_indexes)
            assert run.job.is_preemptible or not pod.node.is_spot
            assert pod.node.machine.gpu_memory_gib >= run.job.gpu_memory_gib
    assert held == sum(run.job.gpus for run in running)


@FEW
@given(st.lists(jobs, max_size=25), steps)
def test_no_gpu_is_ever_booked_twice(shapes: list[Shape], plan: list[Step]) -> None:
    play(shapes, plan, check_gpus)


@FEW
@given(st.lists(jobs, max_size=10), steps)
def test_money_is_the_sum_of_node_seconds_times_price(shapes: list[Shape], plan: list[Step]) -> None:
    world = play(shapes, plan, lambda _: None)
    total = Fraction(0)
    for node in world.fleet.all_time:
        if not node.is_local:
            lived = node.entered_s.get(Phase.GONE, world.now_s) - node.ordered_s
            seconds = max(60, math.ceil(lived))
            rate = Fraction(7.1).limit_denominator(10) if node.row.price.currency == "USD" else 1
            total += Fraction(node.row.price.amount) * seconds * rate / 3600
    assert abs(Fraction(world.bill().total.amount) - total) < Fraction(1, 10**12)
    assert world.timeline.sample().spent.amount - world.bill().total.amount < Decimal("1e-12")


@FEW
@given(st.lists(jobs, max_size=15), steps)
def test_same_seed_and_calls_give_the_same_end(shapes: list[Shape], plan: list[Step]) -> None:
    first, second = (play(shapes, plan, lambda _: None) for _ in range(2))
    assert asdict(first.results()) == asdict(second.results())
    assert first.bill() == second.bill()
    assert first.timeline.samples == second.timeline.samples
    assert list(first.fleet.nodes) == list(second.fleet.nodes)


@FEW
@given(st.lists(jobs, max_size=15), steps, st.lists(st.floats(0, 12_000), max_size=20))
def test_how_often_one_looks_changes_nothing(shapes: list[Shape], plan: list[Step], looks: list[float]) -> None:
    calm, watched = (play(shapes, plan, lambda _: None) for _ in range(2))
    for look in sorted(look for look in looks if look > watched.now_s):
        watched.advance_to(look)
    calm.advance_to(12_001.0)
    watched.advance_to(12_001.0)
    assert asdict(calm.results()) == asdict(watched.results())


@FEW
@given(st.lists(jobs, min_size=1, max_size=20))
def test_every_job_that_fits_somewhere_ends(shapes: list[Shape]) -> None:
    world = World(a_catalog(local_nodes=3), make_jobs(shapes))
    world.advance_to(10_000.0 + 3000.0 * len(shapes))
    assert world.is_done
    assert world.results().local.allocated <= world.results().local.ready


class AnyCalls(RuleBasedStateMachine):
    """Calls of all kinds, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.world = a_world(seed=9)
        self.groups: dict[str, str] = {}
        self.submitted = 0
        self.history: dict[str, Phase] = {}
        self.codes: set[str] = set()
        self.world.fleet.followers.insert(0, self._watch)

    def _watch(self, node: Node, before: Phase) -> None:
        assert node.phase in LEGAL[before]
        assert self.history.get(node.instance_id, Phase.ORDERED) is before
        self.history[node.instance_id] = node.phase

    @rule(pool=st.sampled_from(POOLS), size=st.integers(0, 4))
    def create(self, pool: str, size: int) -> None:
        """Make a group unless it stands."""
        try:
            self.groups[pool] = self.world.groups.create(a_spec(pool, desired=size)).group_id
        except CloudRefusal as refusal:
            self.codes.add(refusal.code)

    @precondition(lambda self: self.groups)
    @rule(data=st.data(), size=st.integers(0, 12))
    def resize(self, data: st.DataObject, size: int) -> None:
        """Ask for another size; protected nodes must outlive it."""
        group_id = data.draw(st.sampled_from(sorted(self.groups.values())))
        try:
            protected = [node for node in self.world.groups.instances(group_id) if node.is_protected]
            protected = [node for node in protected if not node.is_leaving]
            self.world.groups.set_desired(group_id, size)
        except CloudRefusal:
            return
        assert not any(node.is_leaving for node in protected)

    @precondition(lambda self: self.groups)
    @rule(data=st.data(), on=st.booleans())
    def protect(self, data: st.DataObject, on: bool) -> None:
        """Protect some nodes, or stop protecting them."""
        group_id = data.draw(st.sampled_from(sorted(self.groups.values())))
        try:
            ids = [node.instance_id for node in self.world.groups.group(group_id).standing()]
            chosen = data.draw(st.lists(st.sampled_from(ids), unique=True)) if ids else []
            self.world.groups.set_protection(group_id, chosen, on=on)
        except CloudRefusal as refusal:
            self.codes.add(refusal.code)

    @precondition(lambda self: self.groups)
    @rule(data=st.data(), decrement=st.booleans())
    def remove(self, data: st.DataObject, decrement: bool) -> None:
        """End one machine."""
        rented = sorted(name for name, node in self.world.fleet.by_instance.items() if node.group_id)
        if rented:
            try:
                self.world.groups.remove_instance(data.draw(st.sampled_from(rented)), decrement=decrement)
            except CloudRefusal as refusal:
                self.codes.add(refusal.code)

    @precondition(lambda self: self.groups)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Delete a group."""
        pool = data.draw(st.sampled_from(sorted(self.groups)))
        try:
            self.world.groups.delete(self.groups.pop(pool))
        except CloudRefusal as refusal:
            self.codes.add(refusal.code)

    @rule(gpus=st.integers(1, 20), soft=st.booleans(), lasts=st.floats(1, 2000))
    def submit(self, gpus: int, soft: bool, lasts: float) -> None:
        """Submit a job."""
        self.submitted += 1
        job = a_job(f"job-{self.submitted}", gpus=gpus, is_preemptible=soft, duration_s=lasts)
        self.world.dispatcher.submit(job)

    @rule(data=st.data(), cordon=st.booleans())
    def cordon(self, data: st.DataObject, cordon: bool) -> None:
        """Cordon or open a node."""
        name = data.draw(st.sampled_from(sorted(self.world.fleet.nodes)))
        node = self.world.fleet.nodes[name]
        edit = NodeEdit(labels=node.labels, annotations={}, taints=tuple(node.taints), is_unschedulable=cordon)
        self.world.edit_node(node, edit)

    @rule(data=st.data(), grace=st.sampled_from([0.0, 30.0]))
    def evict(self, data: st.DataObject, grace: float) -> None:
        """Evict a pod that runs."""
        running = [run for run in self.world.dispatcher.runs if run.state is RunState.RUNNING]
        if running:
            run = data.draw(st.sampled_from(running))
            self.world.dispatcher.evict(data.draw(st.sampled_from(run.pods)), grace)

    @rule(data=st.data())
    def reclaim(self, data: st.DataObject) -> None:
        """The cloud takes a spot node without a word."""
        spot = sorted(node.name for node in self.world.fleet.nodes.values() if node.is_spot)
        if spot:
            self.world.fleet.vanish(self.world.fleet.nodes[data.draw(st.sampled_from(spot))], LossCause.SPOT)

    @rule(pause_s=st.floats(0, 1200))
    def wait(self, pause_s: float) -> None:
        """Let time go by."""
        before_s = self.world.now_s
        self.world.advance_to(before_s + pause_s)
        assert self.world.now_s == before_s + pause_s

    @invariant()
    def gpus_are_booked_once(self) -> None:
        """See check_gpus."""
        check_gpus(self.world)

    @invariant()
    def pods_and_nodes_agree(self) -> None:
        """A pod of a waiting job holds nothing; demand is what is not finished."""
        open_gpus = 0
        for run in self.world.dispatcher.runs:
            open_gpus += run.job.gpus if run.state is not RunState.FINISHED else 0
            if run.state is RunState.QUEUED:
                assert all(pod.phase is PodPhase.PENDING and pod.node is None for pod in run.pods)
        assert open_gpus == self.world.dispatcher.demand_gpus
        assert len(self.world.dispatcher.queue) == len(list(self.world.dispatcher.queue))

    @invariant()
    def refusals_are_the_clouds_own(self) -> None:
        """Nothing was refused for a reason that only the twin knows."""
        assert not any(code.startswith("Twin") for code in self.codes)

    @invariant()
    def quota_holds(self) -> None:
        """No pool has more machines than its quota; no group more than its maximum and one."""
        for row in self.world.ground.catalog.cloud_pools():
            held = sum(node.row is row for node in self.world.fleet.nodes.values())
            assert held <= row.quota


AnyCalls.TestCase.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
TestAnyCalls = AnyCalls.TestCase
