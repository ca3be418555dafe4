"""The number of a group's recent dead letters; too many pause the group, which is the idea of KIP-1316."""

from __future__ import annotations

from collections import deque
from typing import Final

_STEPS: Final = 100
"""The number of parts of a window. The letters of a part are counted together, and leave the window together."""


class RecentLetters:
    """The number of letters within a window that ends now. Pure: time is an argument, and never goes back."""

    __slots__ = ("_parts", "_step_ms", "_total")

    def __init__(self) -> None:
        self._parts: deque[tuple[int, int]] = deque()  # the number of the part, and its letters
        self._step_ms = 0
        self._total = 0

    def add(self, letters: int, now_ms: int, window_ms: int) -> int:
        """Add `letters` to the count. Return the number within the last `window_ms`, accurate to a hundredth of the
        window.

        A change of the window restarts the count at 0.
        """
        step_ms = max(window_ms // _STEPS, 1)
        if step_ms != self._step_ms:
            self._parts.clear()
            self._step_ms, self._total = step_ms, 0
        part, first = now_ms // step_ms, (now_ms - window_ms) // step_ms
        while self._parts and self._parts[0][0] < first:
            self._total -= self._parts.popleft()[1]
        if self._parts and self._parts[-1][0] == part:
            letters_before = self._parts.pop()[1]
            self._parts.append((part, letters_before + letters))
        else:
            self._parts.append((part, letters))
        self._total += letters
        return self._total
