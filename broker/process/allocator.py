"""glibc's allocator, set to keep what this process frees.

By default each buffer above 128 KiB is mapped, touched page by page, and unmapped again. For record batches of a
megabyte that is most of the broker's time: with these settings a produced megabyte costs 0.35 ms of CPU instead of
2, on a virtual machine, where page faults are expensive. Idle memory grows only little: at most `TOP_PAD_BYTES` are
kept at the top of the heap. Freed memory below memory that is in use is kept, too, until `FreedMemory` returns it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from mmap import PAGESIZE
from typing import Final, Protocol

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Driven, drive, in_ticks
from shareq.broker.foundation.turn_budget import Breathe
from shareq.broker.network.answer_budget import LARGE_BYTES

logger = logging.getLogger(__name__)

MMAP_THRESHOLD_BYTES: Final = 32 * 1024 * 1024  # the most glibc accepts
TOP_PAD_BYTES: Final = 16 * 1024 * 1024

CALM_MS: Final = 2_000

PIECE_BYTES: Final = (1024 * 1024, 256 * 1024, 64 * 1024, 16 * 1024)
"""The sizes of pieces in which free memory is searched for."""
ELEMENT_BYTES: Final = 64 * 1024  # that are released count as an element of the turn's budget

MADV_DONTNEED: Final = 4  # of Linux

# mallopt(3)
_M_TOP_PAD: Final = -2
_M_MMAP_THRESHOLD: Final = -3


def keep_freed_memory() -> bool:
    """Apply the settings. Return False if there is no glibc."""
    try:
        import ctypes

        mallopt = ctypes.CDLL(None).mallopt
    except (ImportError, OSError, AttributeError, TypeError):  # musl, macOS, Windows
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)) and bool(mallopt(_M_TOP_PAD, TOP_PAD_BYTES))


class Heap(Protocol):
    """An allocator's memory, by addresses and sizes in bytes."""

    def take(self, size: int) -> int:
        """Allocate memory and return its address, 0 if there is none. Free gaps in the heap are used before its end
        grows.
        """

    def put_back(self, address: int) -> None:
        """Free memory allocated by `take`."""

    def release(self, address: int, size: int) -> None:
        """Give the system back the pages that lie completely within an allocated piece.

        Takes a tenth of a millisecond for each MB.
        """

    def end(self) -> int:
        """Return the address behind the heap."""

    def trim(self) -> None:
        """Return the pages of all free memory, except `TOP_PAD_BYTES` at the end, in a single call."""


class _Glibc:
    """The `Heap` of this process, for the calling thread. Raise AttributeError or OSError if there is no glibc."""

    def __init__(self) -> None:
        import ctypes

        libc = ctypes.CDLL(None)
        self._trim = libc.malloc_trim  # this is looked up first, because other systems have the rest
        self._malloc, self._free, self._madvise, self._sbrk = libc.malloc, libc.free, libc.madvise, libc.sbrk
        self._trim.argtypes, self._trim.restype = (ctypes.c_size_t,), ctypes.c_int
        self._malloc.argtypes, self._malloc.restype = (ctypes.c_size_t,), ctypes.c_void_p
        self._free.argtypes, self._free.restype = (ctypes.c_void_p,), None
        self._madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        self._sbrk.argtypes, self._sbrk.restype = (ctypes.c_ssize_t,), ctypes.c_void_p

    def take(self, size: int) -> int:
        return self._malloc(size) or 0

    def put_back(self, address: int) -> None:
        self._free(address)

    def release(self, address: int, size: int) -> None:
        first = -(-address // PAGESIZE) * PAGESIZE
        self._madvise(first, (address + size) // PAGESIZE * PAGESIZE - first, MADV_DONTNEED)

    def end(self) -> int:
        return self._sbrk(0) or 0

    def trim(self) -> None:
        self._trim(TOP_PAD_BYTES)


def glibc_heap() -> Heap | None:
    """Return this process's heap; None if there is no glibc."""
    try:
        return _Glibc()
    except (ImportError, OSError, AttributeError, TypeError):  # musl, macOS, Windows
        return None


async def give_back(heap: Heap, breathe: Breathe) -> None:
    """Return freed memory to the system.

    `malloc_trim` cannot be interrupted, takes a tenth of a millisecond for each megabyte, and meanwhile holds a lock
    that every thread needs. So free memory is allocated piece by piece, large ones first, and its pages are
    released; when none is left, all pieces are freed again. `malloc_trim` then handles only the gaps between them,
    and smaller pieces. If the coroutine is closed early, its pieces are freed at once.
    """
    held: list[int] = []
    try:
        for size in PIECE_BYTES:
            await _release_free(heap, size, held, breathe)
        while held:
            heap.put_back(held.pop())
            await breathe()
    finally:
        while held:
            heap.put_back(held.pop())
    heap.trim()


async def _release_free(heap: Heap, size: int, held: list[int], breathe: Breathe) -> None:
    """Allocate all free pieces of `size` bytes, and return their pages, except in the part of the heap's end that is
    kept.
    """
    end = heap.end()
    while address := heap.take(size):
        held.append(address)
        if address > end - size:
            return  # nothing was free: the heap has grown
        if address + size <= end - TOP_PAD_BYTES:
            heap.release(address, size)
        await breathe(max(1, size // ELEMENT_BYTES))


class Budget(Protocol):
    """A count of bytes in memory. When it becomes large, `on_large` is called; `was_large` is True while it is."""

    was_large: bool
    on_large: Callable[[], None] | None

    @property
    def held(self) -> int: ...


class FreedMemory:
    """The return of memory to the system when budgets that were large have been small for `CALM_MS`.

    Memory that is soon used again is kept. As long as budgets stay small, nothing is done, and no timer is set. The
    work continues in each tick of the loop, until budgets are large again.
    """

    def __init__(
        self, env: Environment, budgets: Sequence[Budget], heap: Callable[[], Heap | None] = glibc_heap
    ) -> None:
        self._clock = env.clock
        self._turn_budget = env.budget
        self._budgets = budgets
        self._heap = heap
        self._watching = False
        self._giving_back: Driven[None] | None = None
        for budget in budgets:
            budget.on_large = self._watch

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            self._clock.call_at(self._clock.now_ms() + CALM_MS, self._look)
        if self._giving_back is not None:
            self._giving_back.cancel()  # memory that is needed again is not given back
            self._giving_back = None

    def _look(self) -> None:
        self._watching = False
        if any(budget.was_large for budget in self._budgets):
            for budget in self._budgets:
                budget.was_large = budget.held >= LARGE_BYTES  # one that stays large is returned when it becomes small
            self._watch()
        elif (heap := self._heap()) is not None:
            coroutine, run = give_back(heap, self._turn_budget.breathe), in_ticks(self._clock.call_soon)
            begun = drive(coroutine, self._turn_budget, lambda turn: run(turn, _failed), _failed)
            self._giving_back = begun if isinstance(begun, Driven) else None


def _failed(error: Exception) -> None:
    logger.error("freed memory was not given back", exc_info=error)
