"""Producer ids in blocks, so that not every producer costs a commit."""

from __future__ import annotations

from shareq.broker.metadata.store import MetadataStore


class ProducerIds:
    """Gives out every producer id once; a restart wastes the rest of a block."""

    def __init__(self, metadata: MetadataStore) -> None:
        self._metadata = metadata
        self._block = range(0)  # not given out yet

    @property
    def used_up(self) -> bool:
        """Return whether the next one costs a commit."""
        return not self._block

    def next(self) -> int:
        """A producer id that was never given out. OSError when a new block cannot be committed."""
        block = self._block or self._metadata.allocate_producer_ids()
        self._block = block[1:]
        return block[0]
