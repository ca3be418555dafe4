from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from shareq.broker.log.append import Origin
from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.broker.metrics.data_folder import LETTER_ENDS, REDRIVE_ENDS
from shareq.broker.redrive.progress import State, What
from shareq.broker.redrive.service import MOST_DESCRIBED, MOST_RUNNING
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.cancel_redrive import CancelRedriveRequest, CancelRedriveResponse
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_records import DeleteRecordsResponse
from shareq.protocol.generated.describe_redrives import DescribeRedrivesRequest, DescribeRedrivesResponse
from shareq.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from shareq.protocol.generated.start_redrive import StartRedriveRequest, StartRedriveResponse
from shareq.protocol.records.batch import Compression, RecordData, build_batch
from tests.support.clients.administration import delete_records_request
from tests.support.clients.share_client import REJECT, from_the_start
from tests.support.worlds.dead_letters import DeadLetterWorld
from tests.support.worlds.metrics import scraped
from tests.support.worlds.redrives import QUEUE, TOPIC, RedriveWorld, counts_of, header, kept, letter

GROUP_TARGET = 1


def test_letters_go_back_to_their_partitions_with_headers_that_say_so() -> None:
    world = RedriveWorld(3, 1)
    world.bury(letter(b"a", 7, partition=2), letter(b"b", 8))
    done = world.run()
    assert (done.state, counts_of(done)) == ("DONE", {"REDRIVEN": 2})
    (record,) = world.records(partition=2)
    assert (record.key, record.value) == (b"k", b"a")
    assert record.headers == (
        ("__redrive.name", b"again"),
        ("__redrive.timestamp", b"%d" % record.timestamp),
        ("__redrive.count", b"1"),
        ("__redrive.queue.topic", QUEUE.encode()),
        ("__redrive.queue.partition", b"0"),
        ("__redrive.queue.offset", b"0"),
        ("__redrive.group", b"g"),
        ("__redrive.to", b"topic"),
    )
    assert world.values() == [b"b"]
    assert world.values(partition=1) == []
    assert [(row.partition, row.next_offset, row.end_offset) for row in done.partitions] == [(0, 2, 2)]
    assert len(world.records(QUEUE)) == 2, "letters stay in the queue"


def test_a_header_whose_name_is_no_utf8_goes_back_as_it_was(world: RedriveWorld) -> None:
    odd = b"\xff caf\xe9".decode("utf-8", "surrogateescape")
    world.bury(kept(b"a", 0, own=((odd, b"x"),)), letter(b"b", 1))
    assert counts_of(world.run()) == {"REDRIVEN": 2}
    assert world.values() == [b"a", b"b"]
    assert world.records()[0].headers[0] == (odd, b"x")


def test_redrives_and_their_letters_are_counted() -> None:
    assert [end.value.lower() for end in State if end is not State.RUNNING] == list(REDRIVE_ENDS)
    assert [what.value.lower() for what in What] == list(LETTER_ENDS)
    world = RedriveWorld()
    reported = scraped(world.world)
    assert reported.value("shareq_redrive_letters_total", outcome="redriven") == 0
    assert reported.value("shareq_redrives_ended_total", state="done") == 0
    world.bury(letter(b"a", 7), letter(b"b", 8), RecordData(None, b"no letter"))
    world.run()
    reported = scraped(world.world)
    assert reported.value("shareq_redrive_letters_total", outcome="redriven") == 2
    assert reported.value("shareq_redrive_letters_total", outcome="not_a_letter") == 1
    assert reported.value("shareq_redrives_ended_total", state="done") == 1
    assert reported.value("shareq_redrives_running") == 0
    assert reported.value("shareq_redrives_waiting") == 0


