"""Acknowledgements that wait to be sent, and the batches that they make in a request. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from shareq.client.aio.consumer.records import RELEASE, RENEW, ShareRecord
from shareq.client.errors import ClientError
from shareq.client.share.session import TopicIdPartition
from shareq.protocol import ack_delays
from shareq.protocol.ack_reasons import tags_of
from shareq.protocol.generated.share_acknowledge import AcknowledgementBatch
from shareq.protocol.primitives import Tags
from shareq.protocol.share import AcknowledgeType

Answered: TypeAlias = "Callable[[Waiting, ClientError | None], None]"
"""A callback, called once: with None when the broker has stored the acknowledgement, else with the error."""


@dataclass(slots=True, eq=False)
class Waiting:
    """Offsets to acknowledge alike, both ends included, in one queue.

    `records`: one for each offset, or empty for offsets without records; `reason` is "" if none was given.
    """

    first: int
    last: int
    kind: AcknowledgeType
    records: list[ShareRecord] = field(default_factory=list)
    answered: tuple[Answered, ...] = ()
    reason: str = ""

    def answer(self, error: ClientError | None) -> None:
        """Call back everyone who waits for the answer."""
        for each in self.answered:
            each(self, error)

    def goes_on(self, first: int, kind: AcknowledgeType, answered: tuple[Answered, ...], reason: str) -> bool:
        """Return True if records from `first` on, of the same partition, can be joined to this acknowledgement."""
        if first != self.last + 1 or kind is not self.kind or kind is RENEW or not self.records:
            return False
        return answered is self.answered and reason == self.reason

    def part(self, start: int, end: int) -> Waiting:
        """Return the part for the records `start` to `end`, exclusive."""
        return replace(self, first=self.first + start, last=self.first + end - 1, records=self.records[start:end])


Portion = dict[TopicIdPartition, list[Waiting]]
"""Acknowledgements of one request; ascending in each partition."""


def batches_of(portion: Portion) -> dict[TopicIdPartition, list[AcknowledgementBatch]]:
    """Return the acknowledgements as a request has them: neighbours that are acknowledged alike are one batch."""
    found: dict[TopicIdPartition, list[AcknowledgementBatch]] = {}
    for tp, waiting in portion.items():
        batches = found[tp] = []
        for one in waiting:
            last = batches[-1] if batches else None
            if last is not None and last.last_offset + 1 == one.first and last.acknowledge_types == [int(one.kind)]:
                last.last_offset = one.last
            else:
                batches.append(AcknowledgementBatch(one.first, one.last, [int(one.kind)]))
    return found


def delays_of(portion: Portion) -> Portion:
    """Return the acknowledgements that release records with a delay."""
    found = {
        tp: [one for one in waiting if one.kind is RELEASE and any(each.later_ms for each in one.records)]
        for tp, waiting in portion.items()
    }
    return {tp: waiting for tp, waiting in found.items() if waiting}


def delay_tags(delayed: Portion) -> dict[TopicIdPartition, Tags]:
    """Return the tags with the times of the next delivery of these records."""
    return {tp: ack_delays.tags_of(_laters(waiting)) for tp, waiting in delayed.items()}


def _laters(waiting: Iterable[Waiting]) -> list[ack_delays.Later]:
    found: list[ack_delays.Later] = []
    for record in (each for one in waiting for each in one.records if each.later_ms):
        first = record.offset
        if found and found[-1][1:] == (first - 1, record.later_ms):
            first = found.pop().first_offset
        found.append(ack_delays.Later(first, record.offset, record.later_ms))
    return found


def reasons_of(portion: Portion) -> dict[TopicIdPartition, Tags]:
    """Return the tags with the reasons for releases and rejections, for the partitions that have any."""
    reasons = {
        tp: {one.first + at: one.reason for one in waiting if one.reason for at in range(len(one.records) or 1)}
        for tp, waiting in portion.items()
    }
    return {tp: tags_of(of_partition) for tp, of_partition in reasons.items() if of_partition}


def last_of_each(waiting: list[Waiting]) -> list[Waiting]:
    """Return one acknowledgement for each record, ascending: the last that ends its lock, or else the last one.

    It also answers the callers of the others.
    """
    renewed = {record for one in waiting if one.kind is RENEW for record in one.records}
    if renewed:
        waiting = [part for one in waiting for part in apart(one, renewed)]
    chosen: dict[int, Waiting] = {}
    for one in waiting:
        known = chosen.get(one.first)
        if known is not None:
            stands = known if one.kind is RENEW and known.kind is not RENEW else one
            one = replace(stands, answered=known.answered + one.answered)
        chosen[one.first] = one
    return [chosen[first] for first in sorted(chosen)]


def apart(one: Waiting, single: set[ShareRecord]) -> list[Waiting]:
    """Split an acknowledgement so that each record of `single` has a part of its own."""
    if len(one.records) < 2 or single.isdisjoint(one.records):
        return [one]
    parts: list[Waiting] = []
    begun = 0
    for at, record in enumerate(one.records):
        if record in single:
            parts += [one.part(begun, at), one.part(at, at + 1)]
            begun = at + 1
    parts.append(one.part(begun, len(one.records)))
    return [part for part in parts if part.records]
