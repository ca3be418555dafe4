"""A broker that dies at a chosen moment, or has a planted fault: `python -m tests.campaign.dlq_kills.broker serve ...`.

SHAREQ_DIE_AT names the moment, SHAREQ_DIE_AFTER its number (1: the first time), SHAREQ_DIE_IN_REMOVALS counts it only
from the first operation that removes a group's state; SHAREQ_PLANTED names a fault, SHAREQ_FAILING_QUEUES unwritable
queues, comma-separated, SHAREQ_HANDED_OUT a file with a line for each delivery, also in answers that get lost.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final

from shareq.broker.foundation.os_fs import OsFile
from shareq.broker.groups.administration import GroupAdministration
from shareq.broker.redrive.job import Redrive
from shareq.broker.share.coordinator import ShareCoordinatorService
from shareq.broker.share.core.effects import DeadLetter, WriteState
from shareq.broker.share.dlq.broker_queues import BrokerQueues
from shareq.broker.share.fetch import ShareFetch
from shareq.broker.share.last_letters import LastLetters
from shareq.broker.share.leader import SharePartitionLeader
from shareq.broker.share.partitions import SharePartitionManager
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import RecordState
from tests.simulation import planted_deaths, planted_redrives, planted_removals
from tests.support.planting import Fault

DIE_AT: Final = "SHAREQ_DIE_AT"
DIE_AFTER: Final = "SHAREQ_DIE_AFTER"
DIE_IN_REMOVALS: Final = "SHAREQ_DIE_IN_REMOVALS"
PLANTED: Final = "SHAREQ_PLANTED"
HANDED_OUT: Final = "SHAREQ_HANDED_OUT"
FAILING: Final = "SHAREQ_FAILING_QUEUES"

FAULTS: Final[dict[str, Fault]] = {
    fault.__name__: fault
    for fault in (
        planted_deaths.load_forgets_the_dead,
        planted_deaths.load_takes_the_dead_for_archived,
        planted_deaths.death_persisted_as_archived,
        planted_deaths.accepted_records_have_letters,
        planted_deaths.letters_hold_the_next_record,
        planted_redrives.a_start_finds_nothing_of_what_was_sent_back,
    )
}

REMOVAL_FAULTS: Final[dict[str, Fault]] = {
    fault.__name__: fault
    for fault in (
        planted_removals.states_go_before_their_letters_are_written,
        planted_removals.states_that_no_leader_has_go_without_their_letters,
    )
}


class Aim(Enum):
    ANY = "any moment"
    DEATH = "before a death is written"
    ON_DISK = "when a death is durable"
    LETTER = "before a letter is appended"
    HALF = "when half of a letter is on the disk"
    WRITTEN = "when a letter is durable"
    ARCHIVES = "before a dead record is archived"
    ARCHIVED = "when that is durable"
    ANNOUNCED = "when a redrive has announced what it does"
    REDRIVEN = "when a redrive has done it"
    WAITS = "when an operation begins to wait for letters"
    GOES = "before a state is removed"
    GONE = "when that is durable, before it is answered"
    NOTED = "before the group notes it"


OF_REDRIVES: Final = frozenset({Aim.ANNOUNCED, Aim.REDRIVEN})
OF_REMOVALS: Final = frozenset({Aim.WAITS, Aim.GOES, Aim.GONE, Aim.NOTED})


def die_at(aim: Aim, after: int, *, in_removals: bool = False) -> None:
    """Kill this process at the `after`-th time of the moment.

    `in_removals`: counted from the first operation that removes a state.
    """
    left, counts = after, not in_removals

    def comes() -> None:
        nonlocal left
        left -= counts
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def begins() -> None:
        nonlocal counts
        counts = True

    if in_removals:
        _before(GroupAdministration, "_remove", lambda *_: True, begins)
    _PREPARE[aim](comes)


def fail_writes(queues: Sequence[str]) -> None:
    original = BrokerQueues.append

    def append(self: BrokerQueues, name: str, partition: int, batch: bytearray, on_durable: Callable[..., None]) -> Any:
        failed = ErrorCode.KAFKA_STORAGE_ERROR
        return failed if name in queues else original(self, name, partition, batch, on_durable)

    BrokerQueues.append = append  # type: ignore[method-assign]


def note_handed_out(path: str) -> None:
    """Write a line for each range before a fetch is answered: group, partition, first, last, delivery count."""
    original = ShareFetch._fetch_one
    journal = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def fetch_one(self: ShareFetch, leader: SharePartitionLeader, max_bytes: int, max_records: int) -> Any:
        found = original(self, leader, max_bytes, max_records)
        where = f"{leader.key.group_id} {leader.key.partition}"
        lines = [f"{where} {each[0]} {each[1]} {each[2]}\n" for each in (found.acquired if found else ())]
        os.write(journal, "".join(lines).encode())
        return found

    ShareFetch._fetch_one = fetch_one  # type: ignore[method-assign]


def _before(owner: type, name: str, is_meant: Callable[..., object], comes: Callable[[], None]) -> None:
    original = getattr(owner, name)

    def replaced(*arguments: Any, **named: Any) -> Any:
        if is_meant(*arguments, **named):
            comes()
        return original(*arguments, **named)

    setattr(owner, name, replaced)


def _writes(state: RecordState) -> Callable[..., bool]:
    def is_meant(_self: object, _key: object, write: WriteState) -> bool:
        return any(batch.delivery_state == state.value for batch in write.batches)

    return is_meant


def _at_death(comes: Callable[[], None]) -> None:
    _before(ShareCoordinatorService, "write_state", _writes(RecordState.ARCHIVING), comes)


def _at_burial(comes: Callable[[], None]) -> None:
    def is_meant(_self: object, _leader: object, _letters: Sequence[DeadLetter]) -> bool:
        return True

    _before(SharePartitionManager, "_bury", is_meant, comes)


def _at_append(comes: Callable[[], None]) -> None:
    _before(BrokerQueues, "append", lambda *_: True, comes)


def _in_the_middle(comes: Callable[[], None]) -> None:
    original = OsFile.append

    def append(self: OsFile, buffers: Sequence[Any]) -> None:
        if "/dlq." in self.path and self.path.endswith(".log"):
            data = b"".join(buffers)
            original(self, [data[: len(data) // 2]])
            comes()
            original(self, [data[len(data) // 2 :]])
        else:
            original(self, buffers)

    OsFile.append = append  # type: ignore[method-assign]


def _when_durable(comes: Callable[[], None]) -> None:
    original = BrokerQueues.append

    def append(self: BrokerQueues, name: str, partition: int, batch: bytearray, on_durable: Callable[..., None]) -> Any:
        def durable(error: Any) -> None:
            comes()
            on_durable(error)

        return original(self, name, partition, batch, durable)

    BrokerQueues.append = append  # type: ignore[method-assign]


def _at_archiving(comes: Callable[[], None]) -> None:
    _before(ShareCoordinatorService, "write_state", _writes(RecordState.ARCHIVED), comes)


def _when_archived(comes: Callable[[], None]) -> None:
    original, is_meant = ShareCoordinatorService.write_state, _writes(RecordState.ARCHIVED)

    def write_state(self: ShareCoordinatorService, key: Any, write: WriteState) -> Any:
        pending = original(self, key, write)
        if is_meant(self, key, write):
            pending.on_complete(lambda _error: comes())
        return pending

    ShareCoordinatorService.write_state = write_state  # type: ignore[method-assign]


def _when_announced(comes: Callable[[], None]) -> None:
    _before(Redrive, "_append", lambda *_: True, comes)


def _when_redriven(comes: Callable[[], None]) -> None:
    _before(Redrive, "_finish", lambda _self, _progress, made, _started_ms: made.records, comes)


def _when_it_waits(comes: Callable[[], None]) -> None:
    _before(LastLetters, "_wait", lambda *_: True, comes)


def _before_it_goes(comes: Callable[[], None]) -> None:
    _before(SharePartitionManager, "state_replaced", lambda *_: True, comes)


def _when_it_is_gone(comes: Callable[[], None]) -> None:
    for name in ("initialize", "delete"):
        _when_done(ShareCoordinatorService, name, comes)


def _when_done(owner: type, name: str, comes: Callable[[], None]) -> None:
    original = getattr(owner, name)

    def replaced(*arguments: Any) -> Any:
        pending = original(*arguments)
        pending.on_complete(lambda _result: comes())
        return pending

    setattr(owner, name, replaced)


def _before_it_is_noted(comes: Callable[[], None]) -> None:
    _before(GroupAdministration, "_finish", lambda *_: True, comes)


_PREPARE: Final[dict[Aim, Callable[[Callable[[], None]], None]]] = {
    Aim.DEATH: _at_death,
    Aim.ON_DISK: _at_burial,
    Aim.LETTER: _at_append,
    Aim.HALF: _in_the_middle,
    Aim.WRITTEN: _when_durable,
    Aim.ARCHIVES: _at_archiving,
    Aim.ARCHIVED: _when_archived,
    Aim.ANNOUNCED: _when_announced,
    Aim.REDRIVEN: _when_redriven,
    Aim.WAITS: _when_it_waits,
    Aim.GOES: _before_it_goes,
    Aim.GONE: _when_it_is_gone,
    Aim.NOTED: _before_it_is_noted,
}


if __name__ == "__main__":
    if PLANTED in os.environ:
        planted = (FAULTS | REMOVAL_FAULTS)[os.environ[PLANTED]]()  # a name for it: what is forgotten is taken back
        planted.__enter__()
    if DIE_AT in os.environ:
        die_at(Aim[os.environ[DIE_AT]], int(os.environ[DIE_AFTER]), in_removals=DIE_IN_REMOVALS in os.environ)
    if FAILING in os.environ:
        fail_writes(os.environ[FAILING].split(","))
    if HANDED_OUT in os.environ:
        note_handed_out(os.environ[HANDED_OUT])
    from shareq.ops.cli.main import main

    main()
