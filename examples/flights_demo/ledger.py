"""Joins the journals of all consumers, to find what happened to each flight.

Times of different processes compare, because all take them from the machine's one monotonic clock.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import AcknowledgeType

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers of the closing table. Acks are counted per record."""

    delivered: int
    redelivered: int
    released: int
    accepted: int
    rejected: int
    unknown: int
    unknown_back: int
    again_after_confirmed: int
    lost: int


@dataclass(slots=True)
class _Reader:
    """The reader of one consumer's journal, with unsettled records: (partition, offset) -> (row, verdict)."""

    path: Path
    position: int = 0
    open_acks: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)


class Ledger:
    """The joined journals, owned by the parent process. `read()` adds what consumers have written since."""

    def __init__(self, journals: list[Path], rows: int) -> None:
        self.rows = rows
        self.deliveries: list[tuple[int, int]] = []  # (row, time)
        self.settled = 0  # rows whose accept or reject is confirmed, or was sent and cut off
        self.confirmed = 0
        self.last_event_ns = 0
        self.first_event_ns = 0
        self._readers = [_Reader(path) for path in journals]
        self._confirmed_at = [0] * rows  # of the accept or reject; 0: not confirmed
        self._settled = bytearray(rows)
        self._acks: dict[int, int] = {ACCEPT: 0, RELEASE: 0, REJECT: 0}
        self._unknown: list[tuple[int, int]] = []  # (row, time of its delivery's failed ack)

    def read(self) -> None:
        """Take in every complete line written since the last call."""
        for reader in self._readers:
            if not reader.path.exists():
                continue
            with reader.path.open("rb") as journal:
                journal.seek(reader.position)
                grown = journal.read()
            complete = grown[: grown.rfind(b"\n") + 1]
            reader.position += len(complete)
            for line in complete.splitlines():
                self._take(reader, json.loads(line))

    def confirmations(self) -> list[int]:
        """Return when rows were confirmed as accepted or rejected, ascending, each once."""
        return sorted(when for when in self._confirmed_at if when)

    def totals(self) -> Totals:
        """Call when the consumers have ended: an ack that was never answered then counts as unknown."""
        for reader in self._readers:
            for row, verdict in reader.open_acks.values():
                self._cut_off(row, verdict, self.last_event_ns)
            reader.open_acks.clear()
        last_delivery = [0] * self.rows
        again = 0
        for row, when in self.deliveries:
            again += 0 < self._confirmed_at[row] < when
            last_delivery[row] = max(last_delivery[row], when)
        distinct = sum(1 for when in last_delivery if when)
        return Totals(
            delivered=len(self.deliveries),
            redelivered=len(self.deliveries) - distinct,
            released=self._acks[RELEASE],
            accepted=self._acks[ACCEPT],
            rejected=self._acks[REJECT],
            unknown=len(self._unknown),
            unknown_back=sum(1 for row, when in self._unknown if last_delivery[row] > when),
            again_after_confirmed=again,
            lost=self.rows - self.settled,
        )

    def _take(self, reader: _Reader, entry: dict[str, Any]) -> None:
        when: int = entry["t"]
        self.first_event_ns = self.first_event_ns or when
        self.last_event_ns = max(self.last_event_ns, when)
        for partition, offset, row, _, verdict in entry.get("got", ()):
            self.deliveries.append((row, when))
            reader.open_acks[partition, offset] = (row, verdict)
        for partition, ranges in entry.get("acked", {}).items():
            for first, last in ranges:
                for offset in range(first, last + 1):
                    self._answered(reader.open_acks.pop((int(partition), offset), None), entry["error"], when)

    def _answered(self, ack: tuple[int, int] | None, error: str | None, when: int) -> None:
        if ack is None:  # a gap that the client acknowledged by itself
            return
        row, verdict = ack
        if error is not None:
            self._cut_off(row, verdict, when)
            return
        self._acks[verdict] += 1
        if verdict != RELEASE:
            self.confirmed += 1
            self._confirmed_at[row] = self._confirmed_at[row] or when
            self._settle(row)

    def _cut_off(self, row: int, verdict: int, when: int) -> None:
        self._unknown.append((row, when))
        if verdict != RELEASE:
            self._settle(row)

    def _settle(self, row: int) -> None:
        self.settled += not self._settled[row]
        self._settled[row] = 1
