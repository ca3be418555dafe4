"""The end of a run: every log is read to its end, and every share group accepts all that is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final

from devtools.clients.transactor import Transactor
from tests.campaign.history.operations import Ack, AckType, Drained, Place, Record, Refused, ShareDrained
from tests.campaign.storage.fetching import EARLIEST, LATEST, Read, Reader
from tests.campaign.storage.links import Unreadable
from tests.campaign.storage.looking import Looker
from tests.campaign.storage.members import ShareMember
from tests.campaign.storage.scene import (
    GROUP_TOPICS,
    JOB_GROUP,
    LOCK_MS,
    PLAIN,
    PLANS,
    SIMPLE_GROUP,
    TRANSACTIONAL_IDS,
    Scene,
)

_NAME: Final = "drain"
ENOUGH: Final = 3
"""The number of successive fetches without records after which a log is drained: a single one may have skipped aborted
records.
"""
WAIT_MS: Final = 100
PATIENCE_S: Final = 20.0


class Drain:
    """Reads of everything that the broker has, noted in the history.

    `settled`: no locks are held, so no lock has to be waited for. `damaged`: unsynced data may be lost, so reads skip
    records that cannot be read, and transactions whose end is lost.
    """

    def __init__(self, scene: Scene, *, settled: bool, damaged: bool = False) -> None:
        scene.stop = threading.Event()
        self._scene = scene
        self._settled = settled
        self._damaged = damaged
        self._patience_s = 0.3 if damaged else PATIENCE_S
        self._link = scene.link(_NAME)
        self._looker = Looker(scene, self._link, _NAME)

    def all(self) -> None:
        """Note everything that is left. An error of the broker is noted, too, never raised."""
        self._end_transactions()
        self._looker.topics()
        self._looker.config(PLAIN.name, "retention.ms")
        for group in (SIMPLE_GROUP, JOB_GROUP):
            self._offsets(group)
        for place in self._scene.places(*PLANS):
            self._log(place)
        for group in GROUP_TOPICS:
            self._looker.share_starts(group)
            self._group(group)
            self._looker.share_starts(group)
        self._link.drop()

    def _refused(self, what: str) -> None:
        self._scene.recorder.ok(_NAME, self._scene.recorder.now(), Refused(what))

    def _end_transactions(self) -> None:
        """Initialize each transactional id again, which aborts its open transaction and finishes a decided one."""
        for transactional_id in TRANSACTIONAL_IDS:
            deadline = time.monotonic() + self._patience_s
            while error := Transactor(self._link, transactional_id=transactional_id).init():
                if time.monotonic() > deadline:
                    self._refused(f"init of {transactional_id}: {error.name}")
                    break
                time.sleep(0.02)

    def _offsets(self, group: str) -> None:
        deadline = time.monotonic() + self._patience_s
        while not self._looker.offsets(group):
            if time.monotonic() > deadline:
                self._refused(f"the offsets of {group} stay unstable")
                return
            time.sleep(0.02)

    def _log(self, place: Place) -> None:
        reader = Reader(self._scene, self._link, self._scene.rng(_NAME), read_committed=not self._damaged)
        invoked = self._scene.recorder.now()
        start, end = reader.offset(place, EARLIEST), reader.offset(place, LATEST)
        if start is None or end is None:
            self._refused(f"{place} has no start or no end")
            return
        reader.positions[place], end = start, max(end, start + 1)
        records: list[Record] = []
        deadline = time.monotonic() + self._patience_s
        while (position := reader.positions.get(place, -1)) < end:
            got = self._read(reader, place)
            if got is None:
                if not self._damaged:
                    return
                reader.positions[place] = position + 1
                continue
            records += got.records
            start, end = max(start, got.start), got.end
            if got.records:
                deadline = time.monotonic() + self._patience_s
            elif time.monotonic() > deadline and reader.positions[place] < end:
                self._refused(f"{place}: stable up to {got.stable} of {end}, an open transaction hangs")
                return
        self._scene.recorder.ok(_NAME, invoked, Drained(place, start, end, tuple(records)))

    def _read(self, reader: Reader, place: Place) -> Read | None:
        """Return the next records; if they cannot be read, note that and return None."""
        try:
            got = reader.read(place, 1 << 20)
        except Unreadable as error:
            self._refused(str(error))
            return None
        if got is None:  # retention moved the start
            first = reader.offset(place, EARLIEST)
            reader.positions[place] = 0 if first is None else first
            got = Read([], reader.positions[place], reader.positions[place] + 1, 0)
        return got

    def _group(self, group: str) -> None:
        member = ShareMember(self._scene, f"{_NAME}-{group}", group)
        places = self._scene.places(*GROUP_TOPICS[group])
        member.heartbeat()
        quiet_since = looked_at = began = time.monotonic()
        need_s = 0.0 if self._settled else LOCK_MS / 1000 + 0.5
        empty, wait_ms = 0, 0 if self._settled else WAIT_MS
        while empty < ENOUGH or time.monotonic() - quiet_since < need_s:
            member.session.reset()  # so that the answer names each partition that was looked at
            deliveries = member.fetch(places, 500, wait_ms)
            missed = self._not_looked_at(member, places)
            acks = [Ack(one.place, one.offset, AckType.ACCEPT) for one in deliveries] + member.gaps()
            if acks:
                member.acknowledge(acks)
            if acks or missed:
                quiet_since, empty = time.monotonic(), 0
            else:
                empty += 1
            if not missed:
                looked_at = time.monotonic()
            elif time.monotonic() - looked_at > self._patience_s:
                self._refused(f"{group} is not handed what there may be: {missed}")
                break
            else:
                wait_ms = WAIT_MS
            if time.monotonic() - began > self._patience_s * 3:
                self._refused(f"{group} is handed records without an end")
                return
        member.leave()
        for place in places:
            self._scene.recorder.ok(_NAME, self._scene.recorder.now(), ShareDrained(group, place))

    def _not_looked_at(self, member: ShareMember, places: Sequence[Place]) -> dict[Place, str]:
        """Return the partitions that the last answer does not account for, each with the reason.

        A partition whose state is still being read is left out. If data may be lost, an error accounts for its
        partition.
        """
        errors = {place: member.rows.get(place) for place in places}
        return {
            place: "not in the answer" if error is None else error.name
            for place, error in errors.items()
            if error is None or (error and not self._damaged)
        }
