"""A world on a clock: what the servers share. Every request first lets the world catch up.

One thread only: the caller is one event loop, and no call here waits. Must not know any protocol.
"""

from __future__ import annotations

from sim.world.clock import Clock
from sim.world.draws import Draws
from sim.world.world import World


class Twin:
    """One clock and one world.

    `tokens` open each cluster's Kubernetes API, `token` the clouds' doors.
    """

    def __init__(self, clock: Clock, world: World) -> None:
        if clock.origin != world.ground.origin:
            raise ValueError("clock and world must share their origin")
        self.clock = clock
        self.world = world
        secret = Draws(world.ground.draws.seed)
        self.tokens = {name: secret.token(32, "token", name) for name in world.clusters()}
        self.token = secret.token(32, "token", "clouds")
        self.is_stopping = False

    def catch_up(self) -> None:
        """Let everything happen that is due by now."""
        self.world.advance_to(max(self.clock.seconds(), self.world.now_s))

    def jump(self, seconds: float) -> None:
        """Move the time forward and let everything happen in between."""
        self.clock.jump(seconds)
        self.catch_up()
