"""Producer ids in blocks, so that not every producer costs a commit."""

from __future__ import annotations

from shareq.broker.metadata.store import MetadataStore


class ProducerIds:
    """Gives out every producer id once; a restart wastes the rest of a block."""

    def __init__(self, metadata: MetadataStore) -> None:
        self._metadata = metadata
        self._block = iter(range(0))

    def next(self) -> int:
        """A producer id that was never given out. OSError when a new block cannot be committed."""
        found = next(self._block, None)
        if found is None:
            self._block = iter(self._metadata.allocate_producer_ids())
            found = next(self._block)
        return found
