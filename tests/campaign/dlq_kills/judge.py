"""The judge of a group, its topic and its queue after all kills: every record accounted for, every letter correct."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.protocol.records.batch import Headers, Record
from tests.campaign.dlq_kills.ledger import Ledger
from tests.campaign.order_kills.judge import ACCEPT, REJECT, Place

_PREFIX: Final = "__dlq.errors."
_SIX: Final = tuple(_PREFIX + name for name in ("topic", "partition", "offset", "group", "delivery.count", "message"))
_KEPT: Final = (_PREFIX + "disposition", _PREFIX + "timestamp")
_REJECTED_BY: Final = _PREFIX + "rejected.by"
_REJECTED: Final = b"Offset rejected by client."
_EXCEEDED: Final = b"Offset delivery count exceeded the threshold."


class Group(NamedTuple):
    """A group and its configuration. With `has_trouble` its queue sometimes refuses letters."""

    name: str
    limit: int
    copies: bool
    keeps: bool
    committed: bool = False
    delay_ms: int = 0
    has_trouble: bool = False

    @property
    def may_lose(self) -> bool:
        return self.has_trouble and not self.keeps

    @property
    def queue(self) -> str:
        return f"dlq.{self.name}"

    @property
    def properties(self) -> dict[str, str]:
        given = {
            "share.auto.offset.reset": "earliest",
            "share.delivery.count.limit": str(self.limit),
            "share.isolation.level": "read_committed" if self.committed else "read_uncommitted",
            "errors.deadletterqueue.topic.name": self.queue,
            "errors.deadletterqueue.copy.record.enable": str(self.copies).lower(),
            "shareq.dlq.keep": str(self.keeps).lower(),
        }
        return given | ({"shareq.redelivery.backoff.ms": str(self.delay_ms)} if self.delay_ms else {})


class Source(NamedTuple):
    """The topic's records by place, those of aborted transactions, and the markers' places."""

    records: Mapping[Place, Record]
    aborted: Collection[Place]
    markers: Collection[Place]


class Judged(NamedTuple):
    seen: Counter[str]
    broken: list[str]


def judge(
    group: Group, topic: str, ledger: Ledger, source: Source, letters: Sequence[Record], starts_ms: list[int]
) -> Judged:
    """Return the verdict. `starts_ms`: when the broker was started, by the wall clock, ascending."""
    seen: Counter[str] = Counter()
    broken = [f"{group.name}: {line}" for line in ledger.broken]
    by_place: dict[Place, list[Record]] = defaultdict(list)
    for letter in letters:
        place = _place(letter)
        by_place[place].append(letter)
        problem = _problem(group, topic, ledger, source, place, letter)
        if problem:
            broken.append(f"{group.name}: the letter of {place} {problem}")
    for place, copies in by_place.items():
        seen["letters"] += len(copies)
        seen["letters twice"] += len(copies) - 1
        lives = [bisect_right(starts_ms, _made_ms(letter, group)) for letter in copies]
        if len(set(lives)) < len(lives):
            broken.append(f"{group.name}: {place} has {len(copies)} letters, of lives {lives} of the broker")
    for place in source.records:
        if group.committed and place in source.aborted:
            continue
        what = _end_of(ledger, place, place in by_place, group)
        seen[what.removeprefix("!")] += 1
        if what.startswith("!"):
            broken.append(f"{group.name}: {place} is {what[1:]}")
    return Judged(seen, broken)


def _end_of(ledger: Ledger, place: Place, has_letter: bool, group: Group) -> str:
    """Return the outcome of a finished record; with "!" if it is a fault."""
    if place in ledger.accepted:
        return "!accepted, and has a letter" if has_letter else "accepted"
    if has_letter:
        return "dead-lettered"
    if group.may_lose and (place in ledger.reject_sent or ledger.handed_out.get(place, 0) >= group.limit):
        return "dead, without a letter"
    if place in ledger.rejected:
        return "!rejected, and has no letter"
    if ledger.open.get(place) == ACCEPT:
        return "accepted, the answer was lost"
    if ledger.open.get(place) == REJECT:
        return "!lost: a rejection was sent, it has no letter and did not come again"
    return "!lost: neither accepted nor dead-lettered"


def _problem(group: Group, topic: str, ledger: Ledger, source: Source, place: Place, letter: Record) -> str:
    record = source.records.get(place)
    if record is None:
        return "" if place in source.markers else "is of no record"
    if group.committed and place in source.aborted:
        return "is of an aborted record"
    said = dict(letter.headers)
    if (said.get(_SIX[0]), said.get(_SIX[3])) != (topic.encode(), group.name.encode()):
        return f"says {said}"
    if said[_SIX[5]] == _REJECTED:
        if place not in ledger.reject_sent:
            return "says that it was rejected, which nobody did"
    elif said[_SIX[5]] != _EXCEEDED or said[_SIX[4]] != b"%d" % group.limit:
        return f"says {said}"
    content = (record.key, record.value) if group.copies else (None, None)
    if (letter.key, letter.value) != content:
        return f"has {letter.key!r}, {letter.value!r} in place of {content}"
    if group.keeps and letter.timestamp != record.timestamp:
        return f"is of {letter.timestamp}, the record of {record.timestamp}"
    return _headers_problem(group, record.headers, letter.headers)


def _headers_problem(group: Group, own: Headers, found: Headers) -> str:
    names = tuple(name for name, _ in found)
    front = own if group.keeps and group.copies else ()
    expected = (*(name for name, _ in front), *_SIX, *(_KEPT if group.keeps else ()))
    if found[: len(front)] != front or names not in (expected, (*expected, *([_REJECTED_BY] if group.keeps else []))):
        return f"has headers {names}"
    return ""


def _place(letter: Record) -> Place:
    said = dict(letter.headers)
    return int(said[_SIX[1]] or b""), int(said[_SIX[2]] or b"")


def _made_ms(letter: Record, group: Group) -> int:
    return int(dict(letter.headers)[_KEPT[1]] or b"") if group.keeps else letter.timestamp


class Redriven(NamedTuple):
    """One redrive as requested: letters `first` to `last` (inclusive) of one partition of a group's queue."""

    name: str
    queue: str
    partition: int
    first: int
    last: int
    to_group: bool
    answered: bool


def judge_redrive(
    redrive: Redriven, state: str, letters: Callable[[str, int], Sequence[Record]], records: Sequence[Record]
) -> list[str]:
    """Check that each letter was sent back once.

    `state`: as described at the end, "" for an unknown redrive; `letters` are those of a queue's partition, `records`
    all of the topic they are sent to.
    """
    found: Counter[int] = Counter()
    for record in records:
        said = dict(record.headers)
        if said.get("__redrive.name") == redrive.name.encode():
            found[int(said["__redrive.queue.offset"] or b"")] += 1
    if not state and not redrive.answered and not found:
        return []  # it did not begin
    if state != "DONE":
        return [f"{redrive.name} is {state or 'unknown'}"]
    wanted = {
        letter.offset: 1
        for letter in letters(redrive.queue, redrive.partition)
        if redrive.first <= letter.offset <= redrive.last
    }
    if found == wanted:
        return []
    lost = sorted(wanted.keys() - found.keys())
    again = sorted(offset for offset, times in found.items() if times > wanted.get(offset, 0))
    return [
        f"{redrive.name}: letters {lost} of {redrive.queue}-{redrive.partition} are lost, {again} went back too often"
    ]
