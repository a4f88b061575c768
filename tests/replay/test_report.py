"""The HTML report: stands alone, says everything in words too, stays small, and believes no name."""

from __future__ import annotations

import re
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agent.bootstrap import read_policy
from agent.core.policy import Policy
from contract.catalog import Catalog, read_catalog
from contract.problems import Problem
from contract.work import Tier
from replay.bounds import Best
from replay.charts import Bar, Caption, Curves, Dot, Mark, bars, scatter, timeline, words
from replay.contest import Arena, Entrant, World, compete, enter
from replay.differences import differences
from replay.html_report import report
from replay.instant.jobs import Columns, Outcome
from replay.played import Played
from replay.report.curves import MOST_POINTS, instant_steps, thinned
from replay.report.front import Standing, front
from replay.site.truth import Truth
from replay.trace import NO_DATE, Job, Trace
from tests.replay.trace_files import ROOT

HOSTILE = '<script>alert("x")</script>&\u202e\x00\n'
VOID = {"meta", "br", "link", "img", "input"}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog(ROOT / "stacks" / "catalog.yaml")


@pytest.fixture(scope="module")
def policy(catalog: Catalog) -> Policy:
    return read_policy(ROOT / "stacks" / "policy.yaml", catalog)


def a_trace(name: str = "small", jobs: int = 24, department: str = "d") -> Trace:
    """A rush that two owned nodes cannot hold."""
    tiers = list(Tier)
    return Trace(
        name=name,
        jobs=tuple(
            Job(
                name=f"j{n}",
                arrival_s=n * 60.0,
                runtime_s=5400.0,
                gpus=4,
                department=f"{department}{n % 12}",
                tier=tiers[n % len(tiers)],
            )
            for n in range(jobs)
        ),
        bad_rows=(Problem(file="f", where="gpus", message=f"is {HOSTILE}", fix="mend it", row=7),),
        left_out=3,
    )


def played(catalog: Catalog, policy: Policy, world: World, trace: Trace, *against: str) -> Played:
    arena = Arena(trace=trace, catalog=catalog, owned_nodes=2, world=world, truth=Truth(seed=11))
    entrants = [Entrant(name="judged", policy=policy), *(enter(text, policy, world) for text in against)]
    results = tuple(compete(arena, entrant) for entrant in entrants)
    best = Best(gpu_h=5.0, mean_wait_h=0.1, is_optimum=False, gap=0.5, how="by hand")
    return Played(arena=arena, results=results, best=best, differences=tuple(differences(results[0], results[1:])))


@pytest.fixture(scope="module")
def real(catalog: Catalog, policy: Policy) -> Played:
    return played(catalog, policy, World.REAL, a_trace(), "queue-only", "karpenter")


@pytest.fixture(scope="module")
def page(real: Played) -> str:
    return report([real])


