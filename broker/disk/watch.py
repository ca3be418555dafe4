"""A watch on the free space of the data folder's file system, which also maintains the reserve.

It measures a second after a write; in each tick with a write, if little more is left than can be written in a
second; and every second while something is refused or the reserve is incomplete. An idle broker with free space has
no timer for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from shareq.broker.disk.policy import (
    DiskLimits,
    DiskSettings,
    DiskState,
    Use,
    first_reserve,
    is_full,
    limits_of,
    next_state,
    room_for_reserve,
)
from shareq.broker.disk.reserve import Reserve
from shareq.broker.foundation.environment import Clock, DiskSpace, Fs
from shareq.broker.foundation.loop.timer import Timer

logger = logging.getLogger(__name__)

INTERVAL_MS: Final = 1000
FIRST_LOOK_MS: Final = 2000  # after the start, so that it does not delay the first requests
RETRY_MS: Final = 60_000  # until the next attempt to allocate a reserve that has failed
WRITTEN_IN_A_SECOND: Final = 1024**3

_EFFECT: Final = {
    DiskState.OK: "everything is taken again",
    DiskState.LOW: "Produce will be refused below %(full)d",
    DiskState.FULL: "records of clients and new topics are refused, acknowledgements and deletions are not",
    DiskState.CRITICAL: "only acknowledgements, offset commits, deletions and changes of properties are taken",
}


class DiskWatch:
    """The watch of a broker's disk. Owned by the broker. `state` is that of the last look; `on_change` is called
    after it has changed. Writes through `fs` get nothing from the reserve.
    """

    def __init__(self, clock: Clock, fs: Fs, data_dir: str, settings: DiskSettings) -> None:
        self._clock = clock
        self.fs = fs
        self._data_dir = data_dir
        self._settings = settings
        self._timer = Timer(clock)
        self._limits = DiskLimits(0, 0, 0, 0)
        self._watchful = False  # a second's writing could fill the disk
        self._looks_soon = False
        self._unseen_until_ms = 0  # until then the reported free space is not believed (a quota)
        self._closed = False
        self.reserve = Reserve(fs, data_dir, self._reserve_given_up)
        self.state = DiskState.OK
        self.on_change: Callable[[], None] = _nobody

    def start(self) -> None:
        """Measure the disk, and allocate as much of the reserve as fits, before clients can fill the disk."""
        self.look()
        self._take_first_reserve()
        self._arm(FIRST_LOOK_MS)

    def _take_first_reserve(self) -> None:
        space = self.space()
        self.reserve.wanted = self._limits.reserve
        left = 0 if space is None else first_reserve(space.usable_bytes, self._limits)
        while piece := min(self.reserve.next_piece, left):
            try:
                self.reserve.take(piece)
            except OSError as error:
                logger.warning("%s: no reserve for a full disk yet, it is tried again: %s", self._data_dir, error)
                return
            left -= piece

    def make_room_to_start(self) -> None:
        """Free the reserve if the start may need it: on a full disk not even the metadata can be opened."""
        space = self.space()
        if space is not None:
            limits = limits_of(self._settings, space.total_bytes)
            if limits.state_of(space.usable_bytes) is DiskState.CRITICAL:
                self.reserve.give_up(Use.MAKING_ROOM)

    def close(self, *, stopping: bool) -> None:
        """Stop the watch; `on_change` is not called any more. With `stopping`, the writes of a clean stop may use
        the reserve.
        """
        self._closed = True
        self._timer.stop()
        if stopping:
            self.look()
            if self.state >= DiskState.FULL:
                self.reserve.give_up(Use.MAKING_ROOM)

    def space(self) -> DiskSpace | None:
        """Return the current size and free space of the file system; None if they are unknown."""
        try:
            return self.fs.disk_space(self._data_dir)
        except OSError as error:
            logger.debug("%s: cannot read the free space of its file system: %s", self._data_dir, error)
            return None

    def writing(self) -> None:
        """Note that something is about to be written."""
        if not self._watchful:
            self._arm(INTERVAL_MS)
        elif not self._looks_soon:
            self._looks_soon = True
            self._clock.call_soon(self._look_after_tick)

    def _look_after_tick(self) -> None:
        self._looks_soon = False
        if not self._closed:
            self.look()
            self._arm_if_needed()

    def refuses_clients(self) -> bool:
        """Return True while clients' records are refused. The disk is measured again, since space may have become
        free.
        """
        self.look()
        return self.state >= DiskState.FULL

    def write_failed(self, error: OSError) -> None:
        """Note that a write of clients' records failed. If that was for lack of room, refuse further ones."""
        if not is_full(error):
            return
        self.look()
        if self.state < DiskState.FULL and self._settings.refuse_bytes:
            self._unseen_until_ms = self._clock.now_ms() + INTERVAL_MS
            self._become(DiskState.FULL, 0)
        self.writing()

    def look(self) -> None:
        """Measure the free space."""
        space = self.space()
        if space is None or self._clock.now_ms() < self._unseen_until_ms:
            return
        self._limits = limits_of(self._settings, space.total_bytes)
        self._watchful = space.usable_bytes < self._limits.low + WRITTEN_IN_A_SECOND
        state = next_state(self.state, space.usable_bytes, self._limits)
        if state is not self.state:
            self._become(state, space.usable_bytes)

    def _become(self, state: DiskState, usable_bytes: int) -> None:
        worse = state > self.state
        self.state = state
        level = logging.INFO if not worse else logging.WARNING if state is DiskState.LOW else logging.ERROR
        effect = _EFFECT[state] % self._limits._asdict()
        logger.log(level, "%s: %d bytes left on its file system: %s", self._data_dir, usable_bytes, effect)
        self.on_change()

    def _reserve_given_up(self) -> None:
        self.look()
        self._arm(INTERVAL_MS)

    # -- the timer

    def _arm(self, after_ms: int) -> None:
        if self._timer.due_ms is None and not self._closed:
            self._timer.after(after_ms, self._on_timer)

    def _on_timer(self) -> None:
        self.look()
        again_ms = self._keep_reserve()
        if again_ms is not None:
            self._arm(again_ms)
        self._arm_if_needed()

    def _arm_if_needed(self) -> None:
        if self.state is not DiskState.OK:
            self._arm(INTERVAL_MS)

    def _keep_reserve(self) -> int | None:
        """Add one piece to the reserve if there is room for it. Return after how many milliseconds to do that again,
        or None.
        """
        space = self.space()
        if space is None:
            return RETRY_MS
        self.reserve.wanted = self._limits.reserve
        piece = self.reserve.next_piece
        if piece and not room_for_reserve(space.usable_bytes, piece, self._limits):
            return INTERVAL_MS
        try:
            self.reserve.take()
        except OSError as error:
            logger.warning("%s: no reserve for a full disk: %s", self._data_dir, error)
            return RETRY_MS
        return 0 if piece else None


def _nobody() -> None:
    pass
