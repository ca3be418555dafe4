"""What a broker in memory does in each tick of its loop, as far as a test counts it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.protocol.generated.api_versions import ApiVersionsRequest


class Work:
    """What was done in each tick of the loop, as far as it is counted."""

    def __init__(self) -> None:
        self.ticks: list[int] = []
        self.now = 0

    def count(self, function: Callable[..., Any], each: Callable[..., int] = lambda *_: 1) -> Callable[..., Any]:
        """The function, counted; `each` gives from its arguments for how much a call counts."""

        def counted(*args: Any, **named: Any) -> Any:
            self.now += each(*args)
            return function(*args, **named)

        return counted

    def run(self, world: BrokerWorld, neighbour: MockConnection) -> None:
        """Let the broker work, tick by tick; the neighbour asks in each of them, and is answered at once."""
        while True:
            neighbour.send(ApiVersionsRequest(), 0)
            assert len(neighbour.frames) == 1, "answered in the same tick"
            neighbour.frames.clear()
            neighbour.requests.forget_oldest()
            ready = world.clock.run_tick()
            self.ticks.append(self.now)
            self.now = 0
            if not ready:
                return
