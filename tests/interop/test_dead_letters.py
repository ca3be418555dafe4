"""Dead-letter queues over frames, scene by scene, the same on Apache Kafka 4.4.0 (KIP-1191).

Run with `--broker=apache` to check the expectations themselves; a broker without share.version 2 skips all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import delete_records
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_records import DeleteRecordsResponse
from shareq.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from shareq.protocol.records.batch import Compression, RecordData, batch_headers, decode_records
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.dead_letter_scenes import (
    AUTO_CREATE,
    BROKER,
    ENABLE,
    EXCEEDED,
    GROUP,
    REJECTED,
    TOPIC,
    Make,
    describe,
    has_flag,
    leave,
    rejected,
    scenes,
    set_level,
    transactions,
)
from tests.interop.support.share_wire import ACCEPT, ARCHIVING, REJECT, RELEASE, Acquired, begin_at, eventually

pytestmark = pytest.mark.interop

BROKER_SETTINGS = {"group.share.min.record.lock.duration.ms": "1000", "message.max.bytes": "3000000"}


@pytest.fixture
def scene(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[Make]:
    with scenes(broker, unique) as make:
        yield make


def test_rejected_records_of_three_partitions(scene: Make) -> None:
    here = scene(3)
    here.produce(b"a", RecordData(None, b"b", (("own", b"1"),)), RecordData(b"c", None))
    here.produce(b"d", b"e", partition=1, compression=Compression.LZ4)
    here.produce(b"f", partition=2)
    here.take(6, partitions=(0, 1, 2))
    before_ms = int(time.time() * 1000)
    for partition, last in enumerate((2, 1, 0)):
        here.end(0, last, REJECT, partition=partition)
    for partition in range(3):
        here.settled(partition)
    assert here.partitions(here.queue) == 1
    of_queue = describe(here, TOPIC, here.queue, own=True)
    assert of_queue == {ENABLE: "true", "message.timestamp.type": "CreateTime"}
    found = sorted(
        (int(record.headers[1][1] or b""), int(record.headers[2][1] or b""), record.key, record.value)
        for record in here.records()
    )
    assert found == [
        (0, 0, b"k", b"a"),
        (0, 1, None, b"b"),
        (0, 2, b"c", None),
        (1, 0, b"k", b"d"),
        (1, 1, b"k", b"e"),
        (2, 0, b"k", b"f"),
    ]
    assert {letter[3:] for letter in here.letters()} == {(1, REJECTED)}
    assert all(record.timestamp >= before_ms for record in here.records())


def test_without_copies_and_only_what_was_rejected(scene: Make) -> None:
    here = scene()
    here.configure(**{"errors.deadletterqueue.copy.record.enable": "false"})
    here.produce(*[b"v"] * 4)
    here.take(4)
    for offset in range(4):
        here.end(offset, offset, REJECT if offset % 2 else ACCEPT)
    here.settled()
    assert here.letters() == [(None, None, 1, 1, REJECTED), (None, None, 3, 1, REJECTED)]


def test_the_last_release_by_partition_and_append_time(scene: Make) -> None:
    here = scene(5)
    here.create(here.queue, {ENABLE: "true", "message.timestamp.type": "LogAppendTime"}, partitions=3)
    here.produce(b"a", b"b", b"c", partition=4, compression=Compression.GZIP)
    for count in (1, 2):
        assert here.take(3, partitions=(4,)) == [Acquired(0, 2, count)]
        here.end(0, 2, RELEASE, partition=4)
    here.settled(4)
    assert [len(here.records(partition=each)) for each in range(3)] == [0, 3, 0]
    assert here.letters(partition=1) == [(b"k", value, at, 2, EXCEEDED) for at, value in enumerate((b"a", b"b", b"c"))]
    assert all(header.is_log_append_time for batch in here.batches(partition=1) for _, header in batch_headers(batch))


def test_the_last_lock_that_runs_out(scene: Make) -> None:
    here = scene()
    here.configure(**{"share.record.lock.duration.ms": "1000", "errors.deadletterqueue.copy.record.enable": "false"})
    here.produce(b"a", b"b", b"c")
    here.take(3)
    here.take(3)
    here.settled()
    assert here.letters() == [(None, None, at, 2, EXCEEDED) for at in range(3)]


def test_the_last_connection_that_is_lost(scene: Make) -> None:
    here = scene()
    here.produce(b"a")
    for _ in range(2):
        here.take(1)
        here.member.client.close()  # type: ignore[attr-defined]
        here.member = here.join()
    here.settled()
    assert here.letters() == [(b"k", b"a", 0, 2, EXCEEDED)]


def test_a_queue_of_another_prefix_gets_nothing(scene: Make) -> None:
    here = scene()
    other = f"zz-{here.topic}"
    here.create(other, {ENABLE: "true"})
    here.configure(**{"errors.deadletterqueue.topic.name": other})
    rejected(here)
    assert here.records(other) == []
    here.logged(
        "Configured DLQ topic name does not comply with the DLQ topic prefix in share group: "
        f"{here.group}, topic: {other}, prefix: dlq.."
    )


def test_a_queue_that_is_missing_and_may_not_be_created(scene: Make) -> None:
    here = scene()
    here.set(BROKER, "", **{AUTO_CREATE: "false"})
    try:
        rejected(here)
        assert here.partitions(here.queue) == 0
        here.logged(
            "DLQ topic does not exist and auto create is disabled on cluster for share group: "
            f"{here.group}, topic: {here.queue}."
        )
    finally:
        here.set(BROKER, "", **{AUTO_CREATE: "true"})


def test_a_queue_that_is_not_enabled_gets_nothing_until_it_is(scene: Make) -> None:
    here = scene()
    here.create(here.queue)
    rejected(here)
    assert here.records() == []
    here.logged(f"DLQ is not enabled on configured DLQ topic for share group: {here.group}, topic: {here.queue}.")
    for enabled, letters in (("true", 1), ("false", 1), ("true", 2)):
        here.set(TOPIC, here.queue, **{ENABLE: enabled})
        eventually(partial(has_flag, here, enabled))
        rejected(here)
        assert len(here.records()) == letters


def test_a_record_that_is_larger_than_the_queue_takes_goes_without_content(scene: Make) -> None:
    here = scene()
    here.create(here.queue, {ENABLE: "true", "max.message.bytes": "1048588"})
    here.produce(b"small")
    here.produce(b"x" * 2_000_000)
    here.produce(b"small")
    here.take(3)
    here.end(0, 2, REJECT)
    here.settled()
    small = (b"k", b"small")
    assert [letter[:2] for letter in here.letters()] == [small, (None, None), small]


@pytest.mark.parametrize(("limit", "batches"), [("150", 0), ("300", 6)])
def test_a_queue_of_small_batches(scene: Make, limit: str, batches: int) -> None:
    here = scene()
    here.create(here.queue, {ENABLE: "true", "max.message.bytes": limit})
    here.produce(*[b"v"] * 6)
    here.take(6)
    here.end(0, 5, REJECT)
    here.settled()
    assert [len(decode_records(batch)) for batch in here.batches()] == [1] * batches


def test_what_has_left_the_log_makes_the_rest_unreadable(scene: Make) -> None:
    here = scene()
    here.produce(*[b"v"] * 6)
    here.take(6)
    rows = [delete_records.DeleteRecordsPartition(0, 3)]
    request = delete_records.DeleteRecordsRequest([delete_records.DeleteRecordsTopic(here.topic, rows)], 10_000)
    answer = here.client.call(request, 2, DeleteRecordsResponse)
    assert [row.error_code for topic in answer.topics for row in topic.partitions] == [ErrorCode.NONE]
    here.end(0, 5, REJECT)
    here.settled()
    assert here.letters() == [(None, None, at, 1, REJECTED) for at in range(6)]


def test_markers_and_aborted_records_of_a_group_that_reads_uncommitted_ones(scene: Make) -> None:
    here = scene()
    transactions(here)
    for _ in range(2):
        here.take(6)
        here.member.client.close()  # type: ignore[attr-defined]
        here.member = here.join()
    here.settled()
    letters = here.letters()
    assert [letter[2:] for letter in letters] == [(at, 2, EXCEEDED) for at in range(6)]
    assert [letter[1] for letter in letters if letter[2] not in {2, 5}] == [b"x", b"y", b"a", b"b"]
    assert all(len(letters[at][0] or b"") == 4 for at in (2, 5)), "a marker's own key"


def test_only_committed_records_of_a_group_that_reads_these(scene: Make) -> None:
    here = scene()
    here.configure(**{"share.isolation.level": "read_committed"})
    transactions(here)
    taken = here.take(2)
    here.end(3, 4, REJECT)
    assert taken[0].first >= 2
    eventually(lambda: len(here.records()) == 2 or None)
    assert [letter[:3] for letter in here.letters()] == [(None, b"a", 3), (None, b"b", 4)]


def test_offsets_that_are_altered_backwards(scene: Make) -> None:
    here = scene()
    here.produce(*[b"v"] * 4)
    here.take(4)
    here.end(0, 3, REJECT)
    here.settled()
    leave(here)
    begin_at(here.client, here.group, here.topic, [2])
    here.member = here.join()
    assert here.take(2) == [Acquired(2, 3, 1)]
    here.end(2, 3, REJECT)
    here.settled()
    assert [letter[2] for letter in here.letters()] == [0, 1, 2, 2, 3, 3]


def test_a_group_that_is_deleted_leaves_its_properties_and_its_queue(scene: Make) -> None:
    here = scene()
    rejected(here)
    leave(here)

    def deleted() -> bool | None:
        answer = here.client.call(DeleteGroupsRequest([here.group]), 2, DeleteGroupsResponse)
        return answer.results[0].error_code == ErrorCode.NONE or None

    eventually(deleted)
    assert describe(here, GROUP, here.group)["errors.deadletterqueue.topic.name"] == here.queue
    assert len(here.records()) == 1


@pytest.mark.parametrize("operation", ["alter offsets", "delete offsets", "delete group"])
def test_letters_that_are_owed_when_a_state_is_removed_are_all_written(scene: Make, operation: str) -> None:
    """There are 100 letters in single batches; the state is removed right after the rejection is answered."""
    here = scene()
    here.create(here.queue, {ENABLE: "true", "max.message.bytes": "300"})
    here.produce(*[b"v"] * 100)
    here.take(100)
    here.end(0, 99, REJECT)
    leave(here)
    if operation == "alter offsets":
        begin_at(here.client, here.group, here.topic, [0])
    elif operation == "delete offsets":
        request = DeleteShareGroupOffsetsRequest(here.group, [DeleteShareGroupOffsetsRequestTopic(here.topic)])
        answer = here.client.call(request, 0, DeleteShareGroupOffsetsResponse)
        assert (answer.error_code, [topic.error_code for topic in answer.responses]) == (ErrorCode.NONE, [0]), answer
    else:
        deleted = here.client.call(DeleteGroupsRequest([here.group]), 2, DeleteGroupsResponse)
        assert deleted.results[0].error_code == ErrorCode.NONE, deleted
    eventually(lambda: [letter[2] for letter in here.letters()] == list(range(100)) or None)


def test_a_queue_whose_name_begins_as_internal_topics_do_is_refused(scene: Make) -> None:
    here = scene()
    ((code, message),) = here.set(GROUP, here.group, **{"errors.deadletterqueue.topic.name": "__x"})
    assert code is ErrorCode.INVALID_CONFIG
    assert "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'" in message
    for odd in ("bad/name", "", here.queue):
        assert here.set(GROUP, here.group, **{"errors.deadletterqueue.topic.name": odd})[0][0] is ErrorCode.NONE


def test_the_feature_level_switches_queues_while_the_broker_runs(scene: Make) -> None:
    here = scene()
    rejected(here)
    assert len(here.records()) == 1
    set_level(here, 1, upgrade_type=2)
    try:
        rejected(here)
        assert len(here.records()) == 1
    finally:
        set_level(here, 2, upgrade_type=1)
    rejected(here)
    assert len(here.records()) == 2


def test_an_ordinary_share_group_at_level_1(scene: Make) -> None:
    """The group behaves as at level 2, except that dead records are archived at once."""
    here = scene()
    set_level(here, 1, upgrade_type=2)
    try:
        here.produce(*[b"v"] * 6)
        assert here.take(6) == [Acquired(0, 5, 1)]
        here.end(0, 1, ACCEPT)
        here.end(2, 3, REJECT)
        assert ARCHIVING not in {batch.state for batch in here.persisted()}
        here.end(4, 5, RELEASE)
        assert here.take(2) == [Acquired(4, 5, 2)]
        here.end(4, 4, RELEASE)
        here.end(5, 5, ACCEPT)
        here.settled()
        assert here.partitions(here.queue) == 0
        leave(here)
        begin_at(here.client, here.group, here.topic, [4])
        here.member = here.join()
        assert here.take(2) == [Acquired(4, 5, 1)]
        here.end(4, 5, ACCEPT)
        here.settled()
    finally:
        set_level(here, 2, upgrade_type=1)


def test_a_kill_within_a_range_loses_no_letter(scene: Make) -> None:
    """There are 400 letters in single batches; missing ones come with the first fetch after the start."""
    here = scene()
    here.create(here.queue, {ENABLE: "true", "max.message.bytes": "300"})
    here.produce(*[b"v"] * 400)
    here.take(400)
    here.end(0, 399, REJECT)
    here.kill_and_wait(400)
    here.settled()
