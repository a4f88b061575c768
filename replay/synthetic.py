"""Work that nobody ran, for where no recording will do: a published generator, and a month of the example company.

`starburst_500` repeats the generator of the Starburst paper draw by draw, so that figures can be set
beside published ones. `example_company_month` is synthetic through and through: its departments,
rates and sizes are assumptions, written down in STREAMS and docs/traces.md, and prove nothing about
any real company. Both draw from numpy's frozen legacy generator, so a seed means the same for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from contract.units import GiB
from contract.work import DataClass, Tier, WorkKind
from replay.trace import Job, Trace

_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S

# ---- Starburst ----

STARBURST_JOBS = 500
STARBURST_GPUS = ((1, 0.7), (2, 0.15), (4, 0.1), (8, 0.05))


def starburst_500(arrivals_per_hour: float = 16, seed: int = 13) -> Trace:
    """The 500 jobs of Starburst's table: Poisson arrivals, exponential run times of 1 h, 1 to 8 GPUs.

    The order of the draws is the generator's own: gaps one by one, all run times, sizes one by one.
    """
    random = np.random.RandomState(seed)
    gaps = [random.gamma(shape=1, scale=1 / arrivals_per_hour) for _ in range(STARBURST_JOBS - 1)]
    arrivals_h = np.concatenate([[0.0], np.cumsum(gaps)])
    runtimes_h = random.exponential(scale=1.0, size=STARBURST_JOBS)
    sizes, shares = zip(*STARBURST_GPUS, strict=True)
    gpus = [int(random.choice(sizes, p=shares)) for _ in range(STARBURST_JOBS)]
    return Trace(
        name=f"starburst-500-{arrivals_per_hour:g}-an-hour-seed-{seed}",
        jobs=tuple(
            Job(
                name=f"job-{place}",
                arrival_s=float(arrivals_h[place]) * _HOUR_S,
                runtime_s=float(runtimes_h[place]) * _HOUR_S,
                gpus=gpus[place],
            )
            for place in range(STARBURST_JOBS)
        ),
    )


# ---- the example company ----

COMPANY_DAYS = 30
COMPANY_STARTS_AT = datetime(2026, 11, 1, tzinfo=ZoneInfo("Asia/Shanghai"))
# The days on which the month is closed: the last five working days.
MONTH_END_FROM_DAY = 23
# Share of a day's arrivals by hour: people at their desks, services in use, nightly batches.
DESK = (0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.2, 0.5, 2, 7, 10, 9, 5, 7, 11, 11, 9, 7, 5, 3, 2, 1.5, 1, 0.6)
SERVICE = (1, 0.6, 0.4, 0.3, 0.3, 0.4, 1, 2, 4, 7, 9, 9, 7, 7, 9, 9, 8, 7, 5, 4, 4, 3, 2, 1.5)
NIGHT = (3, 6, 8, 8, 6, 3, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1, 1.5, 2, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One sort of work: who sends it, when, and how large and long it is.

    Run times are lognormal about the median, cut at `most_h`. `swarm` jobs come at a time, such as the
    trials of one search. `weekend` and `month_end` multiply the rate of a working day.
    """

    department: str
    tier: Tier
    kind: WorkKind
    a_day: float
    hours: tuple[float, ...]
    gpus: tuple[tuple[int, float], ...]
    median_h: float
    spread: float
    most_h: float
    memory_gib: tuple[int, ...]
    data: tuple[DataClass, ...] = (DataClass.OPEN,)
    swarm: tuple[int, int] = (1, 1)
    weekend: float = 0.2
    month_end: float = 1.0
    patience: float | None = None

    @property
    def is_preemptible(self) -> bool:
        """Searches, preprocessing and everything that is only tried out can be stopped and begun again."""
        return self.kind in (WorkKind.HPO, WorkKind.PREPROCESSING) or self.tier.rank >= Tier.RESEARCH.rank