def test_headers_of_the_letter_go_and_those_of_the_record_stay(world: RedriveWorld) -> None:
    own = (("trace", b"1"), ("__dlq.errors.topic", b"older"), ("__redrive.count", b"4"), ("__redrive.name", b"first"))
    world.bury(kept(b"a", 0, own=own))
    world.run()
    (record,) = world.records()
    assert not [name for name, _ in record.headers if name.startswith("__dlq.")]
    assert header(record, "trace") == [b"1"]
    assert (header(record, "__redrive.count"), header(record, "__redrive.name")) == ([b"5"], [b"again"])


def test_what_dies_again_counts_on_although_letters_have_no_headers_of_the_record() -> None:
    """The headers come from the dead record in the log: Apache Kafka's letters omit them."""
    dead = DeadLetterWorld(share_delivery_count_limit="2")
    dead.produce(RecordData(b"k", b"v", (("trace", b"1"),)))
    world = RedriveWorld.over(dead.world)
    for times in range(1, 4):
        (acquired,) = dead.take()
        dead.end(REJECT, acquired[0], acquired[0])
        end = times - 1
        world.run(f"number{times}", first_offset=end, queue_partition=0)
        record = world.records()[-1]
        assert (header(record, "trace"), header(record, "__redrive.count")) == ([b"1"], [b"%d" % times])
        assert header(record, "__redrive.queue.offset") == [b"%d" % end]


def test_a_reference_gets_its_content_from_the_log_it_is_from(world: RedriveWorld) -> None:
    world.produce(TOPIC, RecordData(b"a", b"A", (("own", b"1"),)), RecordData(b"b", b"B"), compression=Compression.GZIP)
    world.bury(letter(None, 0, key=None), letter(None, 1, key=None), letter(None, 9, key=None))
    done = world.run()
    assert counts_of(done) == {"REDRIVEN": 2, "WITHOUT_CONTENT": 1}
    back = world.records()[2:]
    assert [(each.key, each.value) for each in back] == [(b"a", b"A"), (b"b", b"B")]
    assert header(back[0], "own") == [b"1"]


def test_a_record_that_is_another_by_now_lends_no_headers(world: RedriveWorld) -> None:
    """The topic was deleted and created again, so the record at the offset is another one."""
    world.produce(TOPIC, RecordData(b"other", b"other", (("own", b"1"),)))
    world.bury(letter(b"a", 0))
    world.run()
    back = world.records()[-1]
    assert (back.value, header(back, "own")) == (b"a", [])


FILTERS = [
    ({"group_id": "g"}, [0, 1, 2, 3]),
    ({"group_id": "h"}, [4]),
    ({"source_topic": TOPIC, "source_partition": 1}, [2]),
    ({"source_topic": "u"}, [3]),
    ({"first_source_offset": 11, "last_source_offset": 12}, [1, 2]),
    ({"reason": "Offset delivery count exceeded the threshold."}, [1]),
    ({"reason": "CLIENT_REJECTED"}, [2]),
    ({"died_from_ms": 100, "died_until_ms": 200}, [2]),
    ({"died_from_ms": 200, "died_until_ms": 300}, []),
    ({"queue_partition": 0, "first_offset": 3}, [3, 4]),
    ({"queue_partition": 0, "first_offset": 1, "last_offset": 2}, [1, 2]),
    ({"queue_partition": 0, "first_offset": 2, "last_offset": 2}, [2]),
    ({"queue_partition": 0, "first_offset": 9}, []),
    ({}, [0, 1, 2, 3, 4]),
]


@pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=str)
def test_one_or_some_or_all(filters: dict[str, Any], expected: list[int]) -> None:
    world = RedriveWorld(2)
    world.world.create_topic("u")
    world.bury(
        letter(b"0", 10),
        letter(b"1", 11, message="Offset delivery count exceeded the threshold."),
        kept(b"2", 12, partition=1, died_ms=199),  # type: ignore[arg-type]
        letter(b"3", 13, topic="u"),
        letter(b"4", 14, group="h"),
    )
    done = world.run(**filters)
    sent = sorted(int(value or b"") for place in ((TOPIC, 0), (TOPIC, 1), ("u", 0)) for value in world.values(*place))
    assert sent == expected
    assert counts_of(done).get("REDRIVEN", 0) == len(expected)


