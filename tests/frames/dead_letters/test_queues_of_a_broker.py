"""Dead letters of a whole broker, as Apache Kafka 4.4.0 writes them (KIP-1191)."""

from __future__ import annotations

import pytest

from shareq.broker.metadata.features import SHARE_VERSION
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_records import DeleteRecordsResponse
from shareq.protocol.records.batch import Compression, RecordData, read_header
from tests.support.clients.administration import delete_records_request
from tests.support.clients.share_client import ACCEPT, GAP, REJECT, RELEASE, ShareClient
from tests.support.worlds.dead_letters import QUEUE, DeadLetterWorld, expected_headers

HOUR_MS = 3_600_000


def test_a_rejected_record_is_copied_with_six_headers_and_without_its_own(world: DeadLetterWorld) -> None:
    world.produce(RecordData(b"key", b"value", (("own", b"1"),)))
    assert world.take() == [(0, 0, 1)]
    world.settle(5_000)
    world.end(REJECT, 0, 0)
    (letter,) = world.letters()
    assert (letter.key, letter.value) == (b"key", b"value")
    assert letter.headers == expected_headers(0)
    assert letter.timestamp == world.world.clock.wall_ms(), "the broker's clock, not the source's"
    assert world.start_offset() == 1


def test_the_queue_is_created_with_two_properties_of_its_own() -> None:
    world = DeadLetterWorld(properties={"num.partitions": "3"})
    world.produce(b"v")
    world.take()
    world.end(REJECT, 0, 0)
    topic = world.world.services.metadata.topic(QUEUE)
    assert topic is not None
    assert topic.partitions == 3
    assert world.world.services.metadata.configs("topic", QUEUE) == {
        "errors.deadletterqueue.group.enable": "true",
        "message.timestamp.type": "CreateTime",
    }


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP, Compression.LZ4])
def test_nulls_stay_nulls_and_compressed_records_are_copied_as_they_were(
    codec: Compression, world: DeadLetterWorld
) -> None:
    records = [RecordData(None, b"v"), RecordData(b"k", None), RecordData(None, None), RecordData(b"", b"")]
    world.produce(*records, compression=codec)
    world.take()
    world.end(REJECT, 0, 3)
    assert [(each.key, each.value) for each in world.letters()] == [(each.key, each.value) for each in records]
    assert world.offsets() == [0, 1, 2, 3]
    assert {read_header(batch).attributes for batch in world.batches()} == {0}


def test_without_copies_only_the_headers_are_written() -> None:
    world = DeadLetterWorld(errors_deadletterqueue_copy_record_enable="false")
    world.produce(*[b"v"] * 4)
    world.take()
    for offset, kind in enumerate((ACCEPT, REJECT, GAP, REJECT)):
        world.end(kind, offset, offset)
    assert [(each.key, each.value, each.headers) for each in world.letters()] == [
        (None, None, expected_headers(1)),
        (None, None, expected_headers(3)),
    ]


def test_the_last_release_has_the_other_message_and_its_count(world: DeadLetterWorld) -> None:
    world.produce(b"v", b"w")
    for count in (1, 2):
        assert world.take() == [(0, 1, count)]
        assert world.letters() == []
        world.end(RELEASE, 0, 1)
    assert [each.headers for each in world.letters()] == [
        expected_headers(0, 2, RELEASE),
        expected_headers(1, 2, RELEASE),
    ]


def test_the_last_lock_and_the_last_session_end_in_the_queue() -> None:
    world = DeadLetterWorld(2, share_record_lock_duration_ms="15000")
    world.produce(b"v")
    world.produce(b"v", partition=1)
    for _ in range(2):
        world.take()
        world.settle(15_000)
    assert [each.headers for each in world.letters()] == [expected_headers(0, 2, RELEASE)]
    for _ in range(2):
        world.take(partition=1)
        world.member.connection.close()
        world.settle()
        world.member.reconnect()
    assert [each.headers for each in world.letters()[1:]] == [expected_headers(0, 2, RELEASE, partition=1)]


def test_the_partition_is_the_sources_modulo_those_of_the_queue() -> None:
    world = DeadLetterWorld(5)
    world.world.create_topic(QUEUE, 3, errors_deadletterqueue_group_enable="true")
    world.produce(b"v", partition=4)
    world.take(partition=4)
    world.end(REJECT, 0, 0, partition=4)
    assert [len(world.letters(partition=each)) for each in range(3)] == [0, 1, 0]