STREAMS = (
    Stream(
        department="production",
        tier=Tier.PRODUCTION_CORE,
        kind=WorkKind.INFERENCE,
        a_day=44,
        hours=SERVICE,
        gpus=((1, 0.5), (2, 0.3), (4, 0.2)),
        median_h=3.0,
        spread=0.6,
        most_h=12,
        memory_gib=(24, 40, 80),
        data=(DataClass.SENSITIVE, DataClass.LINK_ONLY, DataClass.OPEN),
        weekend=0.7,
        month_end=1.2,
    ),
    Stream(
        department="foundation",
        tier=Tier.PRODUCTION,
        kind=WorkKind.PRETRAINING,
        a_day=2.6,
        hours=DESK,
        gpus=((8, 0.5), (16, 0.4), (32, 0.1)),
        median_h=20,
        spread=0.5,
        most_h=60,
        memory_gib=(80,),
        data=(DataClass.LINK_ONLY, DataClass.OPEN, DataClass.OPEN),
        weekend=0.9,
    ),
    Stream(
        department="production",
        tier=Tier.PRODUCTION,
        kind=WorkKind.FINETUNING,
        a_day=3,
        hours=NIGHT,
        gpus=((4, 0.5), (8, 0.5)),
        median_h=2.5,
        spread=0.4,
        most_h=8,
        memory_gib=(80,),
        data=(DataClass.SENSITIVE, DataClass.LINK_ONLY),
        weekend=1.0,
    ),
    Stream(
        department="customers",
        tier=Tier.CUSTOMER_SERVICE,
        kind=WorkKind.FINETUNING,
        a_day=20,
        hours=DESK,
        gpus=((1, 0.3), (2, 0.3), (4, 0.25), (8, 0.15)),
        median_h=2.5,
        spread=0.7,
        most_h=16,
        memory_gib=(40, 80),
        data=(DataClass.OPEN, DataClass.LINK_ONLY, DataClass.OPEN),
        weekend=0.15,
        month_end=1.7,
        patience=6,
    ),
    Stream(
        department="customers",
        tier=Tier.CUSTOMER_SERVICE,
        kind=WorkKind.INFERENCE,
        a_day=140,
        hours=SERVICE,
        gpus=((1, 0.85), (2, 0.15)),
        median_h=0.3,
        spread=0.7,
        most_h=2,
        memory_gib=(24, 40),
        weekend=0.5,
        month_end=1.5,
    ),
    Stream(
        department="research",
        tier=Tier.RESEARCH,
        kind=WorkKind.HPO,
        a_day=5,
        hours=DESK,
        gpus=((1, 1.0),),
        median_h=1.2,
        spread=0.5,
        most_h=5,
        memory_gib=(24, 40),
        swarm=(8, 24),
    ),
    Stream(
        department="research",
        tier=Tier.RESEARCH,
        kind=WorkKind.FINETUNING,
        a_day=13,
        hours=DESK,
        gpus=((2, 0.4), (4, 0.4), (8, 0.2)),
        median_h=3.5,
        spread=0.7,
        most_h=24,
        memory_gib=(40, 80),
        month_end=0.8,
    ),
    Stream(
        department="data-platform",
        tier=Tier.PRODUCTION,
        kind=WorkKind.PREPROCESSING,
        a_day=220,
        hours=SERVICE,
        gpus=((1, 1.0),),
        median_h=0.2,
        spread=0.8,
        most_h=2,
        memory_gib=(16, 24),
        data=(DataClass.OPEN, DataClass.SENSITIVE),
        weekend=0.6,
        month_end=1.5,
    ),
    Stream(
        department="lab",
        tier=Tier.EXPLORATION,
        kind=WorkKind.OTHER,
        a_day=48,
        hours=DESK,
        gpus=((1, 0.6), (2, 0.25), (4, 0.15)),
        median_h=0.8,
        spread=0.9,
        most_h=8,
        memory_gib=(24, 40, 80),
    ),
)
# Running over the turn of the month, so that the first hours are not empty: GPUs and the hours left.
CARRIED_OVER = ((32, 20.0), (16, 31.0))


def example_company_month(seed: int) -> Trace:
    """November 2026 of the example company of stacks/catalog.yaml, as it could be: 96 GPUs of its own.

    On average about three quarters of them are asked for, and up to twice as many on a working day.
    """
    random = np.random.RandomState(seed)
    jobs = [_carried_over(gpus, hours) for gpus, hours in CARRIED_OVER]
    for stream in STREAMS:
        jobs.extend(_jobs(stream, random))
    jobs.sort(key=lambda job: job.arrival_s)
    return Trace(
        name=f"example-company-month-seed-{seed}",
        jobs=tuple(replace(job, name=f"{job.name}-{place:05d}") for place, job in enumerate(jobs)),
        starts_at=COMPANY_STARTS_AT,
    )


def _carried_over(gpus: int, hours: float) -> Job:
    return Job(
        name="foundation-pretraining",
        arrival_s=0.0,
        runtime_s=hours * _HOUR_S,
        gpus=gpus,
        department="foundation",
        user="foundation-1",
        kind=WorkKind.PRETRAINING,
        gpu_memory=GiB(80),
    )


def _jobs(stream: Stream, random: np.random.RandomState) -> Iterator[Job]:
    """Arrivals hour by hour, in a Poisson number that follows day and hour."""
    a_day = sum(stream.hours)
    for day in range(COMPANY_DAYS):
        rate = stream.a_day * _day_factor(stream, day)
        for hour, share in enumerate(stream.hours):
            for _ in range(random.poisson(rate * share / a_day)):
                arrival_s = day * _DAY_S + hour * _HOUR_S + random.randint(_HOUR_S)
                yield from _submission(stream, arrival_s, random)


def _day_factor(stream: Stream, day: int) -> float:
    is_weekend = (COMPANY_STARTS_AT + timedelta(days=day)).weekday() >= 5
    if is_weekend:
        return stream.weekend
    return stream.month_end if day >= MONTH_END_FROM_DAY else 1.0


def _submission(stream: Stream, arrival_s: int, random: np.random.RandomState) -> Iterator[Job]:
    """The jobs that one person sends at once, a few seconds apart; they share size, memory and data."""
    sizes, shares = zip(*stream.gpus, strict=True)
    gpus = int(random.choice(sizes, p=shares))
    memory = GiB(stream.memory_gib[random.randint(len(stream.memory_gib))])
    data = stream.data[random.randint(len(stream.data))]
    user = f"{stream.department}-{random.randint(1, 9)}"
    fewest, most = stream.swarm
    for trial in range(random.randint(fewest, most + 1)):
        hours = min(stream.most_h, stream.median_h * float(np.exp(stream.spread * random.standard_normal())))
        runtime_s = float(max(60, round(hours * _HOUR_S)))
        sent_s = float(arrival_s + 2 * trial)
        yield Job(
            name=f"{stream.department}-{stream.kind}",
            arrival_s=sent_s,
            runtime_s=runtime_s,
            gpus=gpus,
            department=stream.department,
            user=user,
            tier=stream.tier,
            kind=stream.kind,
            data=data,
            gpu_memory=memory,
            is_preemptible=stream.is_preemptible,
            deadline_s=None if stream.patience is None else sent_s + stream.patience * runtime_s,
        )
