"""`shareq.dlq.keep=true`, off by default: a dead record stays in flight until its dead letter is written."""

from __future__ import annotations

import logging

import pytest

from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_records import DeleteRecordsResponse
from shareq.protocol.records.batch import RecordData, decode_records
from shareq.protocol.records.record_codec import header_key
from tests.support.clients.administration import delete_records_request
from tests.support.clients.share_client import ACCEPT, REJECT, RELEASE, ShareClient, configure
from tests.support.worlds.dead_letters import QUEUE, DeadLetterWorld, expected_headers, header_of

LONG_MS = 120_000


class KeptWorld(DeadLetterWorld):
    """A dead-letter world with `shareq.dlq.keep=true`."""

    def __init__(self, partitions: int = 1, *, creates: bool = True, **of_group: str) -> None:
        super().__init__(partitions, creates=creates)
        configure(self.world, "g", **{"shareq_dlq_keep": "true", **of_group})

    def archiving(self) -> int:
        queues = self.world.services.share.dead_letters.queues
        return 0 if queues is None else queues.waiting().get("g", 0)


def test_headers_and_time_of_the_source_are_kept_and_the_disposition_is_added() -> None:
    world = KeptWorld()
    born_ms = world.world.clock.wall_ms() - 60_000
    world.produce(RecordData(b"k", b"v", (("own", b"1"), ("null", None)), born_ms))
    world.take()
    world.end(REJECT, 0, 0)
    (letter,) = world.letters()
    assert letter.timestamp == born_ms
    assert (letter.key, letter.value) == (b"k", b"v")
    now = b"%d" % world.world.clock.wall_ms()
    assert letter.headers == (
        ("own", b"1"),
        ("null", None),
        *expected_headers(0),
        ("__dlq.errors.disposition", b"CLIENT_REJECTED"),
        ("__dlq.errors.timestamp", now),
        ("__dlq.errors.rejected.by", b"m"),
    )


def test_a_header_whose_name_is_no_utf8_is_in_the_letter_as_it_was_and_costs_no_other_letter() -> None:
    world = KeptWorld()
    odd = b"\xff caf\xe9".decode("utf-8", "surrogateescape")
    world.produce(RecordData(b"a", b"1"), RecordData(b"b", b"2", ((odd, b"x"), ("null", None))), RecordData(b"c", b"3"))
    world.take()
    world.end(REJECT, 0, 2)
    assert [(letter.key, letter.value) for letter in world.letters()] == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    (batch,) = world.batches()
    written = decode_records(batch, exact=True)[1]
    assert [(header_key(name), value) for name, value in written.headers[:2]] == [
        (b"\xff caf\xe9", b"x"),
        (b"null", None),
    ]


def test_a_record_whose_deliveries_are_used_up_was_rejected_by_no_member() -> None:
    world = KeptWorld(errors_deadletterqueue_copy_record_enable="false")
    world.produce(RecordData(b"k", b"v", (("own", b"1"),)))
    for _ in range(2):
        world.take()
        world.end(RELEASE, 0, 0)
    (letter,) = world.letters()
    assert (letter.key, letter.value, header_of(letter, "own")) == (None, None, None)
    assert header_of(letter, "__dlq.errors.disposition") == b"MAX_DELIVERY_ATTEMPTS_REACHED"
    assert header_of(letter, "__dlq.errors.rejected.by") is None


