"""What the cases of the Kubernetes face need: official clients, and a node and a pod to work on.

One implementation serves the twin; another may serve a real API server, with the same cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kubernetes import client


@dataclass(frozen=True, slots=True)
class ClusterUnderTest:
    """`node` is a Ready node; `namespace` and `pod` name a running pod with the label of `job`."""

    core: client.CoreV1Api
    coordination: client.CoordinationV1Api
    policy: client.PolicyV1Api
    node: str
    namespace: str
    pod: str
    job: str

    def patched_node(self, body: object, content_type: str) -> Any:
        """Patch the node with a body of exactly this type."""
        return self.core.api_client.call_api(
            "/api/v1/nodes/{name}",
            "PATCH",
            path_params={"name": self.node},
            header_params={"Content-Type": content_type, "Accept": "application/json"},
            body=body,
            response_types_map={200: "V1Node"},
            auth_settings=["BearerToken"],
            _return_http_data_only=True,
        )


@contextmanager
def api_client(host: str, token: str) -> Iterator[client.ApiClient]:
    """An official client that is closed at the end."""
    configuration = client.Configuration(host=host)
    configuration.api_key = {"authorization": f"Bearer {token}"}
    configuration.retries = False
    with client.ApiClient(configuration) as api:
        yield api
        api.rest_client.pool_manager.clear()
