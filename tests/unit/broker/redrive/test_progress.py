"""The commits of a redrive, and the texts of a letter and its record; without I/O."""

from __future__ import annotations

from typing import Any, cast

import pytest

from shareq.broker.redrive.letter import is_meant, letter_of, place_of, redriven
from shareq.broker.redrive.progress import PartitionProgress, State, UnderWay, What, progress_text, saved_of, totals
from shareq.broker.redrive.spec import (
    MOST_TEXT,
    LetterFilter,
    Owner,
    RedriveSpec,
    Target,
    problem_of,
    spec_of,
    spec_text,
    target_topic,
)
from shareq.broker.security.names import ANONYMOUS
from shareq.protocol.records.batch import Headers, Record, RecordData, build_batch, decode_records
from tests.support.worlds.redrives import kept, letter

SPEC = RedriveSpec(
    "again", "dlq.t", Target.TOPIC, 100, Owner("User:a", "127.0.0.1"), LetterFilter("g", "t"), 0, 1, 2, 9, 5
)


def sign(text: str) -> str:
    return f"signed {len(text)} {hash(text)}"


def record_of(data: RecordData) -> Record:
    (record,) = decode_records(build_batch([data], timestamp_ms=77))
    return record


def test_progress_is_read_as_it_was_written() -> None:
    progress = PartitionProgress(
        3, 10, 20, {What.REDRIVEN: 4, What.REFUSED: 1}, UnderWay(12, {("t", 0): 7, ("ü", 1): 8})
    )
    saved = saved_of(3, 10, progress_text(SPEC, State.RUNNING, "", progress, sign), sign)
    assert (saved.spec, saved.state, saved.why) == (SPEC, State.RUNNING, "")
    read = saved.progress
    assert (read.partition, read.next_offset, read.end_offset, read.counts, read.under_way) == (
        *(3, 10, 20),
        progress.counts,
        progress.under_way,
    )


def test_what_is_over_has_nothing_under_way() -> None:
    progress = PartitionProgress(0, 10, 20, {}, UnderWay(12, {("t", 0): 7}))
    saved = saved_of(0, 10, progress_text(SPEC, State.FAILED, "the queue was deleted", progress, sign), sign)
    assert (saved.state, saved.why, saved.progress.under_way) == (State.FAILED, "the queue was deleted", None)


@pytest.mark.parametrize(("partition", "offset"), [(1, 10), (0, 11)])
def test_the_text_of_another_offset_is_refused(partition: int, offset: int) -> None:
    text = progress_text(SPEC, State.RUNNING, "", PartitionProgress(0, 10, 20), sign)
    assert saved_of(0, 10, text, sign).spec == SPEC
    with pytest.raises(ValueError, match="it was not committed by this broker"):
        saved_of(partition, offset, text, sign)


def test_another_format_is_refused() -> None:
    text = progress_text(SPEC, State.RUNNING, "", PartitionProgress(0, 10, 20), lambda _: "")
    with pytest.raises(ValueError, match="its format is 2"):
        saved_of(0, 10, text.replace('"v":1', '"v":2'), lambda _: "")


def test_a_move_ends_what_was_under_way_only_when_it_gets_there() -> None:
    progress = PartitionProgress(0, 0, 20, {}, UnderWay(10, {("t", 0): 7}))
    progress.move(9, {What.REDRIVEN: 9})
    assert progress.under_way is not None
    progress.move(10, {What.REDRIVEN: 1})
    assert progress.under_way is None
    progress.move(20, {What.FILTERED: 10})
    assert progress.is_done
    assert totals([progress, progress]) == {What.REDRIVEN: 20, What.FILTERED: 20}


def test_what_is_given_up_counts_what_was_sent_from_the_next_offset_on() -> None:
    progress = PartitionProgress(0, 5, 20, {What.REDRIVEN: 3}, UnderWay(10, {("t", 0): 7}))
    assert progress.give_up({3, 4, 5, 8}) == 2
    assert (progress.next_offset, progress.counts, progress.under_way) == (5, {What.REDRIVEN: 5}, None)
    assert PartitionProgress(0, 5, 20).give_up({4}) == 0


def test_specs_are_read_as_they_were_written() -> None:
    assert spec_of(spec_text(SPEC)) == SPEC
    for text in ("", "{}", "[]", "null", '["a"]', "3"):
        with pytest.raises(ValueError, match="this is no redrive"):
            spec_of(text)


def test_longest_spec() -> None:
    """The longest specification leaves room for the names of logs in 4,096 characters."""
    fits = SPEC._replace(letters=LetterFilter(reason="x" * (MOST_TEXT - len(spec_text(SPEC)))))
    assert problem_of(fits) is None
    assert problem_of(fits._replace(letters=LetterFilter(reason="ü" * MOST_TEXT))) is not None


def test_the_topic_that_is_known_beforehand() -> None:
    assert target_topic(SPEC) == "t"
    assert target_topic(SPEC._replace(target=Target.GROUP)) == "redrive.g"
    assert target_topic(SPEC._replace(letters=LetterFilter())) is None


NO_LETTERS: list[Headers] = [
    (),
    letter(b"v", 1).headers[1:],
    letter(b"v", 1).headers[:3],
    (*letter(b"v", 1).headers, ("__dlq.errors.offset", b"-1")),
    (*letter(b"v", 1).headers, ("__dlq.errors.offset", b"1_0")),
    (*letter(b"v", 1).headers, ("__dlq.errors.offset", b"9" * 20)),
    (*letter(b"v", 1).headers, ("__dlq.errors.partition", None)),
    (*letter(b"v", 1).headers, ("__dlq.errors.topic", b"\xff")),
]


