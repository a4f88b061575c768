"""Reaching a Kubernetes API with the official client, and reading its objects as plain JSON.

The client does transport, authentication and paths; bodies stay JSON, since building its model
objects for tens of thousands of pods costs seconds a tick. Shared by sense and act, imports neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import urllib3
from kubernetes import client

from agent.errors import NotAuthorised, SignalUnavailable, SpillwayError
from contract import labels

_PAGE = 500
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEndpoint:
    """Where a cluster's API is. `token` is asked before each call: real ones are renewed within the hour.

    `ca_file` None: the system's roots, or plain HTTP on loopback.
    """

    name: str
    url: str
    token: Callable[[], str]
    ca_file: str | None = None
    timeout_seconds: float = 10.0

    def __repr__(self) -> str:
        return f"ClusterEndpoint(name={self.name!r}, url={self.url!r})"


def connect(endpoint: ClusterEndpoint) -> client.ApiClient:
    """An API client for one cluster. Retries are the tick's business, not the transport's."""
    configuration = client.Configuration(host=endpoint.url)

    def renew(current: client.Configuration) -> None:
        current.api_key["authorization"] = f"Bearer {endpoint.token()}"

    # The client authenticates only if a key is there to begin with; the hook fills it before each call.
    configuration.api_key = {"authorization": ""}
    configuration.refresh_api_key_hook = renew
    configuration.ssl_ca_cert = endpoint.ca_file
    configuration.retries = urllib3.Retry(total=1, redirect=0, status=0)
    return client.ApiClient(configuration)


def list_all(endpoint: ClusterEndpoint, page: Callable[..., Any], **selectors: str) -> Iterator[Json]:
    """Every object of a list call, page by page. Raises as `ask`."""
    token = ""
    while True:
        body = ask(endpoint, page, limit=_PAGE, **({"_continue": token} if token else {}), **selectors)
        items = body.get("items")
        if "items" not in body or not isinstance(items or [], list):
            # A portal's `{}` must not look like a cluster without nodes.
            raise _unavailable(endpoint, "its answer is no list")
        yield from items or ()
        token = (body.get("metadata") or {}).get("continue") or ""
        if not token:
            return


def ask(endpoint: ClusterEndpoint, call: Callable[..., Any], *args: object, **options: object) -> Json:
    """One call's body as JSON. Raises SignalUnavailable, NotAuthorised; `is_absent` tells a 404."""
    try:
        answer = call(*args, _preload_content=False, _request_timeout=endpoint.timeout_seconds, **options)
        body = json.loads(answer.data)
    except client.ApiException as error:
        raise _translate(endpoint, error) from error
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise _unavailable(endpoint, type(error).__name__) from error
    if not isinstance(body, dict):
        raise _unavailable(endpoint, "its answer is no object")
    return body


def is_kept_for_now(error: SpillwayError) -> bool:
    """Whether a translated error means 429: a disruption budget forbids an eviction now, or calls are too many."""
    return isinstance(error.__cause__, client.ApiException) and error.__cause__.status == 429


def is_absent(error: SpillwayError) -> bool:
    """Whether a translated error means that the object does not exist."""
    return isinstance(error.__cause__, client.ApiException) and error.__cause__.status == 404


def pod_gpus(pod: Json) -> int:
    """GPUs that a pod asks for: containers add up; limits equal requests for extended resources."""
    total = 0
    for container in pod.get("spec", {}).get("containers") or ():
        resources = container.get("resources") or {}
        amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        total += gpu_count(amounts)
    return total


def pod_task(pod: Json) -> str:
    """The task that a pod belongs to: its Job, else itself.

    Names are unique within a namespace only: two departments may both have a job "train".
    """
    metadata = pod["metadata"]
    job = (metadata.get("labels") or {}).get(labels.TASK)
    return f"{metadata.get('namespace', 'default')}/{job or metadata['name']}"


def gpu_count(amounts: Json) -> int:
    """Whole GPUs of a resource list; what is no whole number counts as none (HAMi, MIG: other resources)."""
    text = str(amounts.get(labels.GPU_RESOURCE, "0"))
    return int(text) if text.isdecimal() else 0


def _translate(endpoint: ClusterEndpoint, error: client.ApiException) -> SpillwayError:
    if error.status in (401, 403):
        hint = f"renew the token of {endpoint.name}, or give its account the right it lacks"
        return NotAuthorised(f"answered {error.status} {error.reason}", target=f"cluster {endpoint.name}", hint=hint)
    return _unavailable(endpoint, f"answered {error.status} {error.reason}")


def _unavailable(endpoint: ClusterEndpoint, what: str) -> SignalUnavailable:
    hint = f"check that {endpoint.url} is up and can be reached; until then the size is held"
    return SignalUnavailable(f"no usable answer: {what}", target=f"cluster {endpoint.name}", hint=hint)
