"""glibc's allocator, set to keep what this process frees.

By default each buffer above 128 KiB is mapped, touched page by page, and unmapped again. For record batches of a
megabyte that is most of the broker's time: with these settings a produced megabyte costs 0.35 ms of CPU instead of 2,
on a virtual machine, where page faults are dear. Idle memory stays as it is; what is kept at the top is at most
`TOP_PAD_BYTES`. What lies below something that stays is kept, too, until `FreedMemory` gives it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from mmap import PAGESIZE
from typing import TYPE_CHECKING, Final, Protocol

from shareq.broker.network.answer_budget import LARGE_BYTES

if TYPE_CHECKING:
    from shareq.broker.foundation.environment import Clock

MMAP_THRESHOLD_BYTES: Final = 32 * 1024 * 1024  # the most glibc accepts
TOP_PAD_BYTES: Final = 16 * 1024 * 1024

CALM_MS: Final = 2_000

PIECE_BYTES: Final = (1024 * 1024, 256 * 1024, 64 * 1024, 16 * 1024)
"""Free memory is looked for in pieces of these sizes."""
STEP_BYTES: Final = 4 * 1024 * 1024
STEP_PIECES: Final = 128

MADV_DONTNEED: Final = 4  # of Linux

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


class Heap(Protocol):
    """An allocator's memory, by addresses and bytes."""

    def take(self, size: int) -> int:
        """Allocate: the address, 0 when there is no memory. What is free between other things goes before the end."""

    def put_back(self, address: int) -> None:
        """Free what was taken."""

    def release(self, address: int, size: int) -> None:
        """Give the system the pages that lie wholly in a piece that is taken: a tenth of a millisecond for a MB."""

    def end(self) -> int:
        """The address behind all of it."""

    def trim(self) -> None:
        """Give back the pages of everything that is free, but for `TOP_PAD_BYTES` at the end; all in one go."""


class _Glibc:
    """`Heap` of this process, of the thread that asks. AttributeError or OSError where there is no glibc."""

    def __init__(self) -> None:
        import ctypes

        libc = ctypes.CDLL(None)
        self._trim = libc.malloc_trim  # first, for other systems have the others
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
    """This process's; None where there is no glibc."""
    try:
        return _Glibc()
    except (ImportError, OSError, AttributeError, TypeError):  # musl, macOS, Windows
        return None


def give_back_in_steps(heap: Heap) -> Iterator[None]:
    """Return to the system what was freed, `STEP_BYTES` or `STEP_PIECES` in a step.

    `malloc_trim` cannot stop halfway, takes a tenth of a millisecond for each megabyte, and holds a lock meanwhile that
    every thread needs. So free memory is taken piece by piece, large ones first, its pages are released, and when none
    is left all is put back; `malloc_trim` is left with the seams between them and with what is smaller. When the
    iterator is closed before its end, what it holds is put back at once.
    """
    held: list[int] = []
    try:
        for size in PIECE_BYTES:
            yield from _released(heap, size, held)
        while held:
            for _ in range(min(STEP_PIECES, len(held))):
                heap.put_back(held.pop())
            yield
    finally:
        while held:
            heap.put_back(held.pop())
    heap.trim()


def _released(heap: Heap, size: int, held: list[int]) -> Iterator[None]:
    """Take all free pieces of `size` bytes, and release them where they are not in what is kept at the heap's end."""
    in_step = min(STEP_BYTES // size, STEP_PIECES)
    end = heap.end()
    more = True
    while more:
        for _ in range(in_step):
            address = heap.take(size)
            if address:
                held.append(address)
            more = 0 < address <= end - size  # else nothing was free: the heap has grown, or is full
            if not more:
                break
            if address + size <= end - TOP_PAD_BYTES:
                heap.release(address, size)
        yield


def give_back() -> Iterator[None]:
    """`give_back_in_steps` of this process; no step without glibc."""
    heap = glibc_heap()
    return iter(()) if heap is None else give_back_in_steps(heap)


class Budget(Protocol):
    """A count of bytes in memory. `on_large` is called while it is large, and `was_large` set."""

    was_large: bool
    on_large: Callable[[], None] | None

    @property
    def held(self) -> int: ...


class FreedMemory:
    """Has memory given back once budgets that were large have not been for `CALM_MS`: what is used again soon is kept,
    and nothing is done, nor any timer set, as long as they are small. `give_back` makes the steps of it, of which one
    is done in each tick of the loop, until budgets are large again.
    """

    def __init__(
        self, clock: Clock, budgets: Sequence[Budget], give_back: Callable[[], Iterator[None]] = give_back
    ) -> None:
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
            self._step(self._give_back())

    def _step(self, steps: Iterator[None]) -> None:
        for _ in steps:
            if not self._watching:
                self._clock.call_soon(partial(self._step, steps))
            return  # memory that is needed again is not given back
