"""Seeds about storage: slow syncs, disks that damage their data, and the data that must survive.

Damage hits the synced part of data logs: bits flip, pages are zeroed or unreadable, files are cut or removed. Confirmed
data that was not hit stays; reads of data that was hit return CORRUPT_MESSAGE, or the original. Nothing else takes its
place, and confirmed offsets are not used again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

from devtools.in_memory.mem_fs import CrashModel, SimulatedCrash
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.promises.manifest import LogRow, parse_manifest
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.records.batch import batch_headers
from tests.simulation.ledger import InvariantBroken
from tests.simulation.reading import contents
from tests.simulation.topics import Slot

if TYPE_CHECKING:
    from tests.simulation.world import World

STORAGE_AMONG: Final = 10
STORAGE_SEED: Final = 3
BLOCK_BYTES: Final = 4096  # what a disk cannot read at once
MOST_STRIKES: Final = 3

Batch = tuple[int, int, int, int]  # position, end (exclusive), first and last offset


class SeedIsOver(Exception):
    """The end of a seed that cannot continue, because it has been judged."""


class Promise(Enum):
    """The part of the confirmed data that survives with a seed's disk and settings."""

    ALL = 0
    WHAT_WAS_SYNCED = 1  # nobody asked for a sync before the answer, and power is lost
    NOTHING = 2  # the disk says that it has synced, and has not


def is_about_storage(seed: int) -> bool:
    """Return True for one seed in ten. These seeds have share groups, and no transactions."""
    return seed % STORAGE_AMONG == STORAGE_SEED


def promise_of(seed: int) -> Promise:
    """Return a seed's promise. One seed in three loses power without having synced everything, and ends with that."""
    if not is_about_storage(seed) or seed // STORAGE_AMONG % 3:
        return Promise.ALL
    return Promise.NOTHING if seed // STORAGE_AMONG % 2 else Promise.WHAT_WAS_SYNCED