@pytest.mark.parametrize("headers", NO_LETTERS)
def test_what_is_no_letter(headers: Headers) -> None:
    assert letter_of(record_of(RecordData(b"k", b"v", headers))) is None


def test_of_several_deaths_the_last_counts() -> None:
    earlier = letter(b"v", 1, topic="older", group="h").headers
    read = letter_of(record_of(kept(b"v", 7, own=earlier, died_ms=123)))
    assert read is not None
    assert (read.topic, read.offset, read.group_id, read.died_ms, read.kept) == ("t", 7, "g", 123, True)
    assert read.reasons == (b"Offset rejected by client.", b"CLIENT_REJECTED")


def test_a_letter_without_its_own_time_died_when_it_was_written() -> None:
    read = letter_of(record_of(letter(b"v", 7)))
    assert read is not None
    assert read.died_ms == 77
    for wanted, expected in ((LetterFilter(died_from_ms=77), True), (LetterFilter(died_until_ms=77), False)):
        assert is_meant(wanted, read) is expected
    assert is_meant(LetterFilter(died_until_ms=78), read)
    assert not is_meant(LetterFilter(died_until_ms=0), read)
    assert not is_meant(LetterFilter(first_offset=8), read)
    assert is_meant(LetterFilter(last_offset=7), read)


def test_the_largest_numbers_are_read() -> None:
    read = letter_of(record_of(letter(b"v", 10**19 - 1, partition=0)))
    assert read is not None
    assert (read.partition, read.offset) == (0, 10**19 - 1)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (LetterFilter(), True),
        (
            LetterFilter(group_id="g", topic="t", partition=2, first_offset=7, last_offset=7, reason="CLIENT_REJECTED"),
            True,
        ),
        (LetterFilter(group_id="h"), False),
        (LetterFilter(topic="u"), False),
        (LetterFilter(partition=1), False),
        (LetterFilter(partition=0), False),
        (LetterFilter(first_offset=8), False),
        (LetterFilter(last_offset=6), False),
        (LetterFilter(last_offset=0), False),
        (LetterFilter(reason="Offset rejected by client."), True),
        (LetterFilter(reason="Offset"), False),
        (LetterFilter(died_from_ms=5, died_until_ms=6), True),
        (LetterFilter(died_from_ms=6), False),
        (LetterFilter(died_until_ms=5), False),
    ],
)
def test_what_a_filter_takes(wanted: LetterFilter, expected: bool) -> None:
    data = kept(b"v", 7, died_ms=5)
    headers = tuple((name, b"2" if name == "__dlq.errors.partition" else value) for name, value in data.headers)
    read = letter_of(record_of(data._replace(headers=headers)))
    assert read is not None
    assert is_meant(wanted, read) is expected


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (SPEC._replace(name="aZ09._-"), None),
        (SPEC._replace(name="a" * 100), None),
        (SPEC._replace(name="a" * 101), "Name must be 1 to 100 characters"),
        (SPEC._replace(per_second=1), None),
        (SPEC._replace(per_second=0), "RecordsPerSecond must be from 1 to 1000000, not 0."),
        (SPEC._replace(per_second=1_000_000), None),
        (SPEC._replace(per_second=1_000_001), "not 1000001."),
        (SPEC._replace(partition=-1, first_offset=-1, last_offset=-1), None),
        (SPEC._replace(partition=-1, first_offset=0, last_offset=-1), "need a QueuePartition"),
        (SPEC._replace(partition=-1, first_offset=-1, last_offset=0), "need a QueuePartition"),
        (SPEC._replace(partition=0, first_offset=0, last_offset=0), None),
        *(
            (SPEC._replace(**cast(Any, {field: -2})), "0 or more")
            for field in ("partition", "first_offset", "last_offset")
        ),
        *(
            (SPEC._replace(letters=LetterFilter(**cast(Any, {field: -2}))), "0 or more")
            for field in ("partition", "first_offset", "last_offset", "died_from_ms", "died_until_ms")
        ),
        (SPEC._replace(letters=LetterFilter("g", "t", 0, 0, 0, "", 0, 0)), None),
        (SPEC._replace(target=Target.GROUP), None),
        (SPEC._replace(target=Target.GROUP, letters=LetterFilter("")), "GroupId must name it"),
        (SPEC._replace(target=Target.GROUP, letters=LetterFilter()), "GroupId must name it"),
    ],
)
def test_what_of_a_spec_cannot_be(spec: RedriveSpec, problem: str | None) -> None:
    found = problem_of(spec)
    assert found is None if problem is None else problem in (found or "")


def test_who_has_a_part_in_what_all_share() -> None:
    """The share is by user, or by machine for unauthenticated clients."""
    assert Owner("User:a", "10.0.0.1").name == "User:a"
    assert Owner(ANONYMOUS, "10.0.0.1").name == "10.0.0.1"


def test_a_redriven_record_names_its_letter() -> None:
    record = record_of(letter(b"v", 7))._replace(offset=41)
    read = letter_of(record)
    assert read is not None
    made = record_of(redriven(SPEC, 3, read, None, 1_000))
    assert (place_of(made), made.timestamp) == ((3, 41), 1_000)
    assert place_of(record) is None
    again = letter_of(record_of(kept(b"v", 9, own=made.headers)))
    assert again is not None
    twice = dict(redriven(SPEC, 0, again, None, 2_000).headers)
    assert twice["__redrive.count"] == b"2"
    assert len(twice) == len(redriven(SPEC, 0, again, None, 2_000).headers), "no header is there twice"