def test_only_what_was_there_when_it_began_goes_back(world: RedriveWorld) -> None:
    """Letters of records that die again are ignored, so that none goes round in circles."""
    world.bury(letter(b"a", 0), letter(b"b", 1))
    assert world.start(records_per_second=1) is ErrorCode.NONE
    world.bury(letter(b"later", 2))
    done = world.finish()
    assert world.values() == [b"a", b"b"]
    assert [row.end_offset for row in done.partitions] == [2]


def test_the_rate_bounds_what_goes_back_in_a_second(world: RedriveWorld) -> None:
    world.bury(*(letter(b"%d" % number, number) for number in range(100)))
    assert world.start(records_per_second=20) is ErrorCode.NONE
    begun = len(world.values())
    for second in range(1, 4):
        world.world.clock.advance(1_000)
        assert begun + 20 * second - 2 <= len(world.values()) <= begun + 20 * second
    assert world.describe().state == "RUNNING"
    assert begun <= 2
    world.finish()
    assert world.values() == [b"%d" % number for number in range(100)]


def test_one_record_in_many_seconds_is_a_rate_too(world: RedriveWorld) -> None:
    world.bury(letter(b"a", 0), letter(b"b", 1), letter(b"c", 2))
    world.start(records_per_second=1)
    world.world.clock.advance(999)
    assert world.values() == [b"a"]
    world.world.clock.advance(1)
    assert world.values() == [b"a", b"b"]


def test_progress_is_read_by_name_among_all_and_as_a_groups_lag() -> None:
    world = RedriveWorld(1, 2)
    for partition in range(2):
        world.bury(*(letter(b"v", number) for number in range(30)), partition=partition)
    world.start(records_per_second=100)
    world.world.clock.advance(100)
    found = world.describe()
    assert (found.state, found.trouble, found.owner, found.records_per_second) == (
        "RUNNING",
        None,
        "User:ANONYMOUS",
        100,
    )
    assert [(row.next_offset, row.end_offset) for row in found.partitions] == [(20, 30), (0, 30)]
    assert counts_of(found) == {"REDRIVEN": 20}
    world.finish()
    assert world.all_redrives() == {"again": "DONE"}
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("shareq.redrive.again", topics=None)])
    answer = world.world.connect().call(request, 9, OffsetFetchResponse)
    rows = [(row.partition_index, row.committed_offset) for row in answer.groups[0].topics[0].partitions]
    assert rows == [(0, 30), (1, 30)]
    assert world.describe("unknown").error_code == ErrorCode.RESOURCE_NOT_FOUND


def test_a_cancelled_redrive_stays_where_it_is_for_good(world: RedriveWorld) -> None:
    world.bury(*(letter(b"%d" % number, number) for number in range(100)))
    world.start(records_per_second=10)
    world.world.clock.advance(1_000)
    assert world.cancel() is ErrorCode.NONE
    sent = len(world.values())
    assert 0 < sent < 100
    assert [row.next_offset for row in world.describe().partitions] == [sent]
    world.world.crash()
    world.world.clock.advance(60_000)
    assert (world.describe().state, len(world.values())) == ("CANCELLED", sent)
    assert world.cancel() is ErrorCode.NONE
    assert world.cancel("unknown") is ErrorCode.RESOURCE_NOT_FOUND


