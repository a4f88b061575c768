"""Local GPU use from Prometheus, with a healthy distrust: what is not a percentage is dropped and counted.

NaN, infinities, sentinels, stale or future samples and second exporters of one GPU never reach the
mean (I44, I47); too few believable series make the reading Unknown, never a zero (R4.8).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import urllib3

from agent.core.readings import UseReading
from agent.core.snapshot import Unknown
from contract.units import Percent

# Prometheus drops a series from instant answers 5 min after its last scrape; ours must be younger.
_MAX_AGE = timedelta(minutes=2)
_MAX_AHEAD = timedelta(seconds=30)
_MIN_BELIEVED = 0.8
_SHARE = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_GPU_KEYS = ("UUID", "Hostname", "gpu", "GPU_I_ID")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusEndpoint:
    """Where Prometheus is, and the instant query that gives one series a GPU, 0 to 100."""

    url: str
    query: str
    timeout_seconds: float = 10.0


class _Unusable(Exception):
    """The answer as a whole cannot be used; the text says why."""


class PrometheusUse:
    """A MetricsReader on the HTTP API's instant query."""

    def __init__(self, endpoint: PrometheusEndpoint) -> None:
        self._endpoint = endpoint
        self._http = urllib3.PoolManager(retries=urllib3.Retry(total=1, redirect=0, status=0))

    def local_use(self, now: datetime) -> UseReading:
        try:
            series = self._query(now)
        except _Unusable as error:
            return UseReading(use=Unknown(f"Prometheus {error}"), series=0, dropped=0)
        return _mean(series, now)

    def _query(self, now: datetime) -> list[Mapping[str, Any]]:
        fields = {"query": self._endpoint.query, "time": f"{now.timestamp():.3f}"}
        try:
            answer = self._http.request(
                "POST",
                f"{self._endpoint.url}/api/v1/query",
                fields=fields,
                encode_multipart=False,
                timeout=self._endpoint.timeout_seconds,
            )
            body = json.loads(answer.data)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _Unusable(f"cannot be reached ({type(error).__name__})") from error
        except (ValueError, RecursionError) as error:
            raise _Unusable("did not answer in JSON: is a proxy in between?") from error
        return list(_vector(body))


def _vector(body: object) -> Iterator[Mapping[str, Any]]:
    if not isinstance(body, dict):
        raise _Unusable("answered something that is no object")
    if body.get("status") != "success":
        raise _Unusable(f"answered {body.get('errorType', 'error')}: {body.get('error', 'no reason given')}")
    data = body.get("data")
    kind, result = (data.get("resultType"), data.get("result")) if isinstance(data, dict) else (None, None)
    if kind != "vector":
        raise _Unusable(f"gave a {kind}, not a vector: the query must give one series a GPU")
    if not isinstance(result, list) or not result:
        raise _Unusable("gave no series: are the exporters scraped?")
    yield from result


def _mean(series: list[Mapping[str, Any]], now: datetime) -> UseReading:
    seen: dict[tuple[str, ...], float] = {}
    dropped = 0
    for item in series:
        value = _believable(item, now)
        if value is None:
            dropped += 1
        else:
            # Of two exporters of one card the one that sees it at work is believed, in whatever order they come.
            seen[_gpu(item)] = max(value, seen.get(_gpu(item), value))
    notes = (f"{dropped} of {len(series)} GPU use series are not believable",) if dropped else ()
    if len(seen) == 0 or len(seen) < _MIN_BELIEVED * (len(seen) + dropped):
        use: Percent | Unknown = Unknown(f"only {len(seen)} of {len(seen) + dropped} GPU use series are believable")
    else:
        use = Percent(min(100.0, math.fsum(seen.values()) / len(seen)))
    return UseReading(use=use, series=len(seen), dropped=dropped, notes=notes)


def _believable(item: Mapping[str, Any], now: datetime) -> float | None:
    try:
        at, text = item["value"]
        age = now.timestamp() - float(at)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    # Python would also read `1_0`, digits of other scripts and a bare `false`.
    if not isinstance(text, str) or not _SHARE.fullmatch(text):
        return None
    in_time = -_MAX_AHEAD.total_seconds() <= age <= _MAX_AGE.total_seconds()
    return float(text) if in_time and float(text) <= 100.0 else None


def _gpu(item: Mapping[str, Any]) -> tuple[str, ...]:
    found = item.get("metric")
    metric = found if isinstance(found, dict) else {}
    uuid = metric.get("UUID")
    keys = ("UUID", "GPU_I_ID") if uuid else _GPU_KEYS
    return tuple(str(metric.get(key, "")) for key in keys)
