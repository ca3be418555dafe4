"""Producer ids, allocated in blocks, so that not every producer costs a commit."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from shareq.broker.metadata.store import MetadataStore

BLOCK: Final = 1_000
"""The number of producer ids that one commit allocates."""


class ProducerIds:
    """Producer ids, each given out once. A restart wastes the rest of a block."""

    def __init__(self, metadata: MetadataStore) -> None:
        self._metadata = metadata
        self._block = range(0)  # not given out yet

    async def at_hand(self) -> None:
        """Return when the next id needs no commit. If the block is used up, wait until a new one may be committed,
        and commit it.

        If that fails, `next` tries it again, and raises the error.
        """
        if self._block:
            return
        await self._metadata.gate.passed()
        if not self._block:
            with suppress(OSError, ValueError):
                self._block = self._metadata.allocate_producer_ids(BLOCK)

    def next(self) -> int:
        """Return a producer id that was never given out. Raise OSError if a new block cannot be committed."""
        block = self._block or self._metadata.allocate_producer_ids(BLOCK)
        self._block = block[1:]
        return block[0]
