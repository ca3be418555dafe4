"""Rounds of a redrive: their contents, the work of one turn, and their calls of the ports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

from shareq.broker.redrive.ports import RedriveLog, RedriveWorld
from shareq.broker.redrive.progress import PartitionProgress, What
from shareq.broker.redrive.rounds import MOST_BYTES, MOST_LOOKED_AT, MOST_PLACES, Round, RoundMaker
from shareq.broker.redrive.spec import LetterFilter, Owner, RedriveSpec, Target
from shareq.broker.security.rights import READ_TOPIC, WRITE_TOPIC, Right
from shareq.broker.share.dlq.letters import letter_bytes
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.fakes.letter_logs import FakeLog, batch_at, log_of
from tests.support.worlds.redrives import kept, letter

OWNER = Owner("User:a", "127.0.0.1")
SPEC = RedriveSpec("again", "dlq.t", Target.TOPIC, 100, OWNER)


class Topics:
    """Logs by topic, with one partition each; `wide` has four. `asked`: the permissions that were checked."""

    def __init__(self, logs: Mapping[str, FakeLog], refused: Collection[tuple[Right, str]] = ()) -> None:
        self.logs = logs
        self.refused = refused
        self.asked: list[tuple[Right, str]] = []

    def partitions(self, topic: str) -> int | None:
        return {"wide": 4}.get(topic, 1) if topic in self.logs else None

    def log(self, topic: str, partition: int) -> RedriveLog | ErrorCode:
        log = self.logs.get(topic)
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if log is None else log_of(log)

    def may(self, owner: Owner, right: Right, name: str) -> bool:
        assert owner == OWNER
        self.asked.append((right, name))
        return (right, name) not in self.refused


def topics_with(
    *letters: RecordData, refused: Collection[tuple[Right, str]] = (), dead: FakeLog | None = None
) -> Topics:
    """Return the queue with these letters in one batch, and the topics `t`, `u`, `wide` and `redrive.g`."""
    empty = FakeLog()
    logs = {"dlq.t": FakeLog(batch_at(0, *letters)), "t": dead or empty, "u": empty, "wide": empty, "redrive.g": empty}
    return Topics(logs, refused)


def maker_of(topics: Topics, spec: RedriveSpec = SPEC) -> RoundMaker:
    return RoundMaker(spec, cast(RedriveWorld, topics))


def made_of(maker: RoundMaker, end: int, first: int = 0, sent: Collection[int] = (), most: int = 100) -> Round:
    for _ in range(50):
        made = maker.next_round(PartitionProgress(0, first, end), sent, most, 5_000)
        if made is not None:
            assert isinstance(made, Round), made
            return made
    raise AssertionError("no round")


def turns_of(maker: RoundMaker, end: int) -> int:
    """Return the number of turns of the next round; the first one reads a page."""
    for turn in range(1, 50):
        if maker.next_round(PartitionProgress(0, 0, end), (), 1_000, 5_000) is not None:
            return turn
    raise AssertionError("no round")


def test_a_round_has_room_for_so_many_bytes() -> None:
    data = RecordData(b"k", b"")
    fits = RecordData(b"k", bytes(MOST_BYTES - 2 * letter_bytes(data)))
    made = Round(3)
    assert made.add(3, (("t", 0), data))
    assert made.add(4, (("t", 0), fits))
    assert not made.add(5, (("t", 0), RecordData(None, None)))
    assert (made.upto, made.records, made.counts) == (5, 2, {What.REDRIVEN: 2})
    assert made.batches == {("t", 0): [data, fits]}


def test_one_letter_goes_however_large_it_is() -> None:
    made = Round(0)
    assert made.add(0, (("t", 0), RecordData(b"k", bytes(MOST_BYTES + 1))))
    assert not made.add(1, (("t", 0), RecordData(None, None)))
    assert made.add(1, What.FILTERED), "what stays needs no room"
    assert (made.upto, made.records, made.counts) == (2, 1, {What.REDRIVEN: 1, What.FILTERED: 1})


def test_a_round_names_so_many_logs() -> None:
    data = RecordData(b"k", b"")
    made, half = Round(0), "t" * (MOST_PLACES // 2 - 32)
    assert made.add(0, ((half, 0), data))
    assert made.add(1, ((half, 1), data))
    assert made.add(2, ((half, 0), data))
    assert not made.add(3, (("", 0), data))
    assert list(made.batches) == [(half, 0), (half, 1)]


def test_a_round_is_of_so_many_letters_and_the_next_one_goes_on_behind_them() -> None:
    letters = [letter(b"%d" % at, at, group=group) for at, group in enumerate("ghgghg")]
    maker = maker_of(topics_with(*letters), SPEC._replace(letters=LetterFilter("g")))
    first = made_of(maker, 9, most=2)
    assert (first.upto, first.records, first.counts) == (3, 2, {What.REDRIVEN: 2, What.FILTERED: 1})
    second = made_of(maker, 9, first=3)
    assert [data.value for data in second.batches["t", 0]] == [b"3", b"5"]
    assert (second.upto, second.counts) == (6, {What.REDRIVEN: 2, What.FILTERED: 1})


def test_what_is_no_record_counts_when_the_page_is_done() -> None:
    """The round waits for the end of the page: records in a transaction of others may have been aborted."""
    others = build_batch([RecordData(b"k", b"v")] * 2, timestamp_ms=1, base_offset=2, transactional=True)
    queue = FakeLog(batch_at(0, letter(b"a", 0), letter(b"b", 1)), bytes(others))
    maker = maker_of(Topics({"t": FakeLog(), "dlq.t": queue}))
    assert made_of(maker, 4, most=1).counts == {What.REDRIVEN: 1}
    last = made_of(maker, 4, first=1)
    assert (last.upto, last.counts) == (4, {What.REDRIVEN: 1, What.NOT_A_LETTER: 2})


def test_what_was_sent_back_before_a_crash_counts_and_does_not_go_again() -> None:
    made = made_of(maker_of(topics_with(letter(b"a", 7), letter(b"b", 8))), 2, sent={0})
    assert [data.value for data in made.batches["t", 0]] == [b"b"]
    assert made.counts == {What.REDRIVEN: 2}


def test_a_turn_looks_at_so_many_letters() -> None:
    letters = [letter(b"", at, group="h") for at in range(2 * MOST_LOOKED_AT + 1)]
    spec = SPEC._replace(letters=LetterFilter("g"))
    for count, turns in ((MOST_LOOKED_AT, 2), (MOST_LOOKED_AT + 1, 3), (2 * MOST_LOOKED_AT + 1, 4)):
        assert turns_of(maker_of(topics_with(*letters[:count]), spec), count) == turns


def test_a_turn_opens_so_many_batches_of_dead_records() -> None:
    dead = FakeLog(*(batch_at(at, RecordData(b"k", b"%d" % at)) for at in range(5)))
    letters = [letter(b"%d" % at, at) for at in range(5)]
    for count, turns in ((2, 2), (3, 3), (5, 4)):
        assert turns_of(maker_of(topics_with(*letters[:count], dead=dead)), count) == turns
    assert dead.reads == 10


def test_a_round_that_waits_for_its_next_turn_keeps_what_it_has() -> None:
    dead = FakeLog(*(batch_at(at, RecordData(None, b"%d" % at)) for at in range(3)))
    made = made_of(maker_of(topics_with(*(letter(None, at, key=None) for at in range(3)), dead=dead)), 3)
    assert [data.value for data in made.batches["t", 0]] == [b"0", b"1", b"2"]
    assert made.upto == 3


def test_what_is_forgotten_is_read_again() -> None:
    topics = topics_with(letter(b"a", 7), letter(b"b", 8))
    maker = maker_of(topics)
    assert made_of(maker, 2, most=1).upto == 1
    maker.forget()
    assert made_of(maker, 2, first=0).records == 2
    assert topics.logs["dlq.t"].reads == 2


def test_another_partition_has_pages_of_its_own() -> None:
    maker = maker_of(topics_with(letter(b"a", 7), letter(b"b", 8)))
    assert made_of(maker, 2, most=1).records == 1
    assert maker.next_round(PartitionProgress(1, 0, 2), (), 100, 5_000) is None, "it is read first"
    made = maker.next_round(PartitionProgress(1, 0, 2), (), 100, 5_000)
    assert isinstance(made, Round)
    assert dict(made.batches["t", 0][0].headers)["__redrive.queue.partition"] == b"1"
    assert made.records == 2


def test_a_queue_that_is_gone_or_cannot_be_read_is_an_error() -> None:
    topics = topics_with(letter(b"a", 7))
    topics.logs["dlq.t"].error = ErrorCode.KAFKA_STORAGE_ERROR
    assert maker_of(topics).next_round(PartitionProgress(0, 0, 1), (), 9, 0) is ErrorCode.KAFKA_STORAGE_ERROR
    gone = maker_of(Topics({})).next_round(PartitionProgress(0, 0, 1), (), 9, 0)
    assert gone is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_letters_go_to_the_partition_they_are_from_as_far_as_there_are_so_many() -> None:
    made = made_of(maker_of(topics_with(letter(b"a", 7, topic="wide", partition=6), letter(b"b", 8, partition=6))), 2)
    assert list(made.batches) == [("wide", 2), ("t", 0)]


def test_rights_are_asked_for_once_in_a_turn_and_again_in_the_next() -> None:
    topics = topics_with(letter(b"a", 7), letter(b"b", 8), letter(b"c", 9, topic="u"), letter(b"d", 10))
    maker = maker_of(topics)
    made_of(maker, 4, most=3)
    once = [(WRITE_TOPIC, "t"), (READ_TOPIC, "t"), (WRITE_TOPIC, "u"), (READ_TOPIC, "u")]
    assert topics.asked == once
    made_of(maker, 4, first=3)
    assert topics.asked == once + once[:2]


def test_without_the_right_to_write_it_stays_and_without_the_right_to_read_nothing_is_looked_up() -> None:
    dead = FakeLog(batch_at(0, RecordData(b"k", b"a", (("own", b"1"),)), RecordData(b"k", b"b")))
    letters = (letter(b"a", 0), letter(None, 1, key=None), letter(b"c", 9, topic="u"))
    topics = topics_with(*letters, refused=[(READ_TOPIC, "t"), (WRITE_TOPIC, "u")], dead=dead)
    made = made_of(maker_of(topics), 3)
    assert made.counts == {What.REDRIVEN: 1, What.WITHOUT_CONTENT: 1, What.NOT_AUTHORIZED: 1}
    (data,) = made.batches["t", 0]
    assert (data.value, "own" in dict(data.headers), dead.reads) == (b"a", False, 0)


def test_a_letter_that_kept_all_needs_no_look_at_the_dead_record() -> None:
    dead = FakeLog(batch_at(0, RecordData(b"k", b"a"), RecordData(b"k", b"b")))
    bare = kept(None, 1)._replace(key=None)
    topics = topics_with(kept(b"a", 0), dead=dead)
    made_of(maker_of(topics), 1)
    assert (topics.asked, dead.reads) == ([(WRITE_TOPIC, "t")], 0)
    (data,) = made_of(maker_of(topics_with(bare, dead=dead)), 1).batches["t", 0]
    assert (data.key, data.value) == (b"k", b"b")


def test_back_to_the_group_needs_no_right_to_a_topic() -> None:
    spec = SPEC._replace(target=Target.GROUP, letters=LetterFilter("g"))
    topics = topics_with(kept(b"a", 0), letter(b"b", 1, topic="deleted"))
    made = made_of(maker_of(topics, spec), 2)
    assert list(made.batches) == [("redrive.g", 0)]
    assert topics.asked == [(READ_TOPIC, "deleted")]


def test_nothing_goes_to_a_topic_that_is_missing_or_the_brokers_own() -> None:
    topics = topics_with(letter(b"a", 0, topic="deleted"), letter(b"b", 1, topic="__own"))
    topics.logs = {**topics.logs, "__own": FakeLog()}
    assert made_of(maker_of(topics), 2).counts == {What.NO_TOPIC: 2}
    assert topics.asked == []
