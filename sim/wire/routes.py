"""Which call goes to which cloud. Everything is served at the root: Alibaba's SDKs take no path.

RPC calls of both clouds are POST /; only Alibaba's carry the header x-acs-action. The paths of EKS
and CS both begin with /clusters and differ after it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sim.wire import alicloud, aws
from sim.wire.call import Call, read_credential
from sim.world.twin import Twin

Endpoint = Callable[[Request], Awaitable[Response]]
Answer = Callable[[Call], Response]


def routes(twin: Twin) -> list[BaseRoute]:
    """The routes to mount in the twin's server."""
    eks, cs = "/clusters/{cluster}/node-groups", "/clusters/{cluster}/nodepools"
    return [
        Route("/", _rpc(twin), methods=["GET", "POST"]),
        Route(eks, _rest(twin, aws.list_node_groups), methods=["GET"]),
        Route(f"{eks}/{{group}}", _rest(twin, aws.describe_node_group), methods=["GET"]),
        Route(cs, _rest(twin, alicloud.list_node_pools), methods=["GET"]),
        Route(f"{cs}/{{pool}}", _rest(twin, alicloud.describe_node_pool), methods=["GET"]),
        Route(f"{cs}/{{pool}}/nodes", _rest(twin, alicloud.remove_nodes), methods=["DELETE"]),
    ]


def _rpc(twin: Twin) -> Endpoint:
    async def answer(request: Request) -> Response:
        payload = (await request.body()).decode()
        parameters = dict(request.query_params) | dict(parse_qsl(payload, keep_blank_values=True))
        if action := request.headers.get("x-acs-action"):
            return alicloud.answer_rpc(_call(twin, request, action, parameters))
        return aws.answer_query(_call(twin, request, parameters.get("Action", ""), parameters))

    return answer


def _rest(twin: Twin, handle: Answer) -> Endpoint:
    async def answer(request: Request) -> Response:
        return handle(_call(twin, request, f"{request.method} {request.url.path}", dict(request.query_params)))

    return answer


def _call(twin: Twin, request: Request, action: str, parameters: dict[str, str]) -> Call:
    twin.catch_up()
    return Call(
        world=twin.world,
        action=action,
        parameters=parameters,
        path={name: str(value) for name, value in request.path_params.items()},
        credential=read_credential(request.headers.get("authorization", "")),
        abort=request.scope.get("twin.abort", lambda: None),
    )
