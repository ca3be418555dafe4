"""A short correct history with every kind of operation, and functions that change one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.campaign.history.operations import (
    Ack,
    Acknowledged,
    AckType,
    Acquired,
    Bounds,
    Created,
    Deleted,
    Delivery,
    Departed,
    Drained,
    History,
    Killed,
    Operation,
    Outcome,
    Place,
    Record,
    Seek,
    ShareDrained,
    ShareReset,
    ShareRules,
    ShareStart,
    Transfer,
    Trim,
    Value,
)

SECOND = 1_000_000_000
LOGS, KEYED, SHORT, GONE = "logs", "keyed", "short", "gone"
A, B = Place(LOGS, 0), Place(LOGS, 1)
RULES = {"g": ShareRules(lock_ns=5 * SECOND, delivery_limit=3)}


@dataclass(slots=True)
class Story:
    """Successive operations that take a millisecond each, half a second apart."""

    operations: list[Operation] = field(default_factory=list)
    now: int = SECOND

    def add(self, process: str, value: Value, outcome: Outcome = Outcome.OK) -> Operation:
        began = self.now
        completed = None if outcome is Outcome.INFO else began + SECOND // 1000
        one = Operation(process, began, completed, outcome, value)
        self.operations.append(one)
        self.now += SECOND // 2
        return one

    def send(self, process: str, place: Place, *values: str, base: int, key: str | None = None) -> Operation:
        records = (Record(place, value, base + number, key) for number, value in enumerate(values))
        return self.add(process, Transfer(tuple(records)))

    def poll(self, process: str, *records: Record, read_committed: bool = True) -> Operation:
        return self.add(process, Transfer(reads=records, read_committed=read_committed))

    def deliver(self, member: str, place: Place, *handed: tuple[int, int, str]) -> Operation:
        deliveries = tuple(Delivery(place, offset, times, value) for offset, times, value in handed)
        return self.add(member, Acquired("g", member, deliveries))

    def answer(self, member: str, place: Place, offset: int, kind: AckType, outcome: Outcome = Outcome.OK) -> Operation:
        return self.add(member, Acknowledged("g", member, (Ack(place, offset, kind),)), outcome)

    def history(self) -> History:
        return History(self.operations, RULES)


def sound() -> Story:
    story = Story()
    for name in (LOGS, KEYED, SHORT, GONE):
        story.add("admin", Created(name, name, 2, compacted=name == KEYED, shrinks=name == SHORT))
        story.add("admin", Transfer(writes={f"topic {name}": name}))
    story.send("p", A, "a0", "a1", base=0)
    story.send("p", A, "a2", base=2)
    story.send("q", A, "a3", base=3)
    story.add("p", Transfer((Record(A, "a-cut"),)), Outcome.INFO)
    _transactions(story)
    _keys_and_deletions(story)
    story.poll("r", Record(A, "a0", 0), Record(A, "a1", 1))
    story.poll("r", Record(A, "a2", 2), Record(A, "a3", 3))
    story.add("r", Seek((A,)))
    story.poll("r", Record(A, "a1", 1))
    _shares(story)
    _registers(story)
    story.add("nemesis", Killed())
    _drain(story)
    return story


def _transactions(story: Story) -> None:
    committed = Transfer(
        (Record(A, "t0", 4), Record(B, "t1", 0)),
        (Record(A, "a3", 3),),
        {"offset job": "4"},
        transactional=True,
    )
    story.add("t", committed)
    aborted = Transfer((Record(B, "x0", 2),), writes={"offset job": "9"}, transactional=True)
    story.add("t", aborted, Outcome.FAIL)
    story.poll("peeker", Record(B, "t1", 0), Record(B, "x0", 2), read_committed=False)
    story.poll("r", Record(B, "t1", 0))


def _keys_and_deletions(story: Story) -> None:
    keyed, short, gone = Place(KEYED, 0), Place(SHORT, 0), Place(GONE, 0)
    story.send("k", keyed, "k0", base=0, key="x")
    story.send("k", keyed, "k1", base=1, key="y")
    story.send("k", keyed, "k2", base=2, key="x")
    story.send("s", short, "s0", "s1", "s2", base=0)
    story.add("r", Bounds(short, 1, 3))
    story.send("d", gone, "g0", base=0)
    story.add("admin", Deleted(GONE, GONE))
    story.add("admin", Transfer(writes={f"topic {GONE}": None}))
    story.send("c", B, "b0", "b1", base=4)
    story.add("admin", Trim(B, 4))
    story.add("r", Bounds(B, 4, 6))


def _shares(story: Story) -> None:
    story.deliver("m", A, (0, 1, "a0"), (1, 1, "a1"), (2, 1, "a2"))
    story.answer("m", A, 0, AckType.ACCEPT)
    story.answer("m", A, 1, AckType.RELEASE)
    story.answer("m", A, 2, AckType.REJECT)
    story.deliver("n", A, (1, 2, "a1"), (3, 1, "a3"))
    story.answer("n", A, 1, AckType.ACCEPT)
    story.add("n", Departed("g", "n"))
    story.deliver("m", A, (3, 2, "a3"))
    story.add("admin", ShareStart("g", A, 3))
    story.now += 6 * SECOND  # the lock of m on 3 ends
    story.deliver("n", A, (3, 3, "a3"), (4, 1, "t0"))
    story.answer("n", A, 4, AckType.ACCEPT)
    story.deliver("n", B, (4, 1, "b0"), (5, 1, "b1"))
    story.answer("n", B, 4, AckType.ACCEPT)
    story.answer("n", B, 5, AckType.ACCEPT)
    story.add("admin", ShareStart("g", B, 6))
    story.add("admin", ShareReset("g", B, 5))
    story.add("admin", ShareStart("g", B, 5))
    story.deliver("n", B, (5, 1, "b1"))
    story.answer("n", B, 5, AckType.ACCEPT)
    story.add("admin", ShareStart("g", A, 5))


def _registers(story: Story) -> None:
    story.add("admin", Transfer(writes={"offset simple": "7"}))
    story.add("admin", Transfer(observed={"offset simple": "7", "offset job": "4"}))
    story.add("admin", Transfer(writes={"offset simple": "8"}), Outcome.INFO)


def _drain(story: Story) -> None:
    story.add("drain", Transfer(observed={"offset simple": "7", "offset job": "4", f"topic {GONE}": None}))
    story.add("drain", Transfer(observed={f"topic {LOGS}": LOGS}))
    in_a = ("a0", "a1", "a2", "a3", "t0")
    story.add("drain", Drained(A, 0, 6, tuple(Record(A, value, at) for at, value in enumerate(in_a))))
    story.add("drain", Drained(B, 4, 6, (Record(B, "b0", 4), Record(B, "b1", 5))))
    keyed, short = Place(KEYED, 0), Place(SHORT, 0)
    story.add("drain", Drained(keyed, 0, 3, (Record(keyed, "k1", 1), Record(keyed, "k2", 2))))
    story.add("drain", Drained(short, 1, 3, (Record(short, "s1", 1), Record(short, "s2", 2))))
    for place in (A, B):
        story.add("drain", ShareDrained("g", place))


Change = Callable[[Operation], Operation]


def changed(history: History, match: Callable[[Operation], bool], change: Change) -> History:
    found = [number for number, one in enumerate(history.operations) if match(one)]
    assert len(found) == 1, f"{len(found)} operations match"
    operations = list(history.operations)
    operations[found[0]] = change(operations[found[0]])
    return replace(history, operations=operations)


def without_record(value: str) -> Callable[[History], History]:
    def change(one: Operation) -> Operation:
        assert isinstance(one.value, Drained)
        kept = tuple(record for record in one.value.records if record.value != value)
        return replace(one, value=replace(one.value, records=kept))

    return lambda history: changed(history, lambda one: drains(one, value), change)


def with_record(place: Place, record: Record) -> Callable[[History], History]:
    def change(one: Operation) -> Operation:
        assert isinstance(one.value, Drained)
        records = sorted([*one.value.records, record], key=lambda each: each.offset or 0)
        return replace(one, value=replace(one.value, records=tuple(records)))

    return lambda history: changed(
        history, lambda one: isinstance(one.value, Drained) and one.value.place == place, change
    )


def drains(one: Operation, value: str) -> bool:
    return isinstance(one.value, Drained) and any(record.value == value for record in one.value.records)


def followed_by(process: str, value: Value, *, outcome: Outcome = Outcome.OK) -> Callable[[History], History]:
    def grown(history: History) -> History:
        begin = history.operations[-1].invoked + SECOND
        completed = None if outcome is Outcome.INFO else begin + 1000
        return history.then([Operation(process, begin, completed, outcome, value)])

    return grown