def test_a_redrive_that_waits_can_be_cancelled(world: RedriveWorld) -> None:
    world.bury(letter(b"a", 0))
    world.world.fs.fail = lambda kind, path: OSError(5, "broken") if "/t-0/" in path else None
    world.start()
    assert world.describe().trouble == "t-0 cannot be written: KAFKA_STORAGE_ERROR"
    reported = scraped(world.world)
    assert reported.value("shareq_redrives_running") == reported.value("shareq_redrives_waiting") == 1
    assert world.cancel() is ErrorCode.NONE
    assert world.describe().state == "CANCELLED"
    reported = scraped(world.world)
    assert reported.value("shareq_redrives_running") == reported.value("shareq_redrives_waiting") == 0
    assert reported.value("shareq_redrives_ended_total", state="cancelled") == 1


def test_a_redrive_that_is_just_beginning_is_cancelled_when_it_has_begun(world: RedriveWorld) -> None:
    world.bury(*(letter(b"%d" % number, number) for number in range(100)))
    begins, cancels = world.world.connect(), world.world.connect()
    begins.send(StartRedriveRequest("again", QUEUE, records_per_second=10), 0)
    cancels.send(CancelRedriveRequest("again"), 0)
    world.world.clock.advance(60_000)
    assert begins.receive(StartRedriveResponse).error_code == ErrorCode.NONE
    assert cancels.receive(CancelRedriveResponse).error_code == ErrorCode.NONE
    assert (world.describe().state, world.values()) == ("CANCELLED", [])


def test_a_redrive_that_did_not_begin_cannot_be_cancelled(world: RedriveWorld) -> None:
    world.world.fs.fail = lambda kind, path: OSError(5, "broken") if "__consumer_offsets" in path else None
    begins, cancels = world.world.connect(), world.world.connect()
    begins.send(StartRedriveRequest("again", QUEUE, records_per_second=10), 0)
    cancels.send(CancelRedriveRequest("again"), 0)
    world.world.clock.advance(60_000)
    assert begins.receive(StartRedriveResponse).error_code != ErrorCode.NONE
    assert cancels.receive(CancelRedriveResponse).error_code == ErrorCode.RESOURCE_NOT_FOUND


def test_a_cancel_that_cannot_be_made_durable_is_answered_when_the_broker_stops(world: RedriveWorld) -> None:
    world.bury(letter(b"a", 0), letter(b"b", 1))
    world.start(records_per_second=1)
    world.world.fs.fail = lambda kind, path: OSError(5, "broken") if "__consumer_offsets" in path else None
    client = world.world.connect()
    client.send(CancelRedriveRequest("again"), 0)
    world.world.clock.advance(10_000)
    assert not client.frames
    world.world.broker.stop_waiting()
    assert client.receive(CancelRedriveResponse).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.world.crash()
    assert world.finish().state == "DONE"
    assert world.values() == [b"a", b"b"]


