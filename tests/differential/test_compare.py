"""Comparing answers: every kind of difference is found, and what a client cannot tell apart is none."""

from __future__ import annotations

import pytest

from shareq.protocol.generated.share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from shareq.protocol.records.batch import RecordData, build_batch
from tests.differential.answers import Answer, PartitionAnswer, runs
from tests.differential.compare import Difference, differences
from tests.differential.player import fetch_answer, held_by
from tests.differential.steps import AckRange

RECORDS = bytes(build_batch([RecordData(None, b"v")] * 7, timestamp_ms=0))  # offsets 0 to 6
SAID = PartitionAnswer(acquired={4: 1, 5: 1, 6: 2}, start_offset=4, lag=7, batches=((4, 6, 0, 1),))


def test_equal_answers_do_not_differ() -> None:
    assert differences(Answer(0, {0: SAID}), Answer(0, {0: SAID})) == ()


def test_a_row_that_says_nothing_is_no_row() -> None:
    assert differences(Answer(0, {0: SAID, 1: PartitionAnswer()}), Answer(0, {0: SAID})) == ()


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (Answer(122, {0: SAID}), Difference(None, "error", 0, 122)),
        (Answer(), Difference(0, "acquired", SAID.acquired, {})),
        (Answer(0, {0: PartitionAnswer(3)}), Difference(0, "error", 0, 3)),
        (Answer(0, {0: PartitionAnswer(ack_error=121)}), Difference(0, "ack_error", 0, 121)),
        (Answer(0, {0: PartitionAnswer(ack_error=None)}), Difference(0, "ack_error", 0, None)),
        (
            Answer(0, {0: PartitionAnswer(acquired={4: 1, 5: 1, 6: 3})}),
            Difference(0, "acquired", SAID.acquired, {4: 1, 5: 1, 6: 3}),
        ),
        (Answer(0, {0: PartitionAnswer(start_offset=5)}), Difference(0, "start_offset", 4, 5)),
        (Answer(0, {0: PartitionAnswer(lag=6)}), Difference(0, "lag", 7, 6)),
        (Answer(0, {0: PartitionAnswer(batches=())}), Difference(0, "batches", SAID.batches, ())),
    ],
)
def test_whatever_is_said_differently_is_found(other: Answer, found: Difference) -> None:
    assert found in differences(Answer(0, {0: SAID}), other)


def answer_of(*acquired: AcquiredRecords, ack_error: int = 0) -> ShareFetchResponse:
    row = PartitionData(1, acknowledge_error_code=ack_error, records=RECORDS, acquired_records=list(acquired))
    return ShareFetchResponse(responses=[ShareFetchableTopicResponse(bytes(16), [row])])


def test_how_ranges_are_cut_is_not_compared() -> None:
    """Nor an empty range, which Apache Kafka puts in front when BatchSize is 0."""
    whole = fetch_answer(answer_of(AcquiredRecords(3, 6, 2)), ())
    cut = fetch_answer(answer_of(AcquiredRecords(3, 2, 1), AcquiredRecords(3, 4, 2), AcquiredRecords(5, 6, 2)), ())
    assert differences(whole, cut) == ()
    assert runs(whole.of(1).acquired) == "{3-6 x2}"


def test_an_acknowledged_partition_without_a_row_is_told_from_success() -> None:
    acks = ((0, (AckRange(0, 0, (1,)),)),)
    answer = fetch_answer(answer_of(AcquiredRecords(3, 6, 2)), acks)
    assert answer.of(0).ack_error is None
    assert differences(answer, Answer(0, {1: answer.of(1)})) == (Difference(0, "ack_error", None, 0),)


def test_acquired_offsets_without_records_are_found() -> None:
    answer = fetch_answer(answer_of(AcquiredRecords(5, 8, 1)), ())
    assert answer.of(1).missing == (7, 8)
    assert held_by(RECORDS + RECORDS) == set(range(7))