class _Balance(HTMLParser):
    """Tags that are open, and ids that were seen."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_tag_is_closed_and_every_id_is_unique(real: Played) -> None:
    found = _Balance()
    found.feed(report([real, real]))
    assert found.open == []
    assert len(set(found.ids)) == len(found.ids)


def test_nothing_is_fetched_and_nothing_runs(page: str) -> None:
    assert "<script" not in page
    assert re.findall(r'(?:src|href)="|@import|url\((?!#)', page) == []
    assert set(re.findall(r"https?://[^\"<]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme:dark" in page


def test_every_part_is_there(page: str) -> None:
    for part in (
        "Headline figures by policy",
        "Best possible: at a mean wait of 0.100 h no schedule does with less than 5",
        "Capacity against demand",
        "Mean wait by tier",
        "Cloud spend by department",
        "Cost against mean wait",
        "decisions of judged",
        "What another policy would have changed",
        "1 bad rows left out; 3 sound rows",
        "Settings",
        "16 GPUs, 2 nodes of 8",
        "the same under karpenter",
    ):
        assert part in page


def test_decisions_are_marked_with_their_reason_and_stand_in_a_table(page: str, real: Played) -> None:
    turn = real.results[0].outcome.turns[0]  # type: ignore[union-attr]
    change = f"{turn.changes[0].pool} {turn.changes[0].before} → {turn.changes[0].after}"
    when = f"{NO_DATE + timedelta(seconds=turn.at_s):%Y-%m-%d %H:%M}"
    assert f"<title>{when} {turn.by}: {change}" in page
    assert words(turn.why, 400) in page
    assert 'class="grow"' in page


def test_every_picture_is_sound_xml_with_a_title_and_a_description(page: str) -> None:
    pictures = re.findall(r"<svg xmlns.*?</svg>", page, flags=re.DOTALL)
    assert len(pictures) == 6
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        ids = root.attrib["aria-labelledby"].split()
        assert [child.attrib["id"] for child in root[:2]] == ids
        assert all(child.text for child in root[:2])


def test_a_page_says_the_same_each_time(real: Played, page: str) -> None:
    assert report([real]) == page


def test_hostile_names_stay_text(catalog: Catalog, policy: Policy) -> None:
    trace = a_trace(name=HOSTILE, department=HOSTILE)
    shown = report([played(catalog, policy, World.REAL, trace, "burst-at-once")])
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert not {"\x00", "\u202e"} & set(shown)


def test_the_instant_world_draws_what_runs_where(catalog: Catalog, policy: Policy) -> None:
    shown = report([played(catalog, policy, World.INSTANT, a_trace(), "queue-only")])
    assert "there are no decisions about them" in shown
    assert "Nothing: no other policy rented nodes" in shown
    assert 'class="rented"' in shown


def test_a_trace_without_jobs_and_a_policy_without_a_bound_make_a_page(catalog: Catalog, policy: Policy) -> None:
    arena = Arena(
        trace=Trace(name="none", jobs=()), catalog=catalog, owned_nodes=2, world=World.REAL, truth=Truth(seed=1)
    )
    results = (compete(arena, Entrant(name="judged", policy=policy)),)
    shown = report([Played(arena=arena, results=results, best=None, differences=())])
    assert "no bound above 0 is known" in shown
    assert "Nothing was spent in the cloud" in shown


def test_a_great_run_stays_small_and_keeps_its_peaks() -> None:
    steps = [(float(at), at % 977, at % 13, at % 7) for at in range(200_000)]
    steps[123_456] = (123_456.0, 99_999, 0, 0)
    steps[123_457] = (123_457.0, 1, 88_888, 0)
    kept = thinned(steps)
    assert len(kept) <= MOST_POINTS
    assert kept[0] == steps[0]
    assert kept[-1] == steps[-1]
    assert max(step[1] for step in kept) == 99_999
    assert max(step[2] for step in kept) == 88_888
    assert list(kept) == sorted(kept)
    drawn = timeline(
        Caption(key="k", title="t", words="w"), Curves(steps=kept, owned=8, starts_at=NO_DATE, end_s=200_000.0)
    )
    assert len(drawn) < 150_000


def test_few_steps_are_left_as_they_are() -> None:
    steps = [(0.0, 1, 2, 3), (5.0, 2, 2, 3)]
    assert thinned(steps) is steps


def test_steps_of_the_instant_world() -> None:
    columns = Columns(arrival_h=[0.0, 0.0, 1.0], runtime_h=[1.0, 2.0, 1.0], gpus=[8, 4, 2])
    outcome = Outcome(
        columns=columns, nodes=1, per_node=8, start_h=[0.0, 0.5, float("inf")], in_cloud=[False, True, False]
    )
    # (seconds, wanted, rented, owned in use); the third job never starts and is wanted to the end.
    assert instant_steps(outcome) == [
        (0.0, 12, 0, 8),
        (1800.0, 12, 4, 8),
        (3600.0, 6, 4, 0),
        (9000.0, 2, 0, 0),
    ]


@pytest.mark.parametrize(
    ("standings", "expected"),
    [
        ([(1, 3, 0), (2, 2, 0), (3, 1, 0)], [True, True, True]),
        ([(1, 1, 0), (2, 2, 0)], [True, False]),
        ([(1, 1, 0), (1, 1, 0)], [True, True]),
        ([(1, 2, 0), (1, 1, 0)], [False, True]),
        ([(0, 0, 5), (2, 2, 0)], [False, True]),
        ([(1, 1, 3), (2, 2, 3)], [True, False]),
        ([], []),
    ],
)
def test_the_front_is_of_those_whom_no_other_beats(
    standings: list[tuple[float, float, float]], expected: list[bool]
) -> None:
    assert front([Standing(cost=c, wait=w, unfinished=u) for c, w, u in standings]) == expected


def test_charts_of_nothing_and_of_zeros_are_pictures() -> None:
    caption = Caption(key="k", title="t", words="w")
    empty = Curves(steps=(), owned=0, starts_at=NO_DATE, end_s=0.0)
    drawn = (
        timeline(caption, empty, [Mark(at_s=0.0, words="m", is_growth=False)]),
        bars(caption, []),
        bars(caption, [("g", [Bar(name="b", value=0.0, shown="-")])]),
        scatter(caption, ("x", "y"), []),
        scatter(caption, ("x", "y"), [Dot(name="d", x=0.0, y=0.0, words="w")] * 30),
    )
    for picture in drawn:
        ElementTree.fromstring(picture)
        assert "nan" not in picture


@pytest.mark.parametrize("days", [0.1, 2, 20, 200, 4000, 40_000])
def test_the_time_axis_has_a_few_dates_whatever_the_span(days: float) -> None:
    curves = Curves(steps=[(0.0, 1, 0, 1)], owned=8, starts_at=NO_DATE, end_s=days * 86400)
    drawn = timeline(Caption(key="k", title="t", words="w"), curves)
    assert 1 <= len(re.findall(r">\d\d(?:\d\d)?-\d\d[^<]*<", drawn)) <= 12


def test_an_axis_shows_the_quarters_of_a_round_number() -> None:
    caption = Caption(key="k", title="t", words="w")
    drawn = scatter(caption, ("x", "y"), [Dot(name="d", x=9000.0, y=0.09, words="w")])
    for figure in ("0.025", "0.05", "0.075", "0.1", "2,500", "7,500", "10,000"):
        assert f">{figure}</text>" in drawn


def test_words_are_one_short_line() -> None:
    assert words("a\nb\t<c>") == "a b &lt;c&gt;"
    assert len(words("x" * 1000)) == 300


def test_the_report_is_written_where_the_command_wants_it(tmp_path: Path, page: str) -> None:
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    assert path.stat().st_size < 200_000
