"""Producer ids in blocks, so that not every producer costs a commit."""

from __future__ import annotations

from contextlib import suppress

from shareq.broker.metadata.store import MetadataStore


class ProducerIds:
    """Gives out every producer id once; a restart wastes the rest of a block."""

    def __init__(self, metadata: MetadataStore) -> None:
        self._metadata = metadata
        self._block = range(0)  # not given out yet

    async def at_hand(self) -> None:
        """Return when the next one costs no commit: wait until a new block may be committed if this one is used up. If
        that fails, `next` tries it again, and raises why.
        """
        if self._block:
            return
        await self._metadata.gate.passed()
        if not self._block:
            with suppress(OSError, ValueError):
                self._block = self._metadata.allocate_producer_ids()

    def next(self) -> int:
        """Return a producer id that was never given out. OSError when a new block cannot be committed."""
        block = self._block or self._metadata.allocate_producer_ids()
        self._block = block[1:]
        return block[0]
