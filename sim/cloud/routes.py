"""The control plane over HTTP, for the plugins: one POST per operation, JSON both ways.

Mounted by the twin's server at /cloud. Runs in the server's event loop, so that no two calls ever
change the world at once. Must not hold a rule of a cloud.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from sim.cloud.control import Control
from sim.cloud.kinds import ACCOUNT, ALICLOUD_ACCOUNT
from sim.cloud.mishaps import Mishap
from sim.cloud.store import Resource
from sim.world.refusals import CloudRefusal
from sim.world.twin import Twin

Body = dict[str, Any]
Handler = Callable[[Control, Body], Body]


def routes(twin: Twin, control: Control | None = None) -> list[Route]:
    """The routes below /cloud. Give `control` when other faces of the twin share it."""
    shared = control or Control(twin.world)
    handlers: dict[str, Handler] = {
        "create": _create,
        "read": _read,
        "update": _update,
        "delete": _delete,
        "vanish": _vanish,
        "mishap": _mishap,
        "account": _account,
    }
    return [
        Route(f"/cloud/{name}", _endpoint(twin, shared, name, handler), methods=["POST"])
        for name, handler in handlers.items()
    ]


def _endpoint(
    twin: Twin, control: Control, name: str, handler: Handler
) -> Callable[[Request], Awaitable[JSONResponse]]:
    expected = f"Bearer {twin.token}".encode()

    async def answer(request: Request) -> JSONResponse:
        if not hmac.compare_digest(request.headers.get("authorization", "").encode(), expected):
            text = "SPILLWAY_TWIN_TOKEN does not open this twin; see 'spillway twin status'"
            return JSONResponse({"code": "TwinUnauthorized", "message": text}, 401)
        body = await request.json()
        twin.catch_up()
        try:
            shown = handler(control, body)
        except CloudRefusal as refusal:
            error = {"code": refusal.code, "message": refusal.message}
            return JSONResponse(error, refusal.http_status)
        await asyncio.sleep(control.mishaps.hold(name, str(body.get("type", ""))))
        return JSONResponse(shown)

    return answer


def _create(control: Control, body: Body) -> Body:
    token = str(body.get("token", ""))
    return _shown(control.create(body["type"], body["region"], body["inputs"], token))


def _read(control: Control, body: Body) -> Body:
    return _shown(control.read(body["type"], body["id"]))


def _update(control: Control, body: Body) -> Body:
    return _shown(control.update(body["type"], body["id"], body["inputs"]))


def _delete(control: Control, body: Body) -> Body:
    return {"gone": control.delete(body["type"], body["id"])}


def _vanish(control: Control, body: Body) -> Body:
    control.vanish(body["type"], body["id"])
    return {}


def _mishap(control: Control, body: Body) -> Body:
    control.mishaps.ordered.append(Mishap(**body))
    return {}


def _account(_control: Control, _body: Body) -> Body:
    return {"aws": ACCOUNT, "alicloud": ALICLOUD_ACCOUNT}


def _shown(resource: Resource) -> Body:
    return {"id": resource.id, "inputs": resource.inputs, "outputs": resource.outputs}
