"""`python -m sim`: the twin with all its doors: control, clusters, Prometheus, clouds, provider plugins."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from starlette.routing import BaseRoute

from sim.cloud import routes as cloud
from sim.cloud.control import Control
from sim.server import main
from sim.wire import routes as wire
from sim.world.twin import Twin


def all_routes(twin: Twin) -> Sequence[BaseRoute]:
    """The doors that the server itself does not know."""
    return [*cloud.routes(twin, Control(twin.world)), *wire.routes(twin)]


if __name__ == "__main__":
    sys.exit(main(extra_routes=all_routes))