REFUSED = [
    ({"queue": "unknown"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ({"queue": "__consumer_offsets"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ({"queue_partition": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ({"name": ""}, ErrorCode.INVALID_REQUEST),
    ({"name": "a b"}, ErrorCode.INVALID_REQUEST),
    ({"name": "a" * 101}, ErrorCode.INVALID_REQUEST),
    ({"records_per_second": 0}, ErrorCode.INVALID_REQUEST),
    ({"records_per_second": 1_000_001}, ErrorCode.INVALID_REQUEST),
    ({"target": 2}, ErrorCode.INVALID_REQUEST),
    ({"target": GROUP_TARGET}, ErrorCode.INVALID_REQUEST),
    ({"target": GROUP_TARGET, "group_id": ""}, ErrorCode.INVALID_REQUEST),
    ({"first_offset": 1}, ErrorCode.INVALID_REQUEST),
    ({"last_offset": 1}, ErrorCode.INVALID_REQUEST),
    ({"source_partition": -2}, ErrorCode.INVALID_REQUEST),
    ({"died_until_ms": -2}, ErrorCode.INVALID_REQUEST),
    pytest.param({"reason": "é" * 400}, ErrorCode.INVALID_REQUEST, id="a reason that is too long in bytes"),
    ({"target": GROUP_TARGET, "group_id": "latest"}, ErrorCode.INVALID_CONFIG),
    ({"target": GROUP_TARGET, "group_id": "a b"}, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ({"target": GROUP_TARGET, "group_id": "g" * 249}, ErrorCode.INVALID_TOPIC_EXCEPTION),
]


@pytest.mark.parametrize(("fields", "error"), REFUSED, ids=str)
def test_what_cannot_be_done_is_refused_with_a_reason(
    fields: dict[str, Any], error: ErrorCode, world: RedriveWorld
) -> None:
    world.bury(letter(b"a", 0))
    fields = dict(fields)
    answer = world.start_answer(str(fields.pop("name", "again")), **fields)
    assert answer.error_code == error
    assert answer.error_message
    assert world.all_redrives() == {}
    assert world.values() == []


def test_a_name_serves_once(world: RedriveWorld) -> None:
    world.bury(letter(b"a", 0), letter(b"b", 1))
    assert world.start(records_per_second=1) is ErrorCode.NONE
    assert world.start() is ErrorCode.DUPLICATE_RESOURCE
    world.finish()
    assert world.start() is ErrorCode.DUPLICATE_RESOURCE
    world.world.restart()
    assert world.start() is ErrorCode.DUPLICATE_RESOURCE
    assert world.values() == [b"a", b"b"]


def test_so_many_run_at_a_time(world: RedriveWorld) -> None:
    world.bury(letter(b"a", 0), letter(b"b", 1))
    for number in range(MOST_RUNNING):
        assert world.start(f"r{number}", records_per_second=1, again=True) is ErrorCode.NONE
    assert world.start("more") is ErrorCode.POLICY_VIOLATION
    world.finish("r0")
    assert world.start("more") is ErrorCode.NONE


def test_one_user_does_not_take_all_places(world: RedriveWorld) -> None:
    """One user's redrives once kept all other users waiting."""
    world.bury(letter(b"a", 0), letter(b"b", 1))
    greedy, other = world.world.connect(), world.world.connect()
    greedy.side.principal, other.side.principal = "User:greedy", "User:other"
    for number in range(MOST_RUNNING):
        assert world.start(f"r{number}", client=greedy, records_per_second=1, again=True) is ErrorCode.NONE
    parts = MOST_RUNNING // 2
    for number in range(parts):
        assert world.start(f"o{number}", client=other, records_per_second=1, again=True) is ErrorCode.NONE
    refused = world.start_answer("o", client=other)
    assert ErrorCode(refused.error_code) is ErrorCode.POLICY_VIOLATION
    assert refused.error_message is not None
    assert f"{MOST_RUNNING + parts} redrives are running" in refused.error_message
    assert world.start("r", client=greedy) is ErrorCode.POLICY_VIOLATION
    third = world.world.connect()
    third.side.client_host = "10.0.0.3"  # without authentication the machine counts
    assert world.start("t", client=third, records_per_second=1) is ErrorCode.NONE


def test_so_many_are_described_at_a_time(world: RedriveWorld) -> None:
    world.bury(letter(b"a", 0), letter(b"b", 1))
    for number in range(MOST_DESCRIBED):
        world.run(f"r{number:03}", group_id="nobody")
    world.start("z", records_per_second=1)
    assert list(world.all_redrives()) == ["z", *(f"r{number:03}" for number in range(MOST_DESCRIBED - 1))]
    request = DescribeRedrivesRequest(["a"] * (MOST_DESCRIBED + 1))
    answer = world.world.connect().call(request, 0, DescribeRedrivesResponse)
    assert (answer.error_code, answer.redrives) == (ErrorCode.INVALID_REQUEST, [])


def test_the_group_of_a_redrive_counts_for_its_user() -> None:
    world = RedriveWorld(properties={"shareq.max.groups.per.principal": "2"})
    assert [world.start(name) for name in "abc"] == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.GROUP_MAX_SIZE_REACHED]


def test_what_waits_longer_and_longer_is_logged_once(caplog: pytest.LogCaptureFixture, world: RedriveWorld) -> None:
    world.bury(letter(b"a", 0))
    steps = world.world.fs
    failed: list[int] = []

    def fail(_kind: str, path: str) -> OSError | None:
        if "/t-0/" not in path:
            return None
        failed.append(world.world.clock.now_ms())
        return OSError(5, "broken")

    steps.fail = fail
    world.start()
    world.world.clock.advance(120_000)
    waits = [after - before for before, after in pairwise(failed) if after > before]
    assert 1_600 <= waits[0] <= 2_400
    assert waits[:4] == sorted(waits[:4])
    assert len(waits) < 12
    assert caplog.text.count("redrive again: waits") == 1
    steps.fail = None
    assert world.finish().state == "DONE"
    assert world.values() == [b"a"]


def test_offsets_have_to_take_the_progress() -> None:
    world = RedriveWorld(properties={"offset.metadata.max.bytes": "4095"})
    assert world.start() is ErrorCode.INVALID_CONFIG


# -- to the group alone


def test_letters_go_to_the_group_alone_by_a_topic_of_its_own() -> None:
    world = RedriveWorld(3)
    from_the_start(world.world)
    world.bury(letter(b"a", 7, partition=2), letter(b"other", 8, group="h"))
    done = world.run(target=GROUP_TARGET, group_id="g")
    assert counts_of(done) == {"REDRIVEN": 1, "FILTERED": 1}
    (record,) = world.records("redrive.g")
    assert record.value == b"a"
    assert [header(record, f"__redrive.source.{name}") for name in ("topic", "partition", "offset")] == [
        [b"t"],
        [b"2"],
        [b"7"],
    ]
    assert header(record, "__redrive.to") == [b"group"]
    assert all(world.values(partition=partition) == [] for partition in range(3))


def test_a_member_that_subscribes_to_the_groups_topic_gets_what_was_sent_before() -> None:
    dead = DeadLetterWorld()
    dead.produce(b"v")
    dead.take()
    dead.end(REJECT, 0, 0)
    world = RedriveWorld.over(dead.world)
    world.run(target=GROUP_TARGET, group_id="g")
    topic = dead.world.services.metadata.topic("redrive.g")
    assert topic is not None
    dead.member.heartbeat("t", "redrive.g")
    assert dead.member.acquire((topic.topic_id, 0)) == [(0, 0, 1)]
    dead.end(REJECT, 0, 0)


# -- what stays in the queue


def test_what_cannot_go_back_stays_and_is_counted() -> None:
    world = RedriveWorld(max_message_bytes="1000")
    world.bury(
        RecordData(b"k", b"no letter"),
        letter(b"a", 0),
        letter(b"b", 1, topic="deleted"),
        letter(b"c", 2, topic="__consumer_offsets"),
        letter(b"x" * 2_000, 3),
        letter(b"d", 4),
        RecordData(b"k", b"v", (("__dlq.errors.topic", b"t"), ("__dlq.errors.group", b"g"))),
        RecordData(b"k", b"v", letter(b"", 1, partition=-1).headers),
    )
    done = world.run()
    assert world.values() == [b"a", b"d"]
    assert counts_of(done) == {"REDRIVEN": 2, "NOT_A_LETTER": 3, "NO_TOPIC": 2, "REFUSED": 1}


def test_records_without_a_key_stay_where_a_compacted_topic_refuses_them() -> None:
    world = RedriveWorld(cleanup_policy="compact")
    world.bury(letter(b"a", 0, key=None), letter(b"b", 1), letter(b"c", 2, key=None))
    done = world.run()
    assert (world.values(), counts_of(done)) == ([b"b"], {"REDRIVEN": 1, "REFUSED": 2})


def test_letters_that_are_refused_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    world = RedriveWorld(cleanup_policy="compact")
    world.bury(*(letter(b"%d" % number, number, key=None) for number in range(100)))
    assert counts_of(world.run()) == {"REFUSED": 100}
    assert caplog.text.count("a letter below offset") == 60


def test_what_others_write_in_transactions_is_no_letter(world: RedriveWorld) -> None:
    """A record of a transaction may have been aborted."""
    batch = build_batch([letter(b"a", 0)], timestamp_ms=1, producer_id=5, producer_epoch=0, base_sequence=0)
    batch_in_transaction = build_batch(
        [letter(b"b", 1)], timestamp_ms=1, producer_id=6, producer_epoch=0, base_sequence=0, transactional=True
    )
    for each in (batch, batch_in_transaction):
        log = world.world.folder.logs.get(QUEUE, 0)
        log.append(each, origin=Origin.COORDINATOR, now_wall_ms=1)
    world.world.clock.run_until_idle()
    assert counts_of(world.run()) == {"REDRIVEN": 1, "NOT_A_LETTER": 1}
    assert world.values() == [b"a"]


def test_a_redrive_ends_with_its_queue(world: RedriveWorld) -> None:
    world.bury(letter(b"a", 0), letter(b"b", 1))
    world.start(records_per_second=1)
    world.world.folder.metadata.delete_topics([QUEUE])
    world.world.clock.advance(60_000)
    assert world.all_redrives() == {}
    assert world.values() == [b"a"]


def test_a_topics_properties_may_change_while_it_runs() -> None:
    world = RedriveWorld(max_message_bytes="300")
    world.bury(letter(b"x" * 1_000, 0), letter(b"b", 1), letter(b"y" * 1_000, 2))
    world.start(records_per_second=1)
    world.world.services.metadata.alter_configs([PutConfig(ResourceName("topic", TOPIC), "max.message.bytes", "10000")])
    done = world.finish()
    assert counts_of(done) == {"REDRIVEN": 2, "REFUSED": 1}


# -- what keeps the progress


def test_what_runs_does_not_expire_and_what_is_over_does() -> None:
    """`offsets.retention.minutes` applies to ended redrives; then the name is free again."""
    world = RedriveWorld(1, 3, {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"})
    for partition in range(3):
        world.bury(letter(b"%d" % partition, 0), partition=partition)
    world.start(records_per_second=1)
    world.world.fs.fail = lambda kind, path: OSError(5, "broken") if "/t-0/" in path else None
    world.world.clock.advance(600_000)
    world.world.fs.fail = None
    world.world.crash()
    assert world.describe().state == "RUNNING"
    world.finish()
    assert sorted(value or b"" for value in world.values()) == [b"0", b"1", b"2"]
    world.world.clock.advance(120_000)
    assert world.all_redrives() == {"again": "DONE"}, "the queue has letters that it has sent back"
    ends = dict.fromkeys(range(3), 1)
    world.world.connect().call(delete_records_request(QUEUE, ends), 2, DeleteRecordsResponse)
    assert world.start("other") is ErrorCode.NONE
    world.world.clock.advance(120_000)
    assert world.all_redrives() == {}
    assert world.start() is ErrorCode.NONE


def test_a_redrive_whose_progress_is_deleted_does_not_begin_again(caplog: pytest.LogCaptureFixture) -> None:
    world = RedriveWorld(1, 2)
    for partition in range(2):
        world.bury(*(letter(b"%d %d" % (partition, number), number) for number in range(5)), partition=partition)
    world.start(records_per_second=1)
    request = DeleteGroupsRequest(["shareq.redrive.again"])
    answer = world.world.connect().call(request, 2, DeleteGroupsResponse)
    assert answer.results[0].error_code == ErrorCode.NONE
    world.world.clock.advance(2_000)
    sent = world.values()
    world.world.crash()
    world.world.clock.advance(60_000)
    assert world.values() == sent
    assert "its redrive does not go on: shareq.redrive.again: of 2 committed offsets 1 are left" in caplog.text
