"""The checker of histories: no findings in a correct one, and each planted fault found by its analysis."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import tests.campaign.history
from tests.campaign.history.anomalies import Analysis
from tests.campaign.history.checker import Promise, check
from tests.campaign.history.cycles import knots
from tests.campaign.history.operations import (
    Ack,
    Acknowledged,
    AckType,
    Acquired,
    Bounds,
    Delivery,
    Drained,
    History,
    Operation,
    Outcome,
    Place,
    Record,
    Refused,
    ShareStart,
    Transfer,
)
from tests.unit.campaign.history.story import (
    GONE,
    KEYED,
    LOGS,
    SECOND,
    A,
    B,
    Story,
    changed,
    followed_by,
    sound,
    with_record,
    without_record,
)

Fault = Callable[[History], History]


def first_send_of(value: str) -> Callable[[Operation], bool]:
    return lambda one: isinstance(one.value, Transfer) and bool(one.value.sends) and one.value.sends[0].value == value


def sent_at(value: str, *offsets: int) -> Fault:
    def change(one: Operation) -> Operation:
        assert isinstance(one.value, Transfer)
        moved = zip(one.value.sends, offsets, strict=True)
        sends = tuple(record._replace(offset=offset) for record, offset in moved)
        return replace(one, value=replace(one.value, sends=sends))

    return lambda history: changed(history, first_send_of(value), change)


def reading(
    *records: Record, process: str = "r2", transactional: bool = False, sends: tuple[Record, ...] = ()
) -> Fault:
    return followed_by(process, Transfer(sends, records, transactional=transactional))


def two_polls(*offsets: tuple[int, str]) -> Fault:
    def grown(history: History) -> History:
        for offset, value in offsets:
            history = reading(Record(A, value, offset))(history)
        return history

    return grown


def deliveries(member: str, place: Place, *handed: tuple[int, int, str]) -> Fault:
    made = tuple(Delivery(place, offset, times, value) for offset, times, value in handed)
    return followed_by(member, Acquired("g", member, made))


def without_answers(history: History) -> History:
    kept = [
        one
        for one in history.operations
        if not (isinstance(one.value, Acknowledged) and one.process == "n" and one.value.acks[0].offset == 1)
    ]
    return replace(history, operations=kept)


def two_owners(history: History) -> History:
    begin = history.operations[-1].invoked + SECOND
    first = Operation("m", begin, begin + 10, Outcome.OK, Acquired("g", "m", (Delivery(A, 3, 3, "a3"),)))
    second = Operation("n", begin + 20, begin + 30, Outcome.OK, Acquired("g", "n", (Delivery(A, 3, 4, "a3"),)))
    rules = {"g": replace(history.rules["g"], delivery_limit=9)}
    return replace(history.then([first, second]), rules=rules)


def released_count_lost(history: History) -> History:
    def change(one: Operation) -> Operation:
        assert isinstance(one.value, Acquired)
        first, *rest = one.value.deliveries
        return replace(one, value=replace(one.value, deliveries=(first._replace(times=1), *rest)))

    return changed(history, lambda one: _hands_out(one, "n", 1), change)


def _hands_out(one: Operation, member: str, offset: int) -> bool:
    return isinstance(one.value, Acquired) and one.process == member and one.value.deliveries[0].offset == offset


def over_before_written(history: History) -> History:
    """Read a2 and return it before any process asks to write it."""
    writer = next(one for one in history.operations if first_send_of("a2")(one))
    read = Transfer(reads=(Record(A, "a2", 2),))
    early = Operation("early", writer.invoked - 100, writer.invoked - 50, Outcome.OK, read)
    return history.then([early])


def halved(history: History) -> History:
    """Lose one part of a committed transaction, with no trimmed records to excuse it."""
    extra = Story(now=history.operations[-1].invoked + SECOND)
    sends = (Record(A, "h0", 6), Record(Place(LOGS, 2), "h1", 0))
    extra.add("t", Transfer(sends, transactional=True), Outcome.INFO)
    extra.add("drain", Drained(Place(LOGS, 2), 0, 1, ()))
    grown = history.then(extra.operations)
    return with_record(A, Record(A, "h0", 6))(grown)


def overtaken(history: History) -> History:
    """Let two processes write to a log without readers, with the later write at the lower offset."""
    place = Place(LOGS, 3)
    for process, value, offset in (("p", "w0", 1), ("q", "w1", 0)):
        history = followed_by(process, Transfer((Record(place, value, offset),)))(history)
    return history


PLANTED: list[tuple[str, Analysis, Fault]] = [
    ("an answered record is gone", Analysis.LOST_WRITE, without_record("a2")),
    ("a record that a reader saw committed is gone", Analysis.LOST_WRITE, without_record("t0")),
    ("the end of a log is gone", Analysis.LOST_WRITE, without_record("b1")),
    ("the newest record of a key was compacted away", Analysis.LOST_WRITE, without_record("k2")),
    ("retention removed more than from the start", Analysis.LOST_WRITE, without_record("s2")),
    (
        "nobody got as far as an answered record",
        Analysis.UNSEEN,
        followed_by("p", Transfer((Record(Place(LOGS, 3), "u", 0),))),
    ),
    ("a record is there twice", Analysis.DUPLICATE, with_record(A, Record(A, "a2", 5))),
    ("another record stands at an offset", Analysis.INCONSISTENT_OFFSETS, reading(Record(A, "a3", 2))),
    ("an offset was given away twice", Analysis.INCONSISTENT_OFFSETS, sent_at("a3", 2)),
    ("an aborted record is read", Analysis.ABORTED_READ, reading(Record(B, "x0", 2))),
    ("half a transaction is there", Analysis.INTERMEDIATE_READ, halved),
    (
        "a transaction reads what it writes",
        Analysis.PRECOMMITTED_READ,
        reading(Record(A, "own", 6), transactional=True, sends=(Record(A, "own", 6),)),
    ),
    ("bytes that nobody sent are read", Analysis.GARBAGE, with_record(A, Record(A, "\ufffd", 5))),
    ("a record turns up in another partition", Analysis.GARBAGE, with_record(B, Record(B, "a2", 5))),
    ("one answer leaves a record out", Analysis.INT_POLL_SKIP, reading(Record(A, "a0", 0), Record(A, "a2", 2))),
    ("one answer goes back", Analysis.INT_NONMONOTONIC_POLL, reading(Record(A, "a2", 2), Record(A, "a1", 1))),
    ("the next answer leaves a record out", Analysis.POLL_SKIP, two_polls((0, "a0"), (2, "a2"))),
    ("the next answer goes back", Analysis.NONMONOTONIC_POLL, two_polls((2, "a2"), (1, "a1"))),
    ("a later send stands before an earlier one", Analysis.NONMONOTONIC_SEND, sent_at("a2", 0)),
    ("a batch is stored in another order", Analysis.INT_NONMONOTONIC_SEND, sent_at("b0", 5, 4)),
    ("a write overtakes one that was answered before", Analysis.WRITE_CYCLE, overtaken),
    ("a record is read before it was written", Analysis.INFORMATION_CYCLE, over_before_written),
    ("a deleted topic is back", Analysis.DELETED_READ, reading(Record(Place(GONE, 0), "g0", 0))),
    ("deleted records are back", Analysis.DELETED_READ, reading(Record(B, "t1", 0))),
    (
        "a log starts where it did before records were deleted",
        Analysis.START_MOVED_BACK,
        followed_by("r", Bounds(B, 0, 6)),
    ),
    ("a committed offset is gone", Analysis.LOST_UPDATE, followed_by("r", Transfer(observed={"offset simple": None}))),
    (
        "an older committed offset is back",
        Analysis.LOST_UPDATE,
        followed_by("r", Transfer(observed={"offset job": "9"})),
    ),
    ("a topic is gone", Analysis.LOST_UPDATE, followed_by("r", Transfer(observed={f"topic {KEYED}": None}))),
    (
        "a producer is refused for lost state",
        Analysis.REFUSED,
        followed_by("p", Refused("OUT_OF_ORDER_SEQUENCE_NUMBER")),
    ),
    ("an accepted record is delivered again", Analysis.ACKNOWLEDGED_AGAIN, deliveries("m", A, (0, 2, "a0"))),
    ("a rejected record is delivered again", Analysis.ACKNOWLEDGED_AGAIN, deliveries("n", A, (2, 2, "a2"))),
    ("two members own a record", Analysis.TWO_OWNERS, two_owners),
    ("a record is passed over without an answer", Analysis.UNDELIVERED, without_answers),
    ("a record is delivered too often", Analysis.DELIVERY_COUNT, deliveries("m", A, (3, 4, "a3"))),
    ("a released delivery is not counted", Analysis.DELIVERY_COUNT, released_count_lost),
    ("a group starts where it had been", Analysis.SHARE_START_MOVED_BACK, followed_by("r", ShareStart("g", A, 3))),
    ("a group is handed another record", Analysis.WRONG_RECORD, deliveries("m", A, (5, 1, "a9"))),
]


def found(history: History) -> set[Analysis]:
    return {one.analysis for one in check(history)}


def test_a_sound_history_has_no_anomalies() -> None:
    assert check(sound().history()) == []


def test_there_are_at_least_25_planted_faults_and_every_analysis_finds_one() -> None:
    assert len(PLANTED) >= 25
    assert {analysis for _, analysis, _ in PLANTED} == set(Analysis)


@pytest.mark.parametrize(("analysis", "fault"), [pytest.param(a, f, id=name) for name, a, f in PLANTED])
def test_a_planted_fault_is_found_by_its_analysis(analysis: Analysis, fault: Fault) -> None:
    assert analysis in found(fault(sound().history()))


def test_what_is_unknown_is_no_anomaly() -> None:
    """An interrupted send or commit may have taken effect."""
    history = with_record(A, Record(A, "a-cut", 5))(sound().history())
    history = deliveries("m", A, (5, 1, "a-cut"))(history)
    accepted = Acknowledged("g", "m", (Ack(A, 5, AckType.ACCEPT),))
    history = followed_by("m", accepted)(history)
    assert check(followed_by("r", Transfer(observed={"offset simple": "8"}))(history)) == []


def test_a_history_that_is_cut_knows_less() -> None:
    """Operations in flight at the cut are unknown: an accepted record without an answer may be delivered again."""
    story = Story()
    story.send("p", A, "a0", base=0)
    story.deliver("m", A, (0, 1, "a0"))
    accepted = story.answer("m", A, 0, AckType.ACCEPT)
    again = deliveries("n", A, (0, 1, "a0"))
    assert accepted.completed is not None
    assert Analysis.ACKNOWLEDGED_AGAIN not in found(again(story.history().until(accepted.completed - 1)))
    assert Analysis.ACKNOWLEDGED_AGAIN in found(again(story.history().until(accepted.completed)))


def test_an_acceptance_that_was_cut_off_is_unknown() -> None:
    story = Story()
    story.send("p", A, "a0", base=0)
    story.deliver("m", A, (0, 1, "a0"))
    story.add("m", Acknowledged("g", "m", (Ack(A, 0, AckType.ACCEPT),)), Outcome.INFO)
    story.now += 10 * SECOND
    story.deliver("n", A, (0, 2, "a0"))
    assert found(story.history()) == {Analysis.UNSEEN}, "nobody has read the log, that is all"


@pytest.mark.parametrize(("early_ms", "owners"), [(0.5, False), (1.5, True)])
def test_a_lock_may_end_within_the_millisecond_before_its_time_and_no_sooner(early_ms: float, owners: bool) -> None:
    """Brokers count in whole milliseconds, and expire all locks of one millisecond together."""
    history = sound().history()
    lock_ns = history.rules["g"].lock_ns
    begin = history.operations[-1].invoked + SECOND
    again = begin + lock_ns - int(early_ms * 1e6)
    first = Operation("m", begin, begin + 10, Outcome.OK, Acquired("g", "m", (Delivery(A, 3, 3, "a3"),)))
    second = Operation("n", again - 10, again, Outcome.OK, Acquired("g", "n", (Delivery(A, 3, 4, "a3"),)))
    rules = {"g": replace(history.rules["g"], delivery_limit=9)}
    assert (Analysis.TWO_OWNERS in found(replace(history.then([first, second]), rules=rules))) is owners


def test_a_promise_of_less_forgives_loss_but_not_nonsense() -> None:
    """Default settings allow loss, except of synced records and of topics, but never invented records."""
    lost = without_record("a2")(sound().history())
    assert check(lost, Promise(frozenset(), ("topic ",))) == []
    assert check(lost, Promise({"a2"}, ("topic ",)))
    offsets = followed_by("r", Transfer(observed={"offset simple": None}))(sound().history())
    assert check(offsets, Promise(frozenset(), ("topic ",))) == []
    topics = followed_by("r", Transfer(observed={f"topic {KEYED}": None}))(sound().history())
    assert check(topics, Promise(frozenset(), ("topic ",)))
    assert check(with_record(A, Record(A, "?", 5))(sound().history()), Promise(frozenset(), ()))


def test_knots_are_found_in_a_graph_and_none_in_a_tree() -> None:
    assert [sorted(knot) for knot in knots({0: [1], 1: [2], 2: [0], 3: [0]}, 4)] == [[0, 1, 2]]
    assert list(knots({0: [1, 2], 1: [3], 2: [3]}, 4)) == []
    assert [sorted(knot) for knot in knots({0: [7], 7: [1], 1: [0]}, 4)] == [[0, 1]], "moments in between do not count"


def test_the_checker_imports_nothing_of_the_broker() -> None:
    for path in Path(next(iter(tests.campaign.history.__path__))).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not [name for name in names if name.startswith("shareq")], path
