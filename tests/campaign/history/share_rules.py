"""The promises of share groups (KIP-932), over the history of their members.

* A record whose ACCEPT or REJECT was answered is never delivered again, unless offsets are altered.
* One owner at a time, until the lock times out, the owner answers or leaves, or the broker dies.
* Every record is delivered until it is terminal, while it is retained. Terminal: accepted, rejected, or delivered as
  often as it may be. A fetch without an answer may have used up one delivery of each record, while its broker lived.
* The delivery count grows from delivery to delivery, and stays within the limit. An answered RELEASE is durable.
* The start offset never moves back, unless offsets are altered.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, NamedTuple

from tests.campaign.history.anomalies import Analysis, Anomaly
from tests.campaign.history.index import Index
from tests.campaign.history.operations import (
    FINAL,
    Acknowledged,
    AckType,
    Acquired,
    Departed,
    Killed,
    Operation,
    Outcome,
    Place,
    Record,
    ShareDrained,
    ShareReset,
    ShareRules,
    ShareStart,
)

TICK_NS: Final = 1_000_000
DEFAULT_RULES = ShareRules(lock_ns=30_000_000_000, delivery_limit=5)


class _Hold(NamedTuple):
    one: Operation
    member: str
    times: int
    value: str | None


class _Answer(NamedTuple):
    one: Operation
    member: str
    type: AckType


@dataclass(slots=True)
class _Life:
    holds: list[_Hold] = field(default_factory=list)
    answers: list[_Answer] = field(default_factory=list)


class _CutOff(NamedTuple):
    """A fetch without an answer, which may have counted an unseen delivery, up to `latest`."""

    process: str
    invoked: int
    latest: float


Lives = dict[int, _Life]


@dataclass(slots=True)
class Shares:
    index: Index
    lives: dict[tuple[str, Place], Lives] = field(default_factory=dict)
    resets: dict[tuple[str, Place], list[Operation]] = field(default_factory=lambda: defaultdict(list))
    departures: dict[tuple[str, str], list[Operation]] = field(default_factory=lambda: defaultdict(list))
    starts: dict[tuple[str, Place], list[tuple[Operation, int]]] = field(default_factory=lambda: defaultdict(list))
    drained: set[tuple[str, Place]] = field(default_factory=set)
    kills: list[int] = field(default_factory=list)
    deaths: list[float] = field(default_factory=list)
    """The moment at which the broker was dead at the latest, for each kill."""
    cut_off: dict[str, list[_CutOff]] = field(default_factory=lambda: defaultdict(list))
    """The fetches that were cut off, by group."""

    @classmethod
    def of(cls, index: Index) -> Shares:
        shares = cls(index)
        for one in index.history.operations:
            shares._note(one)
        shares.kills.sort()
        shares.deaths.sort()
        for one in index.history.operations:
            if isinstance(one.value, Acquired) and one.outcome is Outcome.INFO:
                latest = shares._dead_after(one.invoked)
                shares.cut_off[one.value.group].append(_CutOff(one.process, one.invoked, latest))
        return shares

    def _dead_after(self, moment: int) -> float:
        """Return when the broker that received a request at this time was certainly dead; infinity without a kill."""
        at = bisect_left(self.deaths, moment)
        return self.deaths[at] if at < len(self.deaths) else float("inf")

    def rules(self, group: str) -> ShareRules:
        return self.index.history.rules.get(group, DEFAULT_RULES)

    def _life(self, group: str, place: Place, offset: int) -> _Life:
        return self.lives.setdefault((group, place), {}).setdefault(offset, _Life())

    def _note(self, one: Operation) -> None:
        value = one.value
        match value:
            case Acquired():
                for each in value.deliveries:
                    hold = _Hold(one, value.member, each.times, each.value)
                    self._life(value.group, each.place, each.offset).holds.append(hold)
            case Acknowledged() if one.outcome is not Outcome.FAIL:
                for ack in value.acks:
                    self._life(value.group, ack.place, ack.offset).answers.append(_Answer(one, value.member, ack.type))
            case ShareReset() if one.outcome is not Outcome.FAIL:
                self.resets[value.group, value.place].append(one)
            case ShareStart():
                self.starts[value.group, value.place].append((one, value.start))
            case ShareDrained():
                self.drained.add((value.group, value.place))
            case Departed():
                self.departures[value.group, value.member].append(one)
            case Killed():
                self.kills.append(one.invoked)
                self.deaths.append(one.end)
            case _:
                pass

    def killed_between(self, begin: float, end: float) -> bool:
        return bisect_left(self.kills, begin) < bisect_right(self.kills, end)

    def reset_between(self, group: str, place: Place, begin: float, end: float) -> bool:
        return any(one.invoked <= end and one.end >= begin for one in self.resets.get((group, place), ()))


def acknowledged_again(shares: Shares) -> Iterator[Anomaly]:
    for group, place, offset, life in _every(shares):
        for answer in life.answers:
            if answer.type in FINAL and answer.one.outcome is Outcome.OK:
                for hold in life.holds:
                    if _is_after(shares, answer, hold, life) and not shares.reset_between(
                        group, place, answer.one.invoked, hold.one.end
                    ):
                        text = (
                            f"{group}, {place} at {offset}: {answer.type.name} of {answer.member}, then {hold.member}"
                        )
                        yield Anomaly(Analysis.ACKNOWLEDGED_AGAIN, text)


def _is_after(shares: Shares, answer: _Answer, hold: _Hold, life: _Life) -> bool:
    """Return whether the delivery certainly follows the answer: requested later, or with a greater count."""
    if answer.one.is_before(hold.one):
        return True
    if hold.one.end < answer.one.end or shares.killed_between(hold.one.invoked, hold.one.end):
        return False
    own = [one.times for one in life.holds if one.member == answer.member and one.one.end <= answer.one.invoked]
    return bool(own) and hold.times > max(own) and hold.member != answer.member


def two_owners(shares: Shares) -> Iterator[Anomaly]:
    for group, place, offset, life in _every(shares):
        lock_ns = shares.rules(group).lock_ns
        for hold in life.holds:
            free = _free_at(shares, group, life, hold, lock_ns)
            for other in life.holds:
                if (
                    hold.one.end < other.one.invoked
                    and other.one.end < free
                    and not shares.reset_between(group, place, hold.one.invoked, other.one.end)
                ):
                    early_ms = (hold.one.invoked + lock_ns - other.one.end) / 1e6
                    text = (
                        f"{group}, {place} at {offset}: {other.member} while {hold.member} held it,"
                        f" {early_ms:.1f} ms before its lock can have run out"
                    )
                    yield Anomaly(Analysis.TWO_OWNERS, text)


def _free_at(shares: Shares, group: str, life: _Life, hold: _Hold, lock_ns: int) -> float:
    """Return until when the record certainly belonged to the member.

    Brokers round the time down to whole milliseconds, so a lock may end up to one millisecond early.
    """
    ends: list[float] = [hold.one.invoked + lock_ns - TICK_NS]
    ends += [
        answer.one.invoked
        for answer in life.answers
        if answer.member == hold.member and answer.one.end >= hold.one.invoked
    ]
    ends += [one.invoked for one in shares.departures.get((group, hold.member), ()) if one.end >= hold.one.invoked]
    next_kill = bisect_left(shares.kills, hold.one.invoked)
    ends += shares.kills[next_kill : next_kill + 1]
    return min(ends)


def undelivered(shares: Shares) -> Iterator[Anomaly]:
    """Check after a drain of the group that all records were accepted, rejected, or used up their deliveries."""
    for group, place in sorted(shares.drained):
        log = shares.index.logs.get(place)
        if log is None or log.drained is None:
            continue
        lives = shares.lives.get((group, place), {})
        start = max(_lowest_start(shares, group, place), log.floor)
        for record in log.drained[1].records:
            life = lives.get(record.offset or 0, _Life())
            if (record.offset or 0) >= start and not _is_finished(shares, group, record, life):
                yield Anomaly(Analysis.UNDELIVERED, _story_of(shares, group, record, life))


def _lowest_start(shares: Shares, group: str, place: Place) -> int:
    """Return from which offset the group must receive everything: an administrator may have skipped records."""
    starts = [one.value.start for one in shares.resets.get((group, place), ()) if isinstance(one.value, ShareReset)]
    return max((start for start in starts if start is not None), default=0)


def _is_finished(shares: Shares, group: str, record: Record, life: _Life) -> bool:
    if any(answer.type in FINAL for answer in life.answers):
        return True
    return _most_deliveries(shares, group, record, life) >= shares.rules(group).delivery_limit


def _most_deliveries(shares: Shares, group: str, record: Record, life: _Life) -> int:
    """Return the highest possible delivery count: the last one seen, plus one for each unseen delivery."""
    if not life.holds:
        return len(_unseen(shares, group, _written(shares, record)))
    return max(hold.times + len(_unseen(shares, group, hold.one.invoked)) for hold in _last_holds(life))


def _last_holds(life: _Life) -> list[_Hold]:
    """Return the holds that no other hold certainly followed: a kill may have undone the count of an earlier one."""
    return [hold for hold in life.holds if not any(hold.one.is_before(other.one) for other in life.holds)]


def _unseen(shares: Shares, group: str, after: float) -> list[_CutOff]:
    """Return the unanswered fetches that may have delivered a record after the moment, once each."""
    return [one for one in shares.cut_off.get(group, ()) if one.latest >= after]


def _written(shares: Shares, record: Record) -> int:
    writer = shares.index.writers.get(record.value)
    return 0 if writer is None else writer[0].invoked


def _story_of(shares: Shares, group: str, record: Record, life: _Life) -> str:
    last = max((hold.one.invoked for hold in life.holds), default=_written(shares, record))
    events = [(hold.one.invoked, f"{hold.member} got it x{hold.times}") for hold in life.holds]
    events += [
        (answer.one.invoked, f"{answer.member} said {answer.type.name} ({answer.one.outcome.value})")
        for answer in life.answers
    ]
    events += [(one.invoked, f"{one.process} was cut off") for one in _unseen(shares, group, last)]
    events += [(one, "kill") for one in shares.kills if one >= last]
    starts = [(one.invoked, f"start {start}") for one, start in shares.starts.get((group, record.place), ())]
    written = _written(shares, record)
    reported = "; ".join(f"{(at - written) / 1e6:+.1f} ms {what}" for at, what in sorted(events + starts[-2:]))
    most, limit = _most_deliveries(shares, group, record, life), shares.rules(group).delivery_limit
    return (
        f"{group}, {record.place} at {record.offset}: {record.value}; at most {most} of {limit} deliveries, "
        f"{len(shares.cut_off.get(group, ()))} fetches of the group cut off in all; "
        f"since it was written: {reported or '-'}"
    )


def delivery_counts(shares: Shares) -> Iterator[Anomaly]:
    for group, place, offset, life in _every(shares):
        limit = shares.rules(group).delivery_limit
        where = f"{group}, {place} at {offset}"
        for hold in life.holds:
            if not 1 <= hold.times <= limit:
                yield Anomaly(Analysis.DELIVERY_COUNT, f"{where}: {hold.times}, limit {limit}")
            least = _least_count(shares, group, place, life, hold)
            if hold.times < least:
                yield Anomaly(Analysis.DELIVERY_COUNT, f"{where}: {hold.times}, must be {least} at least")


def _least_count(shares: Shares, group: str, place: Place, life: _Life, hold: _Hold) -> int:
    """Return one more than the count of any delivery that certainly came before and still counts."""
    least = 1
    for before in life.holds:
        if before.one.end >= hold.one.invoked or shares.reset_between(group, place, before.one.invoked, hold.one.end):
            continue
        released = any(
            answer.type is AckType.RELEASE
            and answer.one.outcome is Outcome.OK
            and answer.member == before.member
            and before.one.end <= answer.one.invoked
            and answer.one.is_before(hold.one)
            for answer in life.answers
        )
        if released or not shares.killed_between(before.one.invoked, hold.one.end):
            least = max(least, before.times + 1)
    return least


def moved_share_starts(shares: Shares) -> Iterator[Anomaly]:
    for (group, place), seen in shares.starts.items():
        for (one, start), (later, later_start) in combinations(seen, 2):
            back = later_start < start and one.is_before(later)
            if back and not shares.reset_between(group, place, one.invoked, later.end):
                yield Anomaly(Analysis.SHARE_START_MOVED_BACK, f"{group}, {place}: {later_start} after {start}")


def wrong_records(shares: Shares) -> Iterator[Anomaly]:
    """Check that delivered records are the ones at their offsets, and were not deleted or aborted before."""
    for group, place, offset, life in _every(shares):
        known = shares.index.logs[place].order.get(offset)
        for hold in life.holds:
            if hold.value is None:
                continue
            writer = shares.index.writers.get(hold.value)
            if writer is None or hold.value != known:
                yield Anomaly(Analysis.WRONG_RECORD, f"{group}, {place} at {offset}: {hold.value}, known is {known}")
            elif any(one.is_before(hold.one) for one in shares.index.deleted.get(place.topic, ())):
                yield Anomaly(Analysis.DELETED_READ, f"{group}, {place} at {offset} of a deleted topic")
            elif any(one.is_before(hold.one) and offset < before for one, before in shares.index.trims.get(place, ())):
                yield Anomaly(Analysis.DELETED_READ, f"{group}, {place} at {offset}, deleted")


def _every(shares: Shares) -> Iterator[tuple[str, Place, int, _Life]]:
    for (group, place), lives in shares.lives.items():
        for offset, life in lives.items():
            yield group, place, offset, life


RULES = (
    acknowledged_again,
    two_owners,
    undelivered,
    delivery_counts,
    moved_share_starts,
    wrong_records,
)


def share_rules(index: Index) -> Iterator[Anomaly]:
    shares = Shares.of(index)
    for rule in RULES:
        yield from rule(shares)


__all__: Sequence[str] = ["RULES", "Shares", "share_rules"]
