"""glibc's allocator, set to keep what this process frees.

By default each buffer above 128 KiB is mapped, touched page by page, and unmapped again. For record batches of a
megabyte that is most of the broker's time: with these settings a produced megabyte costs 0.35 ms of CPU instead of 2,
on a virtual machine, where page faults are dear. Idle memory stays as it is; what is kept at the top is at most
`TOP_PAD_BYTES`. What lies below something that stays is kept, too, until `FreedMemory` gives it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from shareq.broker.network.answer_budget import LARGE_BYTES

if TYPE_CHECKING:
    from shareq.broker.foundation.environment import Clock

MMAP_THRESHOLD_BYTES: Final = 32 * 1024 * 1024  # the most glibc accepts
TOP_PAD_BYTES: Final = 16 * 1024 * 1024

CALM_MS: Final = 2_000

# mallopt(3)
_M_TOP_PAD: Final = -2
_M_MMAP_THRESHOLD: Final = -3


def keep_freed_memory() -> bool:
    """Apply the settings; False where there is no glibc."""
    try:
        import ctypes

        mallopt = ctypes.CDLL(None).mallopt
    except (ImportError, OSError, AttributeError, TypeError):  # musl, macOS, Windows
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)) and bool(mallopt(_M_TOP_PAD, TOP_PAD_BYTES))


def give_back() -> bool:
    """Return to the system what was freed, a tenth of a millisecond for each megabyte. False without glibc."""
    try:
        import ctypes

        trim = ctypes.CDLL(None).malloc_trim
    except (ImportError, OSError, AttributeError, TypeError):  # musl, macOS, Windows
        return False
    return bool(trim(ctypes.c_size_t(TOP_PAD_BYTES)))


class Budget(Protocol):
    """A count of bytes in memory. `on_large` is called while it is large, and `was_large` set."""

    was_large: bool
    on_large: Callable[[], None] | None

    @property
    def held(self) -> int: ...


class FreedMemory:
    """Has memory given back once budgets that were large have not been for `CALM_MS`: what is used again soon is kept,
    and nothing is done, nor any timer set, as long as they are small.
    """

    def __init__(self, clock: Clock, budgets: Sequence[Budget], give_back: Callable[[], object] = give_back) -> None:
        self._clock = clock
        self._budgets = budgets
        self._give_back = give_back
        self._watching = False
        for budget in budgets:
            budget.on_large = self._watch

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            self._clock.call_at(self._clock.now_ms() + CALM_MS, self._look)

    def _look(self) -> None:
        self._watching = False
        if any(budget.was_large for budget in self._budgets):
            for budget in self._budgets:
                budget.was_large = budget.held >= LARGE_BYTES  # what stays large is given back when it goes
            self._watch()
        else:
            self._give_back()