def test_a_queue_with_log_append_time_has_its_own_time(world: DeadLetterWorld) -> None:
    world.world.create_topic(
        QUEUE, 1, errors_deadletterqueue_group_enable="true", message_timestamp_type="LogAppendTime"
    )
    world.produce(b"v")
    world.take()
    world.end(REJECT, 0, 0)
    assert read_header(world.batches()[0]).is_log_append_time


@pytest.mark.parametrize(
    ("queue", "creates", "make", "reason"),
    [
        ("zz", True, True, "does not comply with the DLQ topic prefix in share group: g, topic: zz, prefix: dlq."),
        ("zz", True, False, "does not comply with the DLQ topic prefix"),
        (QUEUE, False, False, "DLQ topic does not exist and auto create is disabled on cluster for share group: g"),
        (QUEUE, True, None, "DLQ is not enabled on configured DLQ topic for share group: g, topic: dlq.t."),
        ("dlq./", True, False, "cannot be created: INVALID_TOPIC_EXCEPTION"),
    ],
)
def test_a_queue_that_may_not_be_used_gets_nothing_and_the_dead_are_archived(
    queue: str, creates: bool, make: bool | None, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = DeadLetterWorld(creates=creates, errors_deadletterqueue_topic_name=queue)
    if make is not False:
        world.world.create_topic(queue, 1, errors_deadletterqueue_group_enable=str(bool(make)).lower())
    world.produce(b"v", b"w")
    world.take()
    world.end(REJECT, 0, 1)
    assert world.letters(queue) == []
    assert world.start_offset() == 2
    assert "offsets 0 to 1 could not be written, archived without: " in caplog.text
    assert reason in caplog.text


def test_a_switch_of_the_queue_counts_from_the_next_record_on(world: DeadLetterWorld) -> None:
    world.produce(b"a", b"b", b"c")
    world.take()
    world.end(REJECT, 0, 0)
    world.configure("topic", QUEUE, errors_deadletterqueue_group_enable="false")
    world.end(REJECT, 1, 1)
    world.configure("topic", QUEUE, errors_deadletterqueue_group_enable="true")
    world.end(REJECT, 2, 2)
    assert world.offsets() == [0, 2]


def test_an_empty_prefix_is_no_rule() -> None:
    world = DeadLetterWorld(errors_deadletterqueue_topic_name="zz")
    world.configure("broker", "", errors_deadletterqueue_topic_name_prefix="")
    world.produce(b"v")
    world.take()
    world.end(REJECT, 0, 0)
    assert world.offsets("zz") == [0]


def test_a_large_record_goes_without_content_and_small_ones_with_theirs() -> None:
    world = DeadLetterWorld(properties={"message.max.bytes": "3000000"})
    world.world.create_topic(QUEUE, 1, errors_deadletterqueue_group_enable="true", max_message_bytes="1048588")
    world.produce(b"a")
    world.produce(b"x" * 2_000_000)
    world.produce(b"b")
    while world.take():
        pass
    world.end(REJECT, 0, 2)
    assert [(each.key, each.value) for each in world.letters()] == [(b"k", b"a"), (None, None), (b"k", b"b")]
    assert world.offsets() == [0, 1, 2]


def test_a_compressed_batch_that_opens_too_large_goes_without_content(world: DeadLetterWorld) -> None:
    world.world.create_topic(QUEUE, 1, errors_deadletterqueue_group_enable="true", max_message_bytes="10000")
    world.produce(b"x" * 20_000, b"small", compression=Compression.GZIP)
    world.take()
    world.end(REJECT, 0, 1)
    assert [(each.key, each.value) for each in world.letters()] == [(None, None), (None, None)]


def test_a_queue_of_small_batches_takes_one_letter_each(world: DeadLetterWorld) -> None:
    world.world.create_topic(QUEUE, 1, errors_deadletterqueue_group_enable="true", max_message_bytes="300")
    world.produce(*[b"v"] * 6)
    world.take()
    world.end(REJECT, 0, 5)
    assert [read_header(batch).records_count for batch in world.batches()] == [1] * 6
    assert world.offsets() == [0, 1, 2, 3, 4, 5]


def test_a_queue_of_still_smaller_batches_gets_nothing(
    caplog: pytest.LogCaptureFixture, world: DeadLetterWorld
) -> None:
    world.world.create_topic(QUEUE, 1, errors_deadletterqueue_group_enable="true", max_message_bytes="150")
    world.produce(*[b"v"] * 6)
    world.take()
    world.end(REJECT, 0, 5)
    assert world.letters() == []
    assert world.start_offset() == 6
    assert "MESSAGE_TOO_LARGE" in caplog.text


def test_what_the_log_has_no_more_makes_the_rest_of_the_range_unreadable(world: DeadLetterWorld) -> None:
    world.produce(*[b"v"] * 6)
    world.take()
    world.world.connect().call(delete_records_request("t", {0: 3}), 2, DeleteRecordsResponse)
    world.end(REJECT, 0, 5)
    assert [(each.key, each.value) for each in world.letters()] == [(None, None)] * 6
    assert world.offsets() == [0, 1, 2, 3, 4, 5]


def test_many_letters_go_in_several_batches_and_in_order() -> None:
    world = DeadLetterWorld(share_partition_max_record_locks="4000")
    for _ in range(3):
        world.produce(*[b"v"] * 1_000)
    world.member.join("t")
    for _ in range(6):
        world.member.acquire(world.place, max_records=500)
    world.end(REJECT, 0, 2_999)
    assert world.offsets() == list(range(3_000))
    assert world.start_offset() == 3_000


def test_the_feature_level_switches_queues_at_run_time(world: DeadLetterWorld) -> None:
    world.produce(b"a", b"b", b"c")
    world.take()
    features = world.world.folder.metadata.set_features
    world.end(REJECT, 0, 0)
    features({SHARE_VERSION: 1})
    world.end(REJECT, 1, 1)
    features({SHARE_VERSION: 2})
    world.end(REJECT, 2, 2)
    assert world.offsets() == [0, 2]


def test_without_a_manager_of_dead_letters_none_are_written() -> None:
    name = "org.apache.kafka.server.share.dlq.NoOpShareGroupDLQManager"
    world = DeadLetterWorld(properties={"group.share.dlq.manager.class.name": name})
    world.produce(b"v")
    world.take()
    world.end(REJECT, 0, 0)
    assert (world.letters(), world.start_offset()) == ([], 1)


def test_a_group_without_a_queue_imports_nothing_for_it() -> None:
    world = DeadLetterWorld(errors_deadletterqueue_topic_name="")
    world.produce(b"v")
    world.take()
    world.end(REJECT, 0, 0)
    assert world.world.services.share.dead_letters.queues is None


def test_a_full_disk_archives_without_letters(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, world: DeadLetterWorld
) -> None:
    world.produce(b"a", b"b")
    world.take()
    world.end(REJECT, 0, 0)
    log = world.world.folder.logs.get(QUEUE, 0)
    monkeypatch.setattr(world.world.folder.logs, "full", True)
    monkeypatch.setattr(world.world.folder.logs, "client_refusal", lambda: ErrorCode.KAFKA_STORAGE_ERROR)
    world.end(REJECT, 1, 1)
    assert (log.high_watermark, world.start_offset()) == (1, 2)
    assert "KAFKA_STORAGE_ERROR" in caplog.text


# -- crashes


def test_a_crash_between_the_answer_and_the_letters_loses_none(world: DeadLetterWorld) -> None:
    """The rejection is durable before its answer; the first fetch after the restart writes the letters."""
    world.produce(*[b"v"] * 5)
    world.take()
    assert world.member.acknowledge(world.place, (0, 4, REJECT)) is ErrorCode.NONE
    world.world.crash()
    world.settle(HOUR_MS)
    before = len(world.letters())
    world.member = ShareClient(world.world)
    assert world.take() == []
    world.settle()
    assert set(world.offsets()) == {0, 1, 2, 3, 4}
    assert len(world.letters()) - before in (0, 5)
    assert world.start_offset() == 5


def test_what_a_restart_finds_archiving_is_archived_when_the_queue_is_gone(world: DeadLetterWorld) -> None:
    world.produce(*[b"v"] * 5)
    world.take()
    member = world.member
    member.send_acknowledge(world.place, (0, 4, REJECT))
    world.world.crash()
    world.configure("group", "g", errors_deadletterqueue_topic_name="")
    world.member = ShareClient(world.world)
    world.take()
    world.settle()
    assert world.letters() == []
    assert world.start_offset() in (0, 5)


# -- a queue that is named


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("dlq", "Configured DLQ topic name does not comply with the DLQ topic prefix in share group: g, topic: dlq"),
        ("dlq.closed", "DLQ is not enabled on configured DLQ topic for share group: g, topic: dlq.closed."),
        ("dlq.t", None),
    ],
)
def test_a_queue_that_gets_no_letters_is_logged_when_it_is_named(
    name: str, why: str | None, caplog: pytest.LogCaptureFixture, world: DeadLetterWorld
) -> None:
    """Any name is accepted, as in Apache Kafka 4.4.0, but logged."""
    world.world.create_topic("dlq.closed")
    caplog.clear()
    world.configure("group", "g", errors_deadletterqueue_topic_name=name)
    assert caplog.text.count("dead letters will not be written") == (why is not None)
    assert why is None or why in caplog.text
