"""Comparisons of answers find every field that differs, except for those on the list."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shareq.protocol.generated import read_share_group_state_summary, share_acknowledge
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponseTopic,
)
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.read_share_group_state import (
    PartitionResult,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeResponse, ShareAcknowledgeTopicResponse
from shareq.protocol.generated.share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from shareq.protocol.generated.share_group_heartbeat import Assignment, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message, Structure
from shareq.protocol.records.batch import RecordData, build_batch
from tests.differential.answers import Answer, PartitionAnswer, runs
from tests.differential.compare import Difference, differences
from tests.differential.fields import ELSEWHERE, IGNORED, NORMAL_FORMS, ORDER, Fields
from tests.differential.player import fetch_answer
from tests.differential.steps import AckRange

RECORDS = bytes(build_batch([RecordData(None, b"v")] * 7, timestamp_ms=0))  # offsets 0 to 6
SAID = PartitionAnswer(acquired={4: 1, 5: 1, 6: 2}, start_offset=4, lag=7)
ROW = "ShareFetchResponse.responses.partitions"


def test_equal_answers_do_not_differ() -> None:
    assert differences(Answer(0, {0: SAID}), Answer(0, {0: SAID})) == ()


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
    ],
)
def test_whatever_is_said_differently_is_found(other: Answer, found: Difference) -> None:
    assert found in differences(Answer(0, {0: SAID}), other)


def compared(*messages: Message) -> Answer:
    fields = Fields.of({}, *messages)
    return Answer(0, {}, fields.judged, fields.aside)


def answer_of(*rows: PartitionData, **top: int) -> ShareFetchResponse:
    return ShareFetchResponse(responses=[ShareFetchableTopicResponse(bytes(16), list(rows))], **top)  # type: ignore[arg-type]


def row_of(partition: int, *acquired: AcquiredRecords, ack_error: int = 0, records: bytes = RECORDS) -> PartitionData:
    return PartitionData(partition, acknowledge_error_code=ack_error, records=records, acquired_records=list(acquired))


def test_a_row_that_says_nothing_is_a_row() -> None:
    """A comparison of errors and acquired offsets would miss a row without content."""
    some, none = row_of(1, AcquiredRecords(3, 6, 2)), row_of(0, records=b"")
    whole, without = compared(answer_of(none, some)), compared(answer_of(some))
    assert differences(whole, without) == (Difference(0, "row", True, False),)
    assert differences(compared(answer_of(none)), compared(ShareFetchResponse())) == (
        Difference(0, "row", True, False),
    )


def test_a_row_that_is_there_twice_is_found() -> None:
    some = row_of(1, AcquiredRecords(3, 6, 2))
    found = differences(compared(answer_of(some)), compared(answer_of(some, some)))
    assert Difference(1, f"{ROW}.partition_index", (1,), (1, 1)) in found


def test_the_order_of_rows_is_counted_alone() -> None:
    one, two = compared(answer_of(row_of(0), row_of(1))), compared(answer_of(row_of(1), row_of(0)))
    assert differences(one, two) == ()
    assert one.aside[None, ROW + ORDER] != two.aside[None, ROW + ORDER]


def test_how_ranges_are_cut_is_compared() -> None:
    """The cuts of ranges are compared, but not an empty range, which Apache Kafka puts in front if BatchSize is 0."""
    whole = compared(answer_of(row_of(1, AcquiredRecords(3, 6, 2))))
    cut = compared(answer_of(row_of(1, AcquiredRecords(3, 4, 2), AcquiredRecords(5, 6, 2))))
    empty = compared(answer_of(row_of(1, AcquiredRecords(3, 2, 1), AcquiredRecords(3, 6, 2))))
    assert [found.what for found in differences(whole, cut)] == [f"{ROW}.acquired_records"]
    assert differences(whole, empty) == ()
    assert whole.aside != empty.aside


def test_of_a_persisted_leader_epoch_it_is_compared_whether_there_is_one() -> None:
    """Only the presence of an epoch is compared: Apache Kafka raises it at each start of a leader, shareq does not."""

    def summary(leader_epoch: int) -> Answer:
        row = read_share_group_state_summary.PartitionResult(1, leader_epoch=leader_epoch)
        topic = read_share_group_state_summary.ReadStateSummaryResult(bytes(16), [row])
        return compared(read_share_group_state_summary.ReadShareGroupStateSummaryResponse([topic]))

    path = "ReadShareGroupStateSummaryResponse.results.partitions.leader_epoch"
    assert differences(summary(0), summary(2)) == ()
    assert [each.what for each in differences(summary(-1), summary(0))] == [path]


def test_record_batches_are_compared_but_for_the_leader_epoch() -> None:
    later, other = bytearray(RECORDS), bytes(build_batch([RecordData(None, b"w")] * 7, timestamp_ms=0))
    later[12:16] = (5).to_bytes(4)
    whole = compared(answer_of(row_of(1)))
    assert differences(whole, compared(answer_of(row_of(1, records=bytes(later))))) == ()
    assert [each.what for each in differences(whole, compared(answer_of(row_of(1, records=other))))] == [
        f"{ROW}.records"
    ]
    assert differences(whole, compared(answer_of(row_of(1, records=RECORDS + RECORDS)))) != ()


def test_equal_neighbours_of_persisted_state_may_be_cut_in_any_way() -> None:
    def stored(*batches: StateBatch) -> Answer:
        rows = [PartitionResult(0, start_offset=4, state_batches=list(batches))]
        return compared(ReadShareGroupStateResponse([ReadStateResult(bytes(16), rows)]))

    whole, cut = stored(StateBatch(4, 6, 0, 2)), stored(StateBatch(4, 4, 0, 2), StateBatch(5, 6, 0, 2))
    assert differences(whole, cut) == ()
    assert whole.aside != cut.aside
    assert differences(whole, stored(StateBatch(4, 4, 0, 2), StateBatch(6, 6, 0, 2))) != ()
    assert differences(whole, stored(StateBatch(4, 4, 0, 2), StateBatch(5, 6, 0, 1))) != ()


def test_fields_of_the_answer_as_a_whole_are_compared() -> None:
    usual, other = compared(answer_of(row_of(0))), compared(answer_of(row_of(0), throttle_time_ms=5))
    assert differences(usual, other) == (Difference(None, "ShareFetchResponse.throttle_time_ms", (0,), (5,)),)


def test_names_that_each_broker_has_of_its_own_are_none() -> None:
    def refused(group: str) -> Answer:
        message = AlterShareGroupOffsetsResponse(
            responses=[AlterShareGroupOffsetsResponseTopic(f"topic of {group}", bytes(16), [])]
        )
        return Answer(0, {}, Fields.of({group: "the group"}, message).judged)

    assert differences(refused("g-1-ours"), refused("g-1-theirs")) == ()


def test_what_is_listed_is_there() -> None:
    """A misspelt path would hide no difference, but its field would be reported as ignored."""
    heartbeat = ShareGroupHeartbeatResponse(assignment=Assignment())
    stored = ReadShareGroupStateResponse([ReadStateResult(bytes(16), [PartitionResult(0)])])
    described = DescribeShareGroupOffsetsResponse(
        groups=[
            DescribeShareGroupOffsetsResponseGroup(
                "g",
                [
                    DescribeShareGroupOffsetsResponseTopic(
                        "t", bytes(16), [DescribeShareGroupOffsetsResponsePartition()]
                    )
                ],
            )
        ]
    )
    acknowledged = ShareAcknowledgeResponse(
        responses=[ShareAcknowledgeTopicResponse(bytes(16), [share_acknowledge.PartitionData()])]
    )
    changed = IncrementalAlterConfigsResponse(responses=[AlterConfigsResourceResponse()])
    messages: list[Structure] = [answer_of(row_of(0)), acknowledged, heartbeat, stored, described, changed]
    messages.append(AlterShareGroupOffsetsResponse())
    summed_up = read_share_group_state_summary.ReadStateSummaryResult(
        bytes(16), [read_share_group_state_summary.PartitionResult()]
    )
    messages.append(read_share_group_state_summary.ReadShareGroupStateSummaryResponse([summed_up]))
    paths = {path for message in messages for path in paths_of(type(message).__name__, message)}
    assert paths >= {*IGNORED, *NORMAL_FORMS, *ELSEWHERE}


def paths_of(path: str, structure: Structure) -> Iterator[str]:
    for name in structure.FIELDS:
        value = getattr(structure, name)
        yield f"{path}.{name}"
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Structure):
                yield from paths_of(f"{path}.{name}", each)


def test_an_acknowledged_partition_without_a_row_is_no_success() -> None:
    acks = ((0, (AckRange(0, 0, (1,)),)),)
    answer = fetch_answer(answer_of(row_of(1, AcquiredRecords(3, 6, 2))), acks)
    assert answer.of(0).ack_error is None
    assert differences(answer, Answer(0, {1: answer.of(1)})) == (Difference(0, "ack_error", None, 0),)
    assert runs(answer.of(1).acquired) == "{3-6 x2}"


def test_acquired_offsets_without_records_are_found() -> None:
    answer = fetch_answer(answer_of(row_of(1, AcquiredRecords(5, 8, 1))), ())
    assert answer.of(1).missing == (7, 8)