class Storage:
    """The damage to the data on disk, and the records that it may have cost. `on`: the seed is about storage."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self.on = is_about_storage(seed)
        self.promise = promise_of(seed)
        if self.promise is not Promise.ALL:
            world.model = CrashModel.POWER_LOSS
        if self.promise is Promise.NOTHING:
            world.fs.sync_lies = lambda _path: world.rng.random() < 0.7
        self._struck: set[str] = set()  # a file is damaged once: its batches can be read before that

    # -- before a sync

    def burst(self) -> None:
        """Let producers write while the disk is slow to sync; then the broker may die."""
        world, rng = self._world, self._world.rng
        world.fs.held_syncs = []
        world.note("syncs are slow")
        try:
            for _ in range(rng.randint(3, 9)):
                rng.choice(world.producers).act()
                world.clock.run_tick()
            if rng.random() < 0.5:
                world.seen["crashes before a sync"] += 1
                raise SimulatedCrash
        finally:
            held, world.fs.held_syncs = world.fs.held_syncs or [], None
            self._synced_at_last(held)

    def _synced_at_last(self, held: list[Callable[[], None]]) -> None:
        for end in held:
            self._world.clock.call_soon(end)

    # -- damage

    def strike_at_rest(self, synced: dict[str, int]) -> None:
        """Damage the data between two lives of the broker, now and then.

        `synced`: the bytes of each file that were on stable storage.
        """
        if self.on and self._world.rng.random() < 0.4:
            self._strike(synced, ("flip", "flip", "zero", "eio", "cut", "gone"))

    def strike(self) -> None:
        self._strike(self.synced(), ("flip", "zero", "eio"))

    def synced(self) -> dict[str, int]:
        """Return the size of each file's part that is on stable storage."""
        inodes = self._world.fs.inodes() if self.on else {}
        return {path: inode.durable_size for path, inode in inodes.items() if path.endswith(".log")}

    def _strike(self, synced: dict[str, int], kinds: Sequence[str]) -> None:
        world, rng = self._world, self._world.rng
        if self.promise is not Promise.ALL or len(self._struck) == MOST_STRIKES:
            return
        places = [
            (slot, path)
            for slot in world.topics.live
            if self._is_promised(slot)
            for path in self._segments(slot)
            if synced.get(path) and path not in self._struck
        ]
        if not places:
            return
        slot, path = rng.choice(places)
        size = synced[path]
        batches = self._batches(path, size)
        kind = rng.choice(kinds)
        if kind == "eio" and path == self._segments(slot)[-1]:
            kind = "flip"  # what is written behind bytes that cannot be read may be in the same block
        start, end = getattr(self, f"_{kind}")(path, size)
        hit = [range(first, last + 1) for at, to, first, last in batches if at < end and start < to]
        offsets = {offset for each in hit for offset in each}
        self._struck.add(path)
        world.topics.records.hit.setdefault(slot.index, set()).update(offsets)
        world.seen[f"damage: {kind}"] += 1
        world.note(f"DAMAGE ({kind}) of {path}, bytes {start} to {end}: offsets {sorted(offsets)} of slot {slot.index}")

    def _is_promised(self, slot: Slot) -> bool:
        """Return True if a start will know that everything answered was synced.

        The manifest is synced within a second: damage before that, together with a power loss, cannot be distinguished
        from an incomplete write.
        """
        inode = self._world.fs.inodes().get(f"data/{MANIFEST_FILE}")
        loses_power = self._world.model is CrashModel.POWER_LOSS
        row = None if inode is None else self._row(slot, inode.durable_size if loses_power else None)
        if row is None or row.synced <= self._last_answered(slot):
            self._world.seen["damage put off: the manifest is behind"] += 1
            return False
        return True

    def _row(self, slot: Slot, size: int | None) -> LogRow | None:
        """Return the promise about the slot's log in the first `size` bytes of the manifest."""
        content = self._world.fs.content(f"data/{MANIFEST_FILE}")
        manifest = parse_manifest(bytes(content[:size]))
        return None if manifest is None else manifest.rows.get((slot.topic, slot.partition))

    def _last_answered(self, slot: Slot) -> int:
        return max(self._world.topics.records.values.get(slot.index, {}), default=-1)

    def _segments(self, slot: Slot) -> list[str]:
        folder = f"data/{slot.topic}-{slot.partition}/"
        return [path for path in self._world.fs.paths() if path.startswith(folder) and path.endswith(".log")]

    def _batches(self, path: str, synced: int) -> list[Batch]:
        """Return the batches, also written ones that were not synced, unless a power loss may have changed them."""
        content = bytes(self._world.fs.content(path))
        if self._world.model is CrashModel.POWER_LOSS:
            content = content[:synced]
        found: list[Batch] = []
        with suppress(MalformedMessage):  # the write that the crash has cut off
            for position, header in batch_headers(content):
                found.append((position, position + header.size, header.base_offset, header.last_offset))
        return found

    def _flip(self, path: str, size: int) -> tuple[int, int]:
        at = self._world.rng.randrange(size)
        self._world.fs.flip_bit(path, at, self._world.rng.randrange(8))
        return at, at + 1

    def _zero(self, path: str, size: int) -> tuple[int, int]:
        page = self._world.fs.page_bytes
        start = self._world.rng.randrange(size) // page * page
        end = min(start + page, size)
        self._world.fs.zero(path, start, end)
        return start, end

    def _eio(self, path: str, size: int) -> tuple[int, int]:
        at = self._world.rng.randrange(size)
        self._world.fs.make_unreadable(path, at, at + 1)
        start = at // BLOCK_BYTES * BLOCK_BYTES
        return start, start + BLOCK_BYTES

    def _cut(self, path: str, size: int) -> tuple[int, int]:
        to = self._world.rng.randrange(size)
        self._world.fs.cut(path, to)
        return to, 1 << 62

    def _gone(self, path: str, _size: int) -> tuple[int, int]:
        self._world.fs.lose(path)
        return 0, 1 << 62

    # -- judging

    def may_be_unreadable(self, slot: int) -> set[int]:
        return self._world.topics.records.hit.get(slot, set())

    def skip(self, slot: Slot, log: PartitionLog, offset: int, error: ErrorCode) -> int:
        """Return the next offset to read after a read at `offset` was refused. Raises if damage has not hit that
        offset, or was not reported there: the offsets of an unreadable batch are known only from its header.
        """
        hit = self.may_be_unreadable(slot.index)
        answered = self._world.topics.records.values.get(slot.index, {})
        if error is not ErrorCode.CORRUPT_MESSAGE or not hit or (offset in answered and offset not in hit):
            raise InvariantBroken(f"{log!r} cannot be read at {offset}: {error.name}, hit are {sorted(hit)}")
        unreadable = _unreadable_range(log, offset)
        if unreadable is None:
            raise InvariantBroken(f"{log!r} gave CORRUPT_MESSAGE at {offset}, and knows of no damage")
        first, after = unreadable
        wrong = [each for each in answered if max(first, log.log_start_offset) <= each < after and each not in hit]
        if wrong:
            raise InvariantBroken(f"slot {slot.index}: {wrong} cannot be read, and only {sorted(hit)} were hit")
        self._world.seen["damaged ranges that were reported"] += 1
        return after

    def end_after_power_loss(self) -> None:
        """Check the logs after a start: up to their ends they have what was sent to them, and nothing else."""
        world = self._world
        world.fs.crash_at = None  # reading may write: an index that it had to make again
        world.topics.adopt()
        world.seen[f"power losses, promised: {self.promise.name}"] += 1
        for slot in world.topics.live:
            log = world.log(slot)
            skip = self._to_the_next if self.promise is Promise.NOTHING else None
            for offset, value in contents(log, skip and partial(skip, log)).items():
                if value is None or world.topics.records.sent.get(value) != slot.index:
                    raise InvariantBroken(f"{(slot.index, offset)} holds {value!r}, which nobody sent there")
        raise SeedIsOver

    def _to_the_next(self, log: PartitionLog, offset: int, error: ErrorCode) -> int:
        unreadable = _unreadable_range(log, offset)
        if error is not ErrorCode.CORRUPT_MESSAGE or unreadable is None:
            raise InvariantBroken(f"{log!r} cannot be read at {offset}: {error.name}, unreadable is {unreadable}")
        return unreadable[1]

    def check_end(self, slot: Slot, log: PartitionLog) -> None:
        """Check that confirmed offsets are not used again.

        If everything is synced first, the manifest has those offsets.
        """
        last = self._last_answered(slot)
        if self.on and last >= 0 and self._world.syncs_every_append and not self._world.faults.happened:
            row = self._row(slot, None)
            if row is None or row.synced <= last:
                raise InvariantBroken(f"slot {slot.index}: the answer for {last} is not promised: {row}")
        if log.log_end_offset <= last:
            raise InvariantBroken(f"slot {slot.index} ends at {log.log_end_offset}, {last} was answered")


def _unreadable_range(log: PartitionLog, offset: int) -> tuple[int, int] | None:
    reported: Callable[[int], tuple[int, int] | None] = getattr(log, "unreadable_range", lambda _offset: None)
    return reported(offset)