@pytest.mark.parametrize("cure", ["flag", "prefix", "create", "off"])
def test_a_dead_record_waits_until_its_queue_may_be_used(cure: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    name = "zz" if cure == "prefix" else QUEUE
    world = KeptWorld(creates=False, errors_deadletterqueue_topic_name=name)
    if cure != "create":
        enabled = "true" if cure == "prefix" else "false"
        world.world.create_topic(name, 1, errors_deadletterqueue_group_enable=enabled)
    world.produce(*[b"v"] * 3)
    world.take()
    world.end(REJECT, 0, 2)
    world.settle(LONG_MS)
    assert (world.archiving(), world.start_offset(), world.letters(name)) == (3, 0, [])
    assert len([line for line in caplog.messages if "wait for their dead letters" in line]) == 1
    if cure == "flag":
        world.configure("topic", name, errors_deadletterqueue_group_enable="true")
    elif cure == "prefix":
        world.configure("broker", "", errors_deadletterqueue_topic_name_prefix="z")
    elif cure == "create":
        world.configure("broker", "", errors_deadletterqueue_auto_create_topics_enable="true")
    else:
        world.configure("group", "g", shareq_dlq_keep="false")
    world.settle(40_000)
    assert (world.archiving(), world.start_offset()) == (0, 3)
    assert world.offsets(name) == ([] if cure == "off" else [0, 1, 2])
    if cure != "off":
        assert "dead letters are written again" in caplog.text


def test_each_kind_of_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    world = KeptWorld(creates=False)
    world.produce(b"v")
    world.take()
    world.end(REJECT, 0, 0)
    world.settle(LONG_MS)
    world.world.create_topic(QUEUE, 1, errors_deadletterqueue_group_enable="false")
    world.settle(LONG_MS)
    lines = [line for line in caplog.messages if "wait for their dead letters" in line]
    assert ["auto create is disabled" in line for line in lines] == [True, False]
    assert "DLQ is not enabled" in lines[1]
    queues = world.world.services.share.dead_letters.queues
    assert queues is not None
    assert 8 <= queues.groups["g"].retries <= 16, "2, 4, 8, 16, then 30 seconds, each a fifth more or less"


def test_what_waits_fills_the_window_and_delivery_stands_still() -> None:
    """Delivery stops: otherwise the queue's failure would cost the group all its records."""
    world = KeptWorld(creates=False, share_partition_max_record_locks="100")
    world.produce(*[b"v"] * 100)
    world.produce(b"next")
    world.take()
    world.end(REJECT, 0, 99)
    assert world.take() == []
    world.configure("broker", "", errors_deadletterqueue_auto_create_topics_enable="true")
    world.settle(40_000)
    assert world.take() == [(100, 100, 1)]
    assert world.offsets() == list(range(100))


def test_a_full_disk_keeps_the_dead_until_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    world = KeptWorld()
    world.produce(b"a", b"b")
    world.take()
    logs = world.world.folder.logs
    monkeypatch.setattr(logs, "full", True)
    with monkeypatch.context() as full:
        full.setattr(logs, "client_refusal", lambda: ErrorCode.KAFKA_STORAGE_ERROR)
        world.end(REJECT, 0, 1)
        world.settle(LONG_MS)
        assert (world.archiving(), world.letters()) == (2, [])
    world.settle(40_000)
    assert (world.archiving(), world.offsets()) == (0, [0, 1])


def test_a_letter_that_is_too_large_goes_alone_and_without_content() -> None:
    world = KeptWorld()
    world.world.create_topic(QUEUE, 1, errors_deadletterqueue_group_enable="true", max_message_bytes="2000")
    world.produce(RecordData(b"k", b"a"), RecordData(b"k", b"x" * 1_900, (("own", b"y"),)), RecordData(b"k", b"b"))
    world.take()
    world.end(REJECT, 0, 2)
    letters = world.letters()
    assert [(each.key, each.value) for each in letters] == [(b"k", b"a"), (None, None), (b"k", b"b")]
    assert header_of(letters[1], "own") is None
    assert header_of(letters[1], "__dlq.errors.disposition") == b"CLIENT_REJECTED"
    assert world.start_offset() == 3


def test_a_queue_that_takes_no_letter_at_all_keeps_the_dead(caplog: pytest.LogCaptureFixture) -> None:
    world = KeptWorld()
    world.world.create_topic(QUEUE, 1, errors_deadletterqueue_group_enable="true", max_message_bytes="150")
    world.produce(*[b"v"] * 6)
    world.take()
    world.end(REJECT, 0, 5)
    world.settle(LONG_MS)
    assert (world.archiving(), world.letters()) == (6, [])
    assert "MESSAGE_TOO_LARGE" in caplog.text
    world.configure("topic", QUEUE, max_message_bytes="1000")
    world.settle(40_000)
    assert [(each.value) for each in world.letters()] == [b"v"] * 6


def test_a_queue_that_takes_no_old_records_gets_the_brokers_time() -> None:
    world = KeptWorld()
    world.world.create_topic(
        QUEUE, 1, errors_deadletterqueue_group_enable="true", message_timestamp_before_max_ms="10000"
    )
    now_ms = world.world.clock.wall_ms()
    world.produce(RecordData(b"k", b"v", (), now_ms - 60_000))
    world.take()
    world.end(REJECT, 0, 0)
    (letter,) = world.letters()
    assert (letter.value, letter.timestamp) == (b"v", world.world.clock.wall_ms())


def test_records_that_the_log_still_has_are_copied_although_others_are_gone() -> None:
    """Apache Kafka 4.4.0, and we without `shareq.dlq.keep`, would write all six letters without content."""
    world = KeptWorld()
    world.produce(*[b"v"] * 6)
    world.take()
    world.world.connect().call(delete_records_request("t", {0: 3}), 2, DeleteRecordsResponse)
    world.end(REJECT, 0, 5)
    assert [each.value for each in world.letters()] == [None, None, None, b"v", b"v", b"v"]
    assert world.offsets() == [0, 1, 2, 3, 4, 5]


# -- circles


def test_a_queue_does_not_dead_letter_into_itself(caplog: pytest.LogCaptureFixture) -> None:
    world = KeptWorld(errors_deadletterqueue_topic_name="dlq.q")
    topic_id = world.world.create_topic("dlq.q", 1, errors_deadletterqueue_group_enable="true").topic_id
    world.produce(b"v", topic="dlq.q")
    world.member.join("dlq.q")
    assert world.member.acquire((topic_id, 0)) == [(0, 0, 1)]
    assert world.member.acknowledge((topic_id, 0), (0, 0, REJECT)) is ErrorCode.NONE
    world.settle()
    assert [letter.value for letter in world.letters("dlq.q")] == [b"v"], "nothing but the record itself"
    assert "round in circles" in caplog.text
    queues = world.world.services.share.dead_letters.queues
    assert queues is not None
    assert (queues.groups["g"].refused, queues.groups["g"].records) == (1, 0)


@pytest.mark.parametrize("copies", ["true", "false"])
def test_two_groups_do_not_send_a_record_round(copies: str) -> None:
    """Group g reads dlq.a and has dlq.b as its queue; h does the reverse."""
    world = KeptWorld(errors_deadletterqueue_topic_name="dlq.b", errors_deadletterqueue_copy_record_enable=copies)
    configure(
        world.world,
        "h",
        share_auto_offset_reset="earliest",
        errors_deadletterqueue_topic_name="dlq.a",
        errors_deadletterqueue_copy_record_enable=copies,
        shareq_dlq_keep="true",
    )
    ids = {
        name: world.world.create_topic(name, 1, errors_deadletterqueue_group_enable="true").topic_id
        for name in ("dlq.a", "dlq.b")
    }
    world.produce(b"first", topic="dlq.a")
    rejected = 0
    for round_trip in range(3):
        for group, topic in (("g", "dlq.a"), ("h", "dlq.b")):
            member = ShareClient(world.world, f"m{round_trip}", group)
            member.join(topic)
            for first, last, _ in member.acquire((ids[topic], 0)):
                assert member.acknowledge((ids[topic], 0), (first, last, REJECT)) is ErrorCode.NONE
                rejected += last - first + 1
            world.settle()
            member.connection.close()
            world.settle()
    assert rejected == 2
    assert (len(world.letters("dlq.a")), len(world.letters("dlq.b"))) == (1, 1)


def test_a_record_that_is_sent_back_to_its_topic_may_die_again() -> None:
    world = KeptWorld()
    world.produce(b"v")
    world.take()
    world.end(REJECT, 0, 0)
    (letter,) = world.letters()
    world.produce(RecordData(letter.key, letter.value, letter.headers))
    world.take()
    world.end(REJECT, 1, 1)
    again = world.letters()[1]
    assert header_of(again, "__dlq.errors.offset") == b"1", "the last header of a name is of the last death"


# -- crashes


def test_a_crash_at_any_step_loses_no_record() -> None:
    """The process is killed, with power on, at every turn of the loop after the rejection."""
    phases = {_crashed_after(turns) for turns in range(10)}
    assert phases >= {"nothing", "archiving", "letters"}, "the crashes were not where they should be"


def _crashed_after(turns: int) -> str:
    """Return the durable state at the crash, after checking the final result."""
    world = KeptWorld()
    world.produce(*[b"v"] * 4)
    world.take()
    world.member.send_acknowledge(world.place, (0, 1, REJECT), (2, 2, ACCEPT), (3, 3, REJECT))
    for _ in range(turns):
        world.world.clock.run_tick()
    world.world.crash()
    key = SharePartitionKey("g", world.topic_id, 0)
    stored = [each.shard.state_of(key) for each in world.world.services.share_states.partitions]
    states = {batch.delivery_state for state in stored if state is not None for batch in state.batches}
    copied = len(world.letters())
    world.member = ShareClient(world.world)
    for first, last, _ in world.take():  # not durable when the process died: it comes again
        world.end(REJECT, first, last)
    world.settle(LONG_MS)
    assert set(world.offsets()) >= {0, 1, 3}
    assert world.start_offset() == 4
    if not states:
        return "letters" if copied else "nothing"
    return "letters" if copied else "archiving" if 3 in states else "archived"
