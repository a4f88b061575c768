"""The HTTP door of the Prometheus face, /prometheus/api/v1: parameters, error shapes, faults.

Must not compute a sample.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from sim.prometheus.answers import Answers, Span
from sim.prometheus.history import History
from sim.prometheus.selector import BadQuery, parse_selector
from sim.world.faults import Fault, FaultKind, Target
from sim.world.twin import Twin

_LIMIT = 11_000
_DURATION = re.compile(r"(\d+)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_HTML = "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>"
Parameters = Mapping[str, str]


class BadParameter(ValueError):
    """A parameter that cannot be used; the text is the whole `error` of the answer."""


class PrometheusFace:
    """One Prometheus for all clusters, as a federated one would be."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        world = twin.world
        self._epoch = world.ground.origin.timestamp()
        self._answers = Answers(History(world), self._epoch, lambda: world.now_s)

    def routes(self) -> list[Route]:
        """Routes to mount."""
        methods = ["GET", "POST"]
        return [
            Route("/prometheus/api/v1/query", self._endpoint(self._query), methods=methods),
            Route("/prometheus/api/v1/query_range", self._endpoint(self._query_range), methods=methods),
            Route("/prometheus/-/ready", self._ready, methods=["GET"]),
        ]

    def _query(self, parameters: Parameters, fault: Fault | None) -> str:
        selector = parse_selector(parameters.get("query", ""))
        at_s = self._time(parameters, "time", self._twin.world.now_s)
        return f'{{"resultType":"vector","result":{self._answers.vector(selector, at_s, fault)}}}'

    def _query_range(self, parameters: Parameters, fault: Fault | None) -> str:
        selector = parse_selector(parameters.get("query", ""))
        span = Span(
            start_s=self._time(parameters, "start", None),
            end_s=self._time(parameters, "end", None),
            step_s=_step(parameters.get("step", "")),
        )
        if span.end_s < span.start_s:
            raise BadParameter('invalid parameter "end": end timestamp must not be before start time')
        if (span.end_s - span.start_s) / span.step_s > _LIMIT:
            raise BadParameter(
                "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query"
                " resolution (?step=XX)"
            )
        return f'{{"resultType":"matrix","result":{self._answers.matrix(selector, span, fault)}}}'

    def _time(self, parameters: Parameters, key: str, default_s: float | None) -> float:
        text = parameters.get(key, "")
        if not text and default_s is not None:
            return default_s
        try:
            is_date = "T" in text
            unix = datetime.fromisoformat(text).timestamp() if is_date else float(text)
            if not math.isfinite(unix):
                raise ValueError(text)
            return unix - self._epoch
        except ValueError as error:
            raise BadParameter(f'invalid parameter "{key}": cannot parse "{text}" to a valid timestamp') from error

    def _endpoint(self, answer: Callable[[Parameters, Fault | None], str]) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            body = (await request.body()).decode("utf-8", "replace")
            self._twin.catch_up()
            parameters = {**request.query_params, **dict(parse_qsl(body))}
            fault = self._strike(parameters.get("query", ""))
            if fault is not None and fault.mode == "html":
                return HTMLResponse(_HTML, 502)
            if fault is not None and fault.mode == "unavailable":
                return _error(503, "timeout", "query timed out in expression evaluation")
            try:
                data = answer(parameters, fault)
            except BadQuery as error:
                return _error(400, "bad_data", f'invalid parameter "query": {error}')
            except BadParameter as error:
                return _error(400, "bad_data", str(error))
            return Response(f'{{"status":"success","data":{data}}}', media_type="application/json")

        return endpoint

    def _strike(self, query: str) -> Fault | None:
        faults = self._twin.world.ground.faults
        return faults.strike(FaultKind.PROMETHEUS, Target(), self._twin.world.now_s, query)

    async def _ready(self, request: Request) -> Response:
        return PlainTextResponse("Prometheus Server is Ready.\n")


def _step(text: str) -> float:
    try:
        step = float(text)
    except ValueError:
        parts = _DURATION.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            raise BadParameter(f'invalid parameter "step": cannot parse "{text}" to a valid duration') from None
        step = sum(int(number) * _UNITS[unit] for number, unit in parts)
    if not 0 < step < float("inf"):
        raise BadParameter(
            'invalid parameter "step": zero or negative query resolution step widths are not accepted.'
            " Try a positive integer"
        )
    return step


def _error(code: int, kind: str, message: str) -> Response:
    body = json.dumps({"status": "error", "errorType": kind, "error": message})
    return Response(body, code, media_type="application/json")
