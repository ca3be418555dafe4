"""Producer ids in blocks, so that not every producer costs a commit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from shareq.broker.foundation.pending import Pending
from shareq.broker.metadata.store import MetadataStore

T = TypeVar("T")


class ProducerIds:
    """Gives out every producer id once; a restart wastes the rest of a block."""

    def __init__(self, metadata: MetadataStore) -> None:
        self._metadata = metadata
        self._block = range(0)  # not given out yet

    @property
    def used_up(self) -> bool:
        """Return whether the next one costs a commit."""
        return not self._block

    def at_hand(self, work: Callable[[], Pending[T]]) -> Pending[T]:
        """Begin `work` where the next one costs no commit: at once, or when a new block may be committed. Where that
        fails, `next` tries it again, and says so.
        """
        if not self.used_up:
            return work()

        def fill() -> Pending[T]:
            if self.used_up:
                with suppress(OSError, ValueError):
                    self._block = self._metadata.allocate_producer_ids()
            return work()

        return self._metadata.gate.pass_then(fill)

    def next(self) -> int:
        """A producer id that was never given out. OSError when a new block cannot be committed."""
        block = self._block or self._metadata.allocate_producer_ids()
        self._block = block[1:]
        return block[0]
