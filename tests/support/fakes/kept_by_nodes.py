"""Metadata shared by nodes, in memory: changes apply when the clock runs, unless `failure` refuses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shareq.broker.foundation.pending import Pending
from shareq.broker.metadata.changes import MetaChange, MetaState
from shareq.protocol.errors import NO_ERROR, ApiError


class MemoryKept:
    def __init__(self, call_soon: Callable[[Callable[[], None]], None]) -> None:
        self.state = MetaState()
        self.secret = bytes(32)
        self.failure = NO_ERROR
        self._call_soon = call_soon
        self._listeners: list[Callable[[Sequence[MetaChange]], None]] = []

    def write(self, changes: Sequence[MetaChange]) -> Pending[ApiError]:
        answer: Pending[ApiError] = Pending()

        def arrive() -> None:
            if not self.failure:
                self.change(changes)
            answer.complete(self.failure)

        self._call_soon(arrive)
        return answer

    def change(self, changes: Sequence[MetaChange]) -> None:
        for change in changes:
            self.state.apply(change)
        for listener in self._listeners:
            listener(changes)

    def on_change(self, listener: Callable[[Sequence[MetaChange]], None]) -> None:
        self._listeners.append(listener)

    def close(self) -> None: ...
