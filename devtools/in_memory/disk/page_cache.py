"""The page cache of a disk in memory: a read of missing bytes waits for a load."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

_LONGEST_TICKS: Final = 6


class PageCache:
    """A random page cache.

    Bytes that were not loaded are missing with probability `misses`, and loaded ones are evicted with probability
    `evicts`. `loads` are the started loads, as path, position, size, and whether ahead. With a list in `held`, loads
    end only when the test calls its entries.
    """

    def __init__(self, rng: Random | None = None, *, misses: float = 1.0, evicts: float = 0.0) -> None:
        self._rng = rng or Random(0)
        self._misses = misses
        self._evicts = evicts
        self._loaded: dict[str, list[tuple[int, int]]] = {}
        self.loads: list[tuple[str, int, int, bool]] = []
        self.held: list[Callable[[], None]] | None = None

    def has(self, path: str, position: int, size: int) -> bool:
        """Return whether a read of these bytes need not wait."""
        if self.was_loaded(path, position, size):
            if self._rng.random() >= self._evicts:
                return True
            self.forget(path)
            return False
        return size <= 0 or self._rng.random() >= self._misses

    def was_loaded(self, path: str, position: int, size: int) -> bool:
        """Return whether these bytes were loaded and not evicted."""
        return any(start <= position and position + size <= end for start, end in self._loaded.get(path, ()))

    def loaded(self, path: str, position: int, size: int) -> None:
        """Note that these bytes are in memory."""
        self._loaded.setdefault(path, []).append((position, position + size))

    def forget(self, path: str | None = None) -> None:
        """Evict a file, or all of them."""
        if path is None:
            self._loaded.clear()
        else:
            self._loaded.pop(path, None)

    def load(
        self, end: Callable[[], None], call_soon: Callable[[Callable[[], None]], None], what: tuple[str, int, int, bool]
    ) -> None:
        """End a load within the next few ticks."""
        self.loads.append(what)
        if self.held is not None:
            self.held.append(end)
            return
        _in_ticks(self._rng.randint(1, _LONGEST_TICKS), end, call_soon)


def _in_ticks(ticks: int, end: Callable[[], None], call_soon: Callable[[Callable[[], None]], None]) -> None:
    call_soon(end if ticks <= 1 else partial(_in_ticks, ticks - 1, end, call_soon))
