"""One round of sensing: a source that fails voids its own readings and no other; the empty is asked seldom."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from agent.core.policy import UseSignal
from agent.core.readings import (
    CloudInstance,
    ClusterNode,
    ClusterReading,
    PoolBinding,
    PoolReading,
    UseReading,
)
from agent.core.snapshot import Unknown
from agent.errors import (
    CloudRefused,
    CloudUnavailable,
    NotAuthorised,
    PulumiTimeout,
    SignalUnavailable,
    SpillwayError,
    StackMissing,
    StackUnreadable,
)
from agent.sense.rounds import Rounds, Sources
from contract import labels
from contract.catalog import Provider
from contract.units import Gpus, Percent
from tests.builders import NOON, a_catalog
from tests.fakes.clock import FakeClock
from tests.fakes.hands import FakeCloudHands, FakeCluster, FakeMetrics
from tests.fakes.stacks import FakeStacks, stack_text

ACK, EKS = "ack-a100-od", "eks-l4-spot"
SECOND = timedelta(seconds=1)
RECHECK = timedelta(minutes=5)


class BlindStacks(FakeStacks):
    """Stacks whose state cannot be read."""

    bindings_error: SpillwayError | None = None

    def bindings(self, stack: str) -> dict[str, PoolBinding]:
        if self.bindings_error:
            raise self.bindings_error
        return dict(super().bindings(stack))


@dataclass
class Site:
    """All sources as fakes."""

    rounds: Rounds
    clock: FakeClock
    stacks: BlindStacks
    clusters: dict[str, FakeCluster]
    clouds: dict[Provider, FakeCloudHands]


def a_cluster_node(pool: str, name: str) -> ClusterNode:
    return ClusterNode(
        name=name,
        labels={labels.POOL: pool},
        is_ready=True,
        is_cordoned=False,
        gpus=Gpus(8),
        instance_id=f"i-{name}",
        created_at=NOON,
    )


def a_full_pool(*names: str) -> PoolReading:
    made = tuple(
        CloudInstance(instance_id=f"i-{name}", launched_at=NOON, is_protected=False, is_leaving=False) for name in names
    )
    return PoolReading(instances=made)


def site(*, ack: int = 0, eks: int = 0, leave_out: tuple[str, ...] = ()) -> Site:
    stacks = BlindStacks({"burst-alicloud": stack_text(ack_a100_od=ack), "burst-aws": stack_text(eks_l4_spot=eks)})
    clusters = {
        "idc-gpu": FakeCluster(ClusterReading(cluster="idc-gpu", nodes=(a_cluster_node("idc-a100", "h"),), pods=())),
        "cloud-gpu-a": FakeCluster(ClusterReading(cluster="cloud-gpu-a", nodes=(a_cluster_node(ACK, "a"),), pods=())),
        "cloud-gpu-b": FakeCluster(ClusterReading(cluster="cloud-gpu-b", nodes=(a_cluster_node(EKS, "b"),), pods=())),
    }
    clouds = {Provider.ALICLOUD: FakeCloudHands(), Provider.AWS: FakeCloudHands()}
    clock = FakeClock()
    sources = Sources(
        clock=clock,
        metrics=FakeMetrics(lambda: UseReading(use=Percent(50.0), series=8, dropped=0)),
        clusters={name: cluster for name, cluster in clusters.items() if name not in leave_out},
        clouds={name: cloud for name, cloud in clouds.items() if name not in leave_out},
        stacks=stacks,
        stack_names=("burst-alicloud", "burst-aws"),
    )
    return Site(Rounds(sources, a_catalog(), UseSignal.UTILIZATION, RECHECK), clock, stacks, clusters, clouds)


def why(value: object) -> str:
    assert isinstance(value, Unknown), value
    return value.why


TRANSIENT = [
    CloudUnavailable("throttled", target="cloud", hint="wait"),
    CloudRefused("no such group", target="cloud", hint="refresh"),
    NotAuthorised("key expired", target="cloud", hint="renew"),
]


@pytest.mark.parametrize("error", TRANSIENT, ids=lambda error: error.code)
def test_a_cloud_that_fails_voids_its_own_pools_alone(error: SpillwayError) -> None:
    made = site(ack=1, eks=1)
    made.clouds[Provider.ALICLOUD].error = error
    made.clouds[Provider.AWS].readings = {EKS: a_full_pool("b")}
    snapshot = made.rounds.snapshot()
    assert why(snapshot.pool(ACK).observed) == f"{error} ({error.code})"
    assert [node.name for node in snapshot.pool(EKS).nodes()] == ["b"]
    assert snapshot.local_use == Percent(50.0)
    assert snapshot.queue == ()


@pytest.mark.parametrize("error_type", [SignalUnavailable, NotAuthorised])
@pytest.mark.parametrize("cluster", ["idc-gpu", "cloud-gpu-a", "cloud-gpu-b"])
def test_a_cluster_that_fails_voids_what_hangs_on_it_alone(cluster: str, error_type: type[SpillwayError]) -> None:
    made = site(ack=1, eks=1)
    for provider, pool, name in ((Provider.ALICLOUD, ACK, "a"), (Provider.AWS, EKS, "b")):
        made.clouds[provider].readings = {pool: a_full_pool(name)}
    made.clusters[cluster].error = error_type("503", target=cluster, hint="wait")
    snapshot = made.rounds.snapshot()
    unknown = {
        "idc-gpu": isinstance(snapshot.queue, Unknown),
        "cloud-gpu-a": isinstance(snapshot.pool(ACK).observed, Unknown),
        "cloud-gpu-b": isinstance(snapshot.pool(EKS).observed, Unknown),
    }
    assert unknown == {name: name == cluster for name in made.clusters}


def test_metrics_that_fail_leave_everything_else_known() -> None:
    made = site(ack=1)
    made.clouds[Provider.ALICLOUD].readings = {ACK: a_full_pool("a")}
    silent = Unknown("Prometheus cannot be reached")
    sources = Sources(
        clock=made.clock,
        metrics=FakeMetrics(lambda: UseReading(use=silent, series=0, dropped=0)),
        clusters=made.clusters,
        clouds=made.clouds,
        stacks=made.stacks,
        stack_names=("burst-alicloud",),
    )
    snapshot = Rounds(sources, a_catalog(), UseSignal.UTILIZATION, RECHECK).snapshot()
    assert snapshot.local_use == silent
    assert snapshot.queue == ()
    assert len(snapshot.pool(ACK).nodes()) == 1


def test_a_state_that_takes_too_long_makes_its_pools_unknown_and_keeps_the_file() -> None:
    made = site(ack=3)
    made.stacks.bindings_error = PulumiTimeout("ended after 30 s", target="pulumi stack", hint="wait")
    snapshot = made.rounds.snapshot()
    assert snapshot.pool(ACK).configured == 3
    assert "ended after 30 s" in why(snapshot.pool(ACK).applied)
    assert "ended after 30 s" in why(snapshot.pool(ACK).observed)
    assert made.clouds[Provider.ALICLOUD].asked == []


def test_a_stack_that_cannot_be_read_blinds_the_agent_for_its_own_pools_alone() -> None:
    made = site(ack=1)
    made.clouds[Provider.ALICLOUD].readings = {ACK: a_full_pool("a")}
    del made.stacks.files["burst-aws"]
    snapshot = made.rounds.snapshot()
    assert snapshot.blind_stacks == ("burst-aws",)
    assert any("burst-aws" in note for note in snapshot.notes)
    assert [node.name for node in snapshot.pool(ACK).nodes()] == ["a"]
    assert snapshot.find(EKS) is None


@pytest.mark.parametrize("error_type", [StackMissing, StackUnreadable])
def test_without_any_stack_there_is_nothing_to_decide_on(error_type: type[SpillwayError]) -> None:
    made = site()
    made.stacks.bindings_error = error_type("gone", target="stack", hint="mend it")
    with pytest.raises(error_type):
        made.rounds.snapshot()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (stack_text(ack_a100_od=0) + "    ghost-pool: 4\n", "is not in the catalogue"),
        ("config:\n  spillway:desired:\n    ack-a100-od: '3'\n", "'3' is not a number of nodes"),
        ("config:\n  spillway:desired:\n    ack-a100-od: 1\n    ack-a100-od: 2\n", "stands twice"),
        ("config:\n  spillway:layer: burst\n", "is missing: this is no burst stack"),
        ("config:\n  spillway:desired: {ack-a100-od: 1", "not valid YAML"),
        ("", "the document is empty"),
    ],
)
def test_a_stack_file_that_cannot_be_understood_names_itself_and_the_fix(text: str, says: str) -> None:
    made = site()
    made.stacks.files["burst-alicloud"] = text
    snapshot = made.rounds.snapshot()
    assert snapshot.blind_stacks == ("burst-alicloud",)
    [note] = snapshot.notes
    assert "Pulumi.burst-alicloud.yaml" in note
    assert says in note
    assert "fix:" in note


def test_a_pool_that_the_state_holds_and_the_file_has_lost_blinds_its_stack() -> None:
    """A file cut off at the end of a line: its nodes would be forgotten and paid for."""
    made = site()
    made.stacks.applied["burst-alicloud"] = {ACK: 0, "ack-h20-od": 5}
    [note] = made.rounds.snapshot().notes
    assert "ack-h20-od: is in the state and has no size" in note


def test_a_pool_that_the_state_does_not_hold_says_how_to_bring_it_up() -> None:
    made = site(ack=1)
    made.stacks.applied["burst-alicloud"] = {}
    snapshot = made.rounds.snapshot()
    assert "run 'pulumi up'" in why(snapshot.pool(ACK).observed)


def test_a_cloud_or_cluster_without_access_is_unknown_and_named() -> None:
    assert why(site(ack=1, leave_out=("alicloud",)).rounds.snapshot().pool(ACK).observed) == (
        "no access to alicloud is configured"
    )
    made = site(ack=1, leave_out=("cloud-gpu-a",))
    made.clouds[Provider.ALICLOUD].readings = {ACK: a_full_pool("a")}
    assert why(made.rounds.snapshot().pool(ACK).observed) == "no access to cluster cloud-gpu-a is configured"
    assert why(site(leave_out=("idc-gpu",)).rounds.snapshot().queue) == "no access to cluster idc-gpu is configured"


# ---- asking seldom ----


def test_an_empty_pool_is_asked_once_and_then_every_few_minutes() -> None:
    made = site()
    asked = made.clouds[Provider.ALICLOUD].asked
    seen = []
    for _ in range(22):
        made.rounds.snapshot()
        seen.append(len(asked))
        made.clock.pass_by(30 * SECOND)
    assert seen == [1] * 10 + [2] * 10 + [3] * 2


def test_the_cluster_of_empty_pools_is_not_asked_and_the_home_cluster_always_is() -> None:
    made = site()
    for _ in range(3):
        made.rounds.snapshot()
    assert {name: cluster.asked for name, cluster in made.clusters.items()} == {
        "idc-gpu": 3,
        "cloud-gpu-a": 0,
        "cloud-gpu-b": 0,
    }


def test_a_pool_with_nodes_is_asked_every_time() -> None:
    made = site(ack=1)
    made.clouds[Provider.ALICLOUD].readings = {ACK: a_full_pool("a")}
    for _ in range(3):
        made.rounds.snapshot()
        made.clock.pass_by(30 * SECOND)
    assert made.clouds[Provider.ALICLOUD].asked == [(ACK,)] * 3
    assert made.clusters["cloud-gpu-a"].asked == 3


@pytest.mark.parametrize("place", ["file", "state"])
def test_a_pool_that_is_wanted_is_asked_at_once_though_it_was_empty(place: str) -> None:
    made = site()
    made.rounds.snapshot()
    if place == "file":
        made.stacks.files["burst-alicloud"] = stack_text(ack_a100_od=2)
    else:
        made.stacks.applied["burst-alicloud"] = {ACK: 2}
    made.clock.pass_by(SECOND)
    made.rounds.snapshot()
    assert len(made.clouds[Provider.ALICLOUD].asked) == 2


def test_machines_that_stand_in_a_pool_of_size_zero_are_found_and_watched() -> None:
    """A machine made past us costs money: it shows up at the next look and stays in sight."""
    made = site()
    made.rounds.snapshot()
    made.clouds[Provider.ALICLOUD].readings = {ACK: a_full_pool("a")}
    made.clock.pass_by(RECHECK)
    assert len(made.rounds.snapshot().pool(ACK).nodes()) == 1
    made.clock.pass_by(SECOND)
    made.rounds.snapshot()
    assert len(made.clouds[Provider.ALICLOUD].asked) == 3


def test_a_failed_reading_is_no_proof_of_emptiness() -> None:
    made = site()
    made.clouds[Provider.ALICLOUD].error = CloudUnavailable("throttled", target="cloud", hint="wait")
    made.rounds.snapshot()
    made.clouds[Provider.ALICLOUD].error = None
    made.clock.pass_by(SECOND)
    assert made.rounds.snapshot().pool(ACK).observed == ()
    assert len(made.clouds[Provider.ALICLOUD].asked) == 2


def test_all_pools_of_one_cloud_are_one_question() -> None:
    made = site(ack=1, eks=1)
    made.rounds.snapshot()
    assert made.clouds[Provider.ALICLOUD].asked == [(ACK,)]
    assert made.clouds[Provider.AWS].asked == [(EKS,)]
