"""The watch over work from round to round: ends are told until they are kept; what vanished at work is found out."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from agent.core.ended_work import AtWork, EndedPod, SeenWork, TaskEnd, book_of
from agent.core.policy import UseSignal
from agent.core.readings import ClusterPod, ClusterReading, UseReading
from agent.core.snapshot import Unknown
from agent.errors import NotAuthorised, SignalUnavailable, SpillwayError
from agent.sense.rounds import Rounds, Sources
from agent.sense.runtime_watch import RuntimeWatch
from contract.units import Percent
from tests.builders import NOON, a_catalog
from tests.ended import ANNA, HOUR, a_pod_at_work, an_ended_pod
from tests.fakes.clock import FakeClock
from tests.fakes.hands import FakeCluster, FakeEnded, FakeMetrics
from tests.fakes.ledger import FakeLedger
from tests.fakes.stacks import FakeStacks, stack_text

TICK = timedelta(seconds=30)


class Site:
    """A watch over two clusters, with a ledger that keeps what each round tells."""

    def __init__(self) -> None:
        self.watch, self.ledger, self.now = RuntimeWatch(), FakeLedger(), NOON
        self.asked = 0

    def round(
        self,
        at_work: tuple[ClusterPod, ...] = (),
        ended: tuple[EndedPod, ...] | Unknown = (),
        cluster: str = "idc-gpu",
    ) -> SeenWork:
        self.now += TICK
        self.watch.look(ClusterReading(cluster=cluster, nodes=(), pods=at_work), lambda: self._answer(ended), self.now)
        seen = self.watch.seen_work(self.now)
        self.ledger.keep_ended(seen.ended)
        return seen

    def _answer(self, ended: tuple[EndedPod, ...] | Unknown) -> tuple[EndedPod, ...] | Unknown:
        self.asked += 1
        return ended

    def outcomes(self) -> dict[str, TaskEnd]:
        return {task.identity: task.outcome for task in self.ledger.ended_tasks()}


@pytest.fixture
def site() -> Site:
    return Site()


def test_work_that_ends_between_two_rounds_is_learned_once_however_long_it_is_shown(site: Site) -> None:
    site.round((a_pod_at_work(),))
    for _ in range(5):
        site.round((), (an_ended_pod(),))
    site.round()
    assert site.outcomes() == {"job-1": TaskEnd.SUCCEEDED}
    assert book_of(site.ledger.ended_tasks()).estimate(ANNA).seen == 1


def test_a_pod_that_ends_between_the_two_questions_of_a_round_is_seen_and_not_lost(site: Site) -> None:
    """It stands in both answers; then it is swept."""
    site.round((a_pod_at_work(),), (an_ended_pod(),))
    site.round()
    assert site.outcomes() == {"job-1": TaskEnd.SUCCEEDED}


def test_a_gang_has_ended_when_its_last_pod_has(site: Site) -> None:
    site.round((a_pod_at_work("b"),), (an_ended_pod("a"),))
    assert site.outcomes() == {}
    site.round((), (an_ended_pod("a"), an_ended_pod("b")))
    assert site.outcomes() == {"job-1": TaskEnd.SUCCEEDED}


def test_work_that_was_swept_before_anybody_looked_is_counted_and_teaches_nothing(site: Site) -> None:
    """ttlSecondsAfterFinished below a tick."""
    site.round((a_pod_at_work(),))
    site.round()
    assert site.outcomes() == {"job-1": TaskEnd.VANISHED}
    assert site.ledger.runtimes().estimate(ANNA).seen == 0


@pytest.mark.parametrize("comes_back_at", ["once", "the next round"])
def test_a_task_that_was_preempted_and_began_again_teaches_nothing_even_when_it_succeeds(
    site: Site, comes_back_at: str
) -> None:
    """It goes on from a checkpoint: its second life is short."""
    site.round((a_pod_at_work("first"),))
    if comes_back_at != "once":
        site.round()
    site.round((a_pod_at_work("second", node=None),))
    site.round((a_pod_at_work("second"),))
    site.round((), (an_ended_pod("second"),))
    assert site.outcomes() == {"job-1": TaskEnd.VANISHED}


def test_a_waiting_pod_that_goes_elsewhere_has_not_vanished(site: Site) -> None:
    site.round((a_pod_at_work("waits", node=None),))
    site.round(())
    site.round((a_pod_at_work("works"),), cluster="cloud-gpu-a")
    site.round((), (an_ended_pod("works"),), cluster="cloud-gpu-a")
    assert site.outcomes() == {"job-1": TaskEnd.SUCCEEDED}


def test_a_task_with_a_pod_in_another_cluster_has_not_ended(site: Site) -> None:
    site.round((a_pod_at_work("b", node=None),))
    site.round((), (an_ended_pod("a"),), cluster="cloud-gpu-a")
    assert site.outcomes() == {}


def test_a_cluster_that_does_not_tell_what_ended_makes_nobody_vanish(site: Site) -> None:
    site.round((a_pod_at_work(),))
    seen = site.round((), Unknown("503"))
    assert seen.notes == ("ended work of idc-gpu cannot be read: 503",)
    seen = site.round((), (an_ended_pod(),))
    assert (seen.notes, site.outcomes()) == ((), {"job-1": TaskEnd.SUCCEEDED})


def test_a_cluster_whose_last_node_went_leaves_nothing_at_work_behind(site: Site) -> None:
    site.round((a_pod_at_work("a"), a_pod_at_work("b", "job-2")), cluster="cloud-gpu-a")
    site.round((a_pod_at_work("a"),), (an_ended_pod("b", "job-2"),), cluster="cloud-gpu-a")
    site.watch.leave("cloud-gpu-a", site.now)
    site.watch.leave("cloud-gpu-b", site.now)
    assert site.round().running == ()
    assert site.outcomes() == {"job-1": TaskEnd.VANISHED, "job-2": TaskEnd.SUCCEEDED}


def test_what_the_ledger_could_not_keep_is_told_again(site: Site) -> None:
    site.round((a_pod_at_work(),))
    told = site.round().ended
    assert told == site.round().ended


def test_pods_of_a_server_that_gives_no_uids_are_not_watched(site: Site) -> None:
    site.round((a_pod_at_work("", ""),))
    site.round()
    assert site.outcomes() == {}


def test_of_very_many_vanished_tasks_the_newest_are_told_again(site: Site) -> None:
    site.round(tuple(a_pod_at_work(f"p-{number}", f"job-{number}") for number in range(1005)))
    told = site.round().ended
    assert len(told) == 1000
    assert told[-1].identity == "job-1004"


@pytest.mark.parametrize(("shown", "asked"), [(0, 20), (499, 20), (500, 20), (1200, 10), (5000, 2)])
def test_a_cluster_that_shows_very_many_ended_pods_is_asked_more_rarely(site: Site, shown: int, asked: int) -> None:
    """A page of 500 a tick is what learning may cost."""
    pods = tuple(an_ended_pod(f"p-{number}", f"job-{number}") for number in range(shown))
    for _ in range(20):
        site.watch.look(ClusterReading(cluster="c", nodes=(), pods=()), lambda: site._answer(pods), site.now)
        site.now += TICK
    assert site.asked == asked


@pytest.mark.parametrize("jump", [timedelta(days=-400), timedelta(days=400)])
def test_a_clock_that_jumps_does_not_stop_the_learning(site: Site, jump: timedelta) -> None:
    pods = tuple(an_ended_pod(f"p-{number}", f"job-{number}") for number in range(5000))
    site.round((), pods)
    site.now += jump
    site.round((), pods)
    assert site.asked == 2


# ---- as a part of sensing ----


class Round:
    """Rounds over fakes with one owned cluster."""

    def __init__(self) -> None:
        self.cluster = FakeCluster(ClusterReading(cluster="idc-gpu", nodes=(), pods=(a_pod_at_work(),)))
        self.ended, self.clock = FakeEnded((an_ended_pod("x", "job-x"),)), FakeClock()
        sources = Sources(
            clock=self.clock,
            metrics=FakeMetrics(lambda: UseReading(use=Percent(50.0), series=8, dropped=0)),
            clusters={"idc-gpu": self.cluster},
            clouds={},
            stacks=FakeStacks({"burst-aws": stack_text(eks_l4_spot=0)}),
            stack_names=("burst-aws",),
            ended={"idc-gpu": self.ended},
        )
        self.rounds = Rounds(sources, a_catalog(), UseSignal.UTILIZATION, timedelta(minutes=5))


def test_a_round_tells_what_ended_and_whose_work_runs() -> None:
    made = Round()
    assert made.rounds.work() == SeenWork()
    made.rounds.snapshot()
    work = made.rounds.work()
    assert [task.identity for task in work.ended] == ["job-x"]
    assert work.running == (AtWork(task="vision/job-1", key=ANNA, started_at=NOON - HOUR),)


@pytest.mark.parametrize("error_type", [SignalUnavailable, NotAuthorised])
def test_a_question_about_ended_work_that_fails_costs_a_note_and_no_reading(error_type: type[SpillwayError]) -> None:
    made = Round()
    made.ended.error = error_type("503", target="idc-gpu", hint="wait")
    assert made.rounds.snapshot().queue == ()
    assert made.rounds.work().ended == ()
    assert "ended work of idc-gpu cannot be read" in made.rounds.work().notes[0]


def test_a_cluster_that_cannot_be_read_is_not_asked_what_ended_there() -> None:
    made = Round()
    made.cluster.error = SignalUnavailable("503", target="idc-gpu", hint="wait")
    made.rounds.snapshot()
    assert made.ended.asked == 0


def test_a_day_of_work_is_learned_to_the_minute() -> None:
    made, ledger = Round(), FakeLedger()
    for number in range(10):
        at: datetime = NOON + number * HOUR
        made.clock.at = at
        made.ended.pods = (an_ended_pod(f"p-{number}", f"j-{number}", ran=(number + 1) * HOUR, ended=at),)
        made.rounds.snapshot()
        ledger.keep_ended(made.rounds.work().ended)
    told = ledger.runtimes().estimate(ANNA)
    assert told.seen == 10
    assert HOUR.total_seconds() * 5 <= told.median_s <= HOUR.total_seconds() * 6
