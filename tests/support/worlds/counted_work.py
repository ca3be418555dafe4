"""Counts of a broker's work in each tick of its loop, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.log import admission
from shareq.protocol.generated.api_versions import ApiVersionsRequest
from shareq.protocol.records import batch
from shareq.protocol.records.compression import compress, compress_pieces


class Work:
    def __init__(self) -> None:
        self.ticks: list[int] = []
        self.now = 0

    def count(self, function: Callable[..., Any], each: Callable[..., int] = lambda *_: 1) -> Callable[..., Any]:
        """Return the function, counted; `each` returns, from its arguments, how much a call counts."""

        def counted(*args: Any, **named: Any) -> Any:
            self.now += each(*args)
            return function(*args, **named)

        return counted

    def watch(self, world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        """Start at zero, and add a number to `ticks` for each tick of the clock."""
        run_tick = world.clock.run_tick

        def counted() -> int:
            ready = run_tick()
            self.ticks.append(self.now)
            self.now = 0
            return ready

        self.now = 0
        monkeypatch.setattr(world.clock, "run_tick", counted)

    def run(self, world: BrokerWorld, neighbour: MockConnection) -> None:
        """Let the broker work tick by tick; in each the neighbour asks and must be answered at once."""
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


def packed_bytes(monkeypatch: pytest.MonkeyPatch) -> Work:
    work = Work()
    monkeypatch.setattr(batch, "compress", work.count(compress, lambda _codec, data: len(data)))

    def counted(pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            work.now += len(piece)
            yield piece

    monkeypatch.setattr(admission, "compress_pieces", lambda codec, pieces: compress_pieces(codec, counted(pieces)))
    return work
