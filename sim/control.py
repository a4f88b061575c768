"""The control door, /twin: clock, status, results, timeline, faults, shutdown; all JSON.

For people, the demo and the tests. Amounts of money are texts with their currency, never floats.
Must not be used by the agent: a real cloud has no such door.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contract.fields import Findings
from contract.problems import InvalidInput
from contract.units import Money
from sim.world.fault_file import parse_faults
from sim.world.gpu_use import GpuSeconds
from sim.world.results import Results
from sim.world.timeline import Sample
from sim.world.twin import Twin
from sim.world.workload import Run, RunState
from sim.world.world import World

Json = dict[str, Any]


class ControlDoor:
    """Handlers of /twin; `stop` ends the server."""

    def __init__(self, twin: Twin, stop: Callable[[], None]) -> None:
        self._twin = twin
        self._stop = stop

    def routes(self) -> list[Route]:
        """Routes to mount."""
        return [
            _route("/twin/clock", "GET", self._clock),
            _route("/twin/clock/jump", "POST", self._jump),
            _route("/twin/status", "GET", self._status),
            _route("/twin/clusters", "GET", self._clusters),
            _route("/twin/results", "GET", self._results),
            _route("/twin/jobs", "GET", self._jobs),
            _route("/twin/bill", "GET", self._bill),
            _route("/twin/timeline", "GET", self._timeline),
            _route("/twin/faults", "GET", self._faults),
            _route("/twin/faults", "POST", self._arm),
            _route("/twin/shutdown", "POST", self._shutdown),
        ]

    def _clock(self, body: Json) -> Json:
        self._twin.catch_up()
        now_s = self._twin.world.now_s
        clock, ground = self._twin.clock, self._twin.world.ground
        return {
            "now": ground.time(now_s).isoformat(),
            "seconds": now_s,
            "speed": clock.speed,
            "origin": clock.origin.isoformat(),
        }

    def _jump(self, body: Json) -> Json:
        seconds = body.get("seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            raise ValueError('give {"seconds": n}, a number of seconds')
        self._twin.jump(float(seconds))
        return self._clock(body)

    def _status(self, body: Json) -> Json:
        return {"clock": self._clock(body), **status(self._twin.world)}

    def _clusters(self, body: Json) -> Json:
        return {
            "clusters": {name: {"path": f"/k8s/{name}", "token": token} for name, token in self._twin.tokens.items()}
        }

    def _results(self, body: Json) -> Json:
        self._twin.catch_up()
        return results(self._twin.world.results())

    def _jobs(self, body: Json) -> Json:
        self._twin.catch_up()
        return {"jobs": [_job(run) for run in self._twin.world.dispatcher.runs]}

    def _bill(self, body: Json) -> Json:
        self._twin.catch_up()
        bill = self._twin.world.bill()
        charges = [
            asdict(charge) | {"cost": money(charge.cost), "home_cost": money(charge.home_cost)}
            for charge in bill.charges
        ]
        return {"total": money(bill.total), "charges": charges}

    def _timeline(self, body: Json) -> Json:
        self._twin.catch_up()
        return {"samples": [_sample(sample) for sample in self._twin.world.timeline.samples]}

    def _faults(self, body: Json) -> Json:
        self._twin.catch_up()
        faults = self._twin.world.ground.faults
        return {
            "armed": [fault.name for fault in faults.faults],
            "fired": [asdict(fired) for fired in faults.log],
        }

    def _arm(self, body: Json) -> Json:
        self._twin.catch_up()
        now_s = self._twin.world.now_s
        taken = len(self._twin.world.ground.faults.faults)
        faults = parse_faults(body, Findings("request"), now_s=now_s, taken=taken)
        self._twin.world.arm(faults)
        return {"armed": [fault.name for fault in faults]}

    def _shutdown(self, body: Json) -> Json:
        self._stop()
        return {"stopping": True}


def _route(path: str, method: str, handle: Callable[[Json], Json]) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            payload = await request.body()
            body = json.loads(payload) if payload.strip() else {}
            if not isinstance(body, dict):
                raise ValueError("the body is not a JSON object")
            return _json(handle(body), 200)
        except (InvalidInput, ValueError) as error:
            return _json({"error": str(error)}, 400)

    answer: Callable[[Request], Awaitable[Response]] = endpoint
    return Route(path, answer, methods=[method])


def _json(document: Json, code: int) -> Response:
    return Response(json.dumps(document, allow_nan=False), code, media_type="application/json")


def money(amount: Money) -> str:
    """An exact amount and its currency, as parse_money reads it back."""
    return f"{amount.amount:f} {amount.currency}"


def status(world: World) -> Json:
    """What is: nodes by pool and phase, the queue, what runs, money so far."""
    pools: dict[str, Counter[str]] = {pool: Counter() for pool in world.ground.catalog.pools}
    for node in world.fleet.nodes.values():
        pools[node.row.pool][node.phase.value] += 1
        pools[node.row.pool]["busy"] += node.is_busy
        pools[node.row.pool]["cordoned"] += node.is_unschedulable
    states = Counter(run.state for run in world.dispatcher.runs)
    sample = world.timeline.sample()
    return {
        "pools": {pool: dict(counts) for pool, counts in pools.items()},
        "groups": {
            group.group_id: {"pool": group.row.pool, "desired": group.desired, "nodes": len(group.present())}
            for group in world.groups.groups()
        },
        "jobs": {state.value: states[state] for state in RunState},
        "is_done": world.is_done,
        "gpus": {
            "demand": sample.demand,
            "local_ready": sample.local_ready,
            "local_held": sample.local_held,
            "cloud_held": sample.cloud_held,
        },
        "spent": money(sample.spent),
    }


def results(figures: Results) -> Json:
    """The figures of a run as JSON."""
    return {
        "jobs_total": figures.jobs_total,
        "jobs_queued": figures.jobs_queued,
        "jobs_running": figures.jobs_running,
        "jobs_finished": figures.jobs_finished,
        "jobs_lost": figures.jobs_lost,
        "restarts": figures.restarts,
        "waits": asdict(figures.waits) if figures.waits else None,
        "wasted_gpu_s": figures.wasted_gpu_s,
        "local": _use(figures.local),
        "cloud": _use(figures.cloud),
        "nodes_bought": figures.nodes_bought,
        "nodes_left": figures.nodes_left,
        "cloud_cost": money(figures.cloud_cost),
        "cost_by_pool": {pool: money(amount) for pool, amount in figures.cost_by_pool.items()},
    }


def _use(seconds: GpuSeconds) -> Json:
    return {
        "allocated_gpu_s": seconds.allocated,
        "ready_gpu_s": seconds.ready,
        "paid_gpu_s": seconds.paid,
        "use": seconds.use,
        "use_of_paid": seconds.use_of_paid,
    }


def _sample(sample: Sample) -> Json:
    return {
        "at_s": sample.at_s,
        "demand": sample.demand,
        "queued_jobs": sample.queued_jobs,
        "local_ready": sample.local_ready,
        "local_held": sample.local_held,
        "cloud_held": sample.cloud_held,
        "cloud_by_phase": {phase.value: gpus for phase, gpus in sample.cloud_by_phase.items()},
        "spent": money(sample.spent),
    }


def _job(run: Run) -> Json:
    return {
        "job": run.job.name,
        "department": run.job.department,
        "gpus": run.job.gpus,
        "state": run.state.value,
        "submitted_s": run.job.submitted_s,
        "wait_s": run.wait_s,
        "started_s": run.started_s,
        "ended_s": run.ended_s,
        "cluster": run.cluster,
        "pools": list(run.pools),
        "restarts": run.restarts,
    }
