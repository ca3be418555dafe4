"""A reader of committed records that follows the jobs' writes, and the checks of what it sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchResponse
from tests.simulation.jobs import offsets
from tests.simulation.jobs.reading import BY_NAME, fetch_request, records_of, row_of
from tests.simulation.jobs.scripts import Runner, Script
from tests.simulation.ledger import CONTROL, InvariantBroken
from tests.simulation.reading import contents
from tests.simulation.topics import SECOND, TOPIC, Slot

if TYPE_CHECKING:
    from tests.simulation.jobs.group import JobGroup
    from tests.simulation.world import World


class View:
    """A reader that continues from its position, and remembers all that it has seen."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._positions: dict[Slot, int] = {}
        self._stable: dict[Slot, int] = {}

    def look(self) -> None:
        """Read what is available; nothing may be in progress."""
        for slot in self._world.topics.of(SECOND):
            if self._world.log(slot).refusal is ErrorCode.NONE:
                while self._read(slot):
                    pass

    def hidden(self) -> set[bytes]:
        """Return the values that the reader may see only once an open transaction has ended."""
        found: set[bytes] = set()
        for slot in self._world.topics.of(SECOND):
            log, position = self._world.log(slot), self._positions.get(slot, 0)
            if position < log.high_watermark and log.refusal is ErrorCode.NONE:
                values = (value for offset, value in contents(log).items() if offset >= position)
                found.update(value for value in values if value is not None and value is not CONTROL)
        return {value for value in found if self._world.jobs.copies.copies[value][0].may_show}

    def _read(self, slot: Slot) -> bool:
        world, position = self._world, self._positions.get(slot, 0)
        start = world.log(slot).log_start_offset
        with world.folder.logs.pool.waiting():
            answer = world.call("fetch", fetch_request(slot, position, committed=True), BY_NAME, world.connect()).value
        assert isinstance(answer, FetchResponse)
        row = row_of(answer)
        if position < start and row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            world.seen["copies that were deleted before a reader went on"] += 1
            self._positions[slot] = start
            return True
        if row.error_code or position < start:
            raise InvariantBroken(f"slot {slot.index} at {position} was answered {ErrorCode(row.error_code).name}")
        if row.last_stable_offset < self._stable.get(slot, 0):
            raise InvariantBroken(
                f"last stable offset of slot {slot.index}: {self._stable[slot]} became {row.last_stable_offset}"
            )
        self._stable[slot] = row.last_stable_offset
        found = records_of(row, position)
        for _, value in found.records:
            world.seen["copies that were read"] += 1
            world.jobs.copies.on_seen(value)
        self._positions[slot] = found.position
        return found.position > position


def judge(world: World, group: JobGroup, hidden: set[bytes]) -> None:
    """Check that offsets are as answered, and that exactly their records have copies.

    Nothing is in progress, and no transaction is between decision and last marker. `hidden`: see `View.hidden`.
    """
    slots = group.source()
    gone = [slot for slot in world.topics.slots if slot.topic == TOPIC and slot not in slots]
    plain = _ask(world, group, slots + gone[-1:], stable=False)
    _ask(world, group, slots, stable=True)
    if not group.copies:
        return
    for slot in slots:
        log = world.log(slot)
        if log.refusal is ErrorCode.NONE:
            source = {offset for offset, value in contents(log).items() if _is_due(world, group, value)}
            generation, start = group.ledger.register(slot.index).generation, log.log_start_offset
            place = slot.index, plain[slot]
            world.jobs.copies.check_copied(group.id, place, generation, source, hidden, start=start)


def _is_due(world: World, group: JobGroup, value: bytes | None) -> bool:
    if value is None or value is CONTROL:
        return False
    return not group.committed or world.topics.records.is_committed(value)


def _ask(world: World, group: JobGroup, slots: list[Slot], *, stable: bool) -> dict[Slot, int]:
    found: dict[Slot, int] = {}

    def script() -> Script[None]:
        answer = yield from offsets.fetch(group, world.connect(), slots, None, stable=stable)
        if not isinstance(answer, ErrorCode):
            found.update(answer)
        elif not stable:
            raise InvariantBroken(f"{group.id}: offsets were asked for, and answered {answer.name}")

    runner = Runner(script())
    runner.go_on()
    if not runner.done:
        raise InvariantBroken(f"{group.id}: offsets were asked for while nothing was under way, and not answered")
    return found
