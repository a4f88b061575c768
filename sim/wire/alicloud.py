"""The door of Alibaba Cloud: credentials and outages, then ESS (RPC) or CS (paths); errors as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from contract.catalog import Provider
from sim.wire import cs, ess
from sim.wire.call import INVALID_KEY, Call, strike_down
from sim.world.refusals import CloudRefusal

Json = dict[str, Any]
_DOWN = "The request has failed due to a temporary failure of the server."


def answer_rpc(call: Call) -> Response:
    """ESS, the only product of this style that the twin serves."""

    def handle(call: Call) -> Json:
        handler = ess.ACTIONS.get(call.action)
        if handler is None:
            raise CloudRefusal("UnsupportedOperation", f"The twin does not act out {call.action}.")
        return handler(call)

    return _answer(call, handle, "RequestId", "Code", "Message")


def list_node_pools(call: Call) -> Response:
    """CS DescribeClusterNodePools."""
    return _answer_cs(call, cs.describe_pools)


def describe_node_pool(call: Call) -> Response:
    """CS DescribeClusterNodePoolDetail."""
    return _answer_cs(call, cs.describe_pool)


def remove_nodes(call: Call) -> Response:
    """CS RemoveNodePoolNodes."""
    return _answer_cs(call, cs.remove_nodes)


def _answer_cs(call: Call, handle: Callable[[Call], Json]) -> Response:
    return _answer(call, handle, "requestId", "code", "message")


def _answer(call: Call, handle: Callable[[Call], Json], request_id: str, code: str, message: str) -> Response:
    number = call.world.ground.draws.token(36, "request", call.action, call.world.now_s).upper()
    try:
        _admit(call)
        body = handle(call)
    except CloudRefusal as refusal:
        error = {request_id: number, code: refusal.code, message: refusal.message}
        return Response(json.dumps(error), refusal.http_status, media_type="application/json")
    return Response(json.dumps({"RequestId": number, **body}), media_type="application/json")


def _admit(call: Call) -> None:
    """Any key opens but the one that is known to be invalid."""
    strike_down(call, Provider.ALICLOUD, _DOWN)
    if not call.credential.key:
        raise CloudRefusal("MissingAccessKeyId", "AccessKeyId is mandatory for this action.")
    if call.credential.key == INVALID_KEY:
        raise CloudRefusal("InvalidAccessKeyId.NotFound", "Specified access key is not found.", 404)
