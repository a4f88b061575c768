"""The demo's report: `report.html` with the picture and every decision, and the picture alone as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agent.core.decision import Action
from agent.core.explain import sentences
from contract.units import parse_money
from sim.client import Json
from spillway.demo.observe import Acted
from spillway.demo.picture import Mark, Point, timeline_svg
from spillway.demo.summary import Summary

_SITE = timezone(timedelta(hours=8))
_MOST_POINTS = 700


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What a report is made of."""

    start: datetime
    samples: Sequence[Json]
    acted: Sequence[Acted]
    summary: Summary


def write_report(folder: Path, story: Story) -> Path:
    """Write report.html and timeline.svg; gives the report's path."""
    points = _points(story)
    picture = timeline_svg(points, _marks(story), story.summary.currency)
    (folder / "timeline.svg").write_text(picture + "\n", encoding="utf-8")
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    html = environment.get_template("report.html.j2").render(
        started=f"{story.start.astimezone(_SITE):%Y-%m-%d}",
        summary=story.summary,
        local_gpus=points[0].local_capacity,
        picture=picture,
        rows=headline_rows(story.summary),
        decisions=[_decision(acted) for acted in story.acted],
    )
    path = folder / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


def headline_rows(summary: Summary) -> list[tuple[str, str, str]]:
    """Name, figure, and what it is measured against; for the page and for the terminal."""
    return [*_speed_rows(summary), *_work_rows(summary), *_money_rows(summary)]


def _speed_rows(summary: Summary) -> list[tuple[str, str, str]]:
    request, ready = summary.trigger_to_request_seconds, summary.trigger_to_gpu_ready_seconds
    return [
        ("trigger's sample to the cloud's launch", _seconds(request), "slowest step; bound: one tick + 10 s"),
        ("trigger's sample to GPU-ready nodes", _seconds(ready), "slowest step; bound: 10 min"),
    ]


def _work_rows(summary: Summary) -> list[tuple[str, str, str]]:
    updates = ", ".join(f"{count} of {stack}" for stack, count in summary.pulumi_updates_by_stack.items())
    jobs = f"{summary.jobs_finished} of {summary.jobs_total}"
    nodes = f"{summary.nodes_bought} / {summary.nodes_returned}"
    at_once, exactly = summary.burst_at_once_mean_wait_seconds, summary.burst_exactly_mean_wait_seconds
    return [
        ("jobs finished", jobs, f"{summary.jobs_lost} lost to a scale-in"),
        ("mean wait", _seconds(summary.mean_wait_seconds), f"at once {_seconds(at_once)}; exact {_seconds(exactly)}"),
        ("nodes rented / returned", nodes, f"{summary.nodes_left} left"),
        ("Pulumi updates", str(summary.pulumi_updates), updates),
        ("decisions that changed something", str(summary.decisions), f"of {summary.ticks} ticks"),
        ("ticks held by an error", str(summary.held_ticks), "0 without faults"),
    ]


def _money_rows(summary: Summary) -> list[tuple[str, str, str]]:
    bill = f"{summary.cloud_cost:,.0f} {summary.currency}"
    at_once, exactly = summary.burst_at_once_cost, summary.burst_exactly_cost
    return [
        ("cloud bill", bill, f"at once {at_once:,.0f} ({_change(summary.cloud_cost, at_once)})"),
        ("", "", f"exact {exactly:,.0f} ({_change(summary.cloud_cost, exactly)})"),
        ("GPU use, owned cluster", f"{summary.local_gpu_use:.1%}", "share of GPU time that jobs held"),
        ("GPU use, rented nodes", f"{summary.cloud_gpu_use:.1%}", "share of usable GPU time that jobs held"),
    ]


def _change(now: float, then: float) -> str:
    return f"{now / then - 1:+.1%}" if then else "no bill to compare"


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:,.0f} s"


def _points(story: Story) -> list[Point]:
    keep = max(1, len(story.samples) // _MOST_POINTS)
    chosen = [*story.samples[::keep]]
    if chosen[-1] is not story.samples[-1]:
        chosen.append(story.samples[-1])
    return [_point(story.start, sample) for sample in chosen]


def _point(start: datetime, sample: Json) -> Point:
    phases = sample["cloud_by_phase"]
    ready = phases.get("gpu_ready", 0) + phases.get("draining", 0)
    coming = sum(phases.get(phase, 0) for phase in ("ordered", "booting", "joined"))
    held = sample["cloud_held"]
    return Point(
        at=(start + timedelta(seconds=sample["at_s"])).astimezone(_SITE),
        demand=sample["demand"],
        local_capacity=sample["local_ready"],
        local_held=sample["local_held"],
        cloud_held=held,
        cloud_idle=max(0, ready - held),
        cloud_coming=coming,
        queued=sample["queued_jobs"],
        spent=float(parse_money(sample["spent"]).amount),
    )


def _marks(story: Story) -> list[Mark]:
    return [
        Mark(
            at=acted.sampled_at.astimezone(_SITE),
            label=str(number),
            words=acted.headline,
            is_growth=acted.decision.action is Action.GROW,
        )
        for number, acted in enumerate(story.acted, start=1)
    ]


def _decision(acted: Acted) -> dict[str, object]:
    first, *others = sentences(acted.decision)
    return {"at": f"{acted.sampled_at.astimezone(_SITE):%H:%M:%S}", "headline": first, "lines": others}
