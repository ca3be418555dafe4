"""A scrape as Prometheus sees it: the broker, its requests and logs; and the pauses during a scrape."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from itertools import count, pairwise
from typing import Any

import pytest

from devtools.clients.requests import TIMESTAMP_MS, fetch_request, produce_request
from devtools.in_memory.mock_transport import BrokerWorld
from shareq import __version__
from shareq.broker.foundation.turn_budget import LOOK, PAUSE, PIECE, TURN_ELEMENTS, Pause
from shareq.broker.metadata.changes import PutQuota
from shareq.broker.metrics import data_folder, exposition, families
from shareq.broker.metrics.data_folder import FAMILIES
from shareq.broker.metrics.exposition import metric, scrape, text_of
from shareq.broker.metrics.families import MOST_QUOTA_ROWS
from shareq.broker.metrics.family import BOUNDS, Distribution, Family, Kind
from shareq.broker.metrics.rows import Snapshot
from shareq.broker.metrics.shares import SHARE_PARTITIONS, SeenPartition
from shareq.broker.network.listener import Listener, ListenerLimits, SocketConnection
from shareq.broker.quotas.entity import DEFAULT, QuotaEntity
from shareq.broker.share.core.counters import SharePartitionCounters
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.testing.broker import child_environment
from tests.support.clients.access import STANDARD
from tests.support.clients.share_client import ShareClient, append, from_the_start
from tests.support.coroutines import finished, paused_everywhere
from tests.support.worlds.metrics import Scraped, scraped, scraped_text

TOPIC = "kafka_server_broker_topic_metrics"
REQUEST = "kafka_network_request_metrics"


def shares(number: int, name: Callable[[int], str] = lambda _at: "g", **seen: Any) -> Snapshot:
    snapshot = Snapshot()
    counters = SharePartitionCounters()
    counters.deliveries, counters.redeliveries, counters.new_batches = 2, 1, 1
    for at in range(number):
        partition = SeenPartition(counters, 1, 1, 5, 7)._replace(**{key: values[at] for key, values in seen.items()})
        snapshot.take(SHARE_PARTITIONS, (name(at), "t", str(at)), partition)
    return snapshot


def text_of_shares(
    number: int, name: Callable[[int], str] = lambda _at: "g", *, names: bool = True, **seen: Any
) -> str:
    pieces = finished(text_of(shares(number, name, **seen), FAMILIES, lambda _elements=1: PAUSE, names=names))
    return b"".join(pieces).decode()


def test_every_metric_is_reported_with_its_type_even_by_a_broker_that_did_nothing() -> None:
    reported = scraped(BrokerWorld())
    assert {family.name: family.kind.value for family in FAMILIES}.items() <= reported.types.items()
    assert reported.value("shareq_build_info", version=__version__) == 1


def test_a_scrape_makes_nothing_that_nobody_has_used(world: BrokerWorld) -> None:
    scraped(world)
    assert list(world.services.made) == []


def test_stalls_of_the_loop(world: BrokerWorld) -> None:
    stalls = world.services.stalls
    stalls.durations.add(40_000_000)
    stalls.longest.add(40_000_000, world.clock.now_ns())
    text = scraped(world)
    assert text.value("shareq_event_loop_stall_seconds_sum") == 0.04
    assert text.value("shareq_event_loop_stall_seconds_bucket", le="0.03") == 0
    assert text.value("shareq_event_loop_stall_seconds_bucket", le="0.1") == 1
    assert text.value("shareq_event_loop_longest_stall_seconds") == 0.04
    assert text.value("shareq_long_requests") == 0


def test_uptime(world: BrokerWorld) -> None:
    started_ms = world.clock.now_ms()
    world.clock.advance(2_500)
    assert scraped(world, started_ms=started_ms).value("shareq_uptime_seconds") == 2.5


def test_traffic_and_logs(world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    append(world, "t", 10, batches=2)
    append(world, "t", 5, partition=1)
    reported = scraped(world)
    assert reported.value(f"{TOPIC}_messages_in_total", topic="t") == 25
    sizes = [reported.value("kafka_log_log_size_bytes", topic="t", partition=partition) for partition in ("0", "1")]
    assert reported.value(f"{TOPIC}_bytes_in_total", topic="t") == sum(sizes) > 0
    assert reported.value(f"{TOPIC}_bytes_out_total", topic="t") == 0
    assert reported.value("kafka_log_log_log_start_offset", topic="t", partition="0") == 0
    assert reported.value("kafka_log_log_log_end_offset", topic="t", partition="0") == 20
    assert reported.value("kafka_log_log_num_log_segments", topic="t", partition="0") == 1
    world.connect().call(fetch_request("t"), 12, FetchResponse)
    assert scraped(world).value(f"{TOPIC}_bytes_out_total", topic="t") == sizes[0]


def test_a_fetch_that_waits_is_counted_when_it_is_answered(world: BrokerWorld) -> None:
    world.create_topic("t")
    append(world, "t", 1)
    client = world.connect()
    client.send(fetch_request("t", max_wait_ms=500, min_bytes=100_000), 12)
    world.clock.run_until_idle()
    assert scraped(world).value(f"{TOPIC}_bytes_out_total", topic="t") == 0
    world.clock.advance(500)
    client.receive(FetchResponse)
    reported = scraped(world)
    size = reported.value("kafka_log_log_size_bytes", topic="t", partition="0")
    assert reported.value(f"{TOPIC}_bytes_out_total", topic="t") == size


def test_share_fetches_send_bytes_too(world: BrokerWorld) -> None:
    topic_id = world.create_topic("t").topic_id
    from_the_start(world)
    append(world, "t", 10)
    member = ShareClient(world)
    member.join("t")
    member.acquire((topic_id, 0))
    reported = scraped(world)
    size = reported.value("kafka_log_log_size_bytes", topic="t", partition="0")
    assert reported.value(f"{TOPIC}_bytes_out_total", topic="t") == size


def test_a_write_that_fails_is_no_traffic(world: BrokerWorld) -> None:
    world.create_topic("t")
    append(world, "t", 1)
    before = scraped(world)
    world.fs.space_left = 0
    with pytest.raises(AssertionError):
        append(world, "t", 1)
    reported = scraped(world)
    for name in (f"{TOPIC}_messages_in_total", f"{TOPIC}_bytes_in_total"):
        assert reported.value(name, topic="t") == before.value(name, topic="t")
    assert reported.value("kafka_log_log_log_end_offset", topic="t", partition="0") == 1


def test_a_log_that_went_offline(world: BrokerWorld) -> None:
    world.create_topic("t")
    append(world, "t", 1)
    world.folder.logs.get("t", 0).go_offline(OSError("the disk is gone"))
    assert scraped(world).value("kafka_server_replica_manager_offline_replica_count") == 1


def test_compacted_logs() -> None:
    world = BrokerWorld({"log.cleaner.backoff.ms": "100"})
    world.create_topic("c", cleanup_policy="compact", segment_bytes="1048576", min_cleanable_dirty_ratio="0")
    world.create_topic("t")
    append(world, "t", 1)
    cleaned = "shareq_log_cleaned_offset"
    assert scraped(world).labels_of(cleaned) == []
    client = world.connect()
    for _ in range(3):
        values = [RecordData(b"key", b"x" * 400_000)]
        request = produce_request(bytes(build_batch(values, timestamp_ms=TIMESTAMP_MS)), topic="c")
        client.call(request, 9, ProduceResponse)
    world.clock.advance(60_000)
    reported = scraped(world)
    assert reported.labels_of(cleaned) == [{"topic": "c", "partition": "0"}]
    segments = world.folder.logs.get("c", 0).segments
    assert reported.value(cleaned, topic="c", partition="0") == segments[-1].base_offset > 0
    assert reported.value("shareq_log_cleaner_passes_total") >= 1
    assert reported.value("kafka_log_log_cleaner_manager_uncleanable_partitions_count") == 0


def test_requests_by_name(world: BrokerWorld) -> None:
    client = world.connect()
    for _ in range(3):
        client.call(MetadataRequest(topics=None), 9, MetadataResponse)
    reported = scraped(world)
    assert reported.value(f"{REQUEST}_requests_total", request="Metadata") == 3
    assert reported.value(f"{REQUEST}_total_time_seconds_count", request="Metadata") == 3
    assert reported.value(f"{REQUEST}_total_time_seconds_bucket", request="Metadata", le="0.0001") == 3
    assert reported.labels_of(f"{REQUEST}_requests_total") == [{"request": "Metadata"}]


def test_listeners(world: BrokerWorld) -> None:
    listener = Listener(
        "OUTSIDE",
        clock=world.clock,
        handler_for=world.broker.handler_for,
        limits=ListenerLimits(),
        room=world.services.answer_budget,
        next_id=lambda: 1,
    )
    listener.bytes_in, listener.bytes_out, listener.accepted, listener.refused = 1, 2, 3, 4
    world.services.answer_budget.note_unsent(SocketConnection(listener), 77)
    reported = scraped(world, [listener])
    prefix = "kafka_server_socket_server_metrics"
    assert reported.value(f"{prefix}_incoming_byte_total", listener="OUTSIDE") == 1
    assert reported.value(f"{prefix}_outgoing_byte_total", listener="OUTSIDE") == 2
    assert reported.value(f"{prefix}_connection_creation_total", listener="OUTSIDE") == 3
    assert reported.value("shareq_connections_refused_total", listener="OUTSIDE") == 4
    assert reported.value(f"{prefix}_connection_count", listener="OUTSIDE") == 0
    assert reported.value("shareq_held_reply_bytes") == 77


def test_quotas_by_whom_they_were_set_for(world: BrokerWorld) -> None:
    world.create_topic("t")
    default, alice = QuotaEntity(None, DEFAULT), QuotaEntity("alice", "app")
    limits = [PutQuota(default, "producer_byte_rate", 10.0), PutQuota(alice, "controller_mutation_rate", 2.0)]
    world.services.metadata.alter_quotas(limits)
    client = world.connect(client_id="made-up")
    request = produce_request(bytes(build_batch([RecordData(None, b"x" * 100)], timestamp_ms=1)), topic="t")
    size = len(client.requests.frame_of(request, 9)) - 4
    client.requests.forget_last()
    throttle_ms = client.call(request, 9, ProduceResponse).throttle_time_ms
    reported = scraped(world)
    labels = {"quota": "producer_byte_rate", "user": "", "client_id": "<default>"}
    assert reported.value("shareq_quota_limit", **labels) == 10
    assert reported.value("shareq_quota_used_total", **labels) == size
    assert reported.value("shareq_quota_throttle_time_seconds_total", **labels) == throttle_ms / 1000 > 0
    labels = {"quota": "controller_mutation_rate", "user": "alice", "client_id": "app"}
    assert reported.value("shareq_quota_used_total", **labels) == 0
    assert len(reported.labels_of("shareq_quota_limit")) == 2
    assert "made-up" not in reported.text


def test_as_many_quotas_have_samples_as_are_allowed(world: BrokerWorld) -> None:
    users = [PutQuota(QuotaEntity(f"u{number}"), "producer_byte_rate", 1.0) for number in range(MOST_QUOTA_ROWS + 5)]
    world.services.metadata.alter_quotas(users)
    assert len(scraped(world).labels_of("shareq_quota_limit")) == MOST_QUOTA_ROWS


def test_without_names_there_is_one_sample_for_all_and_none_of_offsets() -> None:
    text = text_of_shares(3, lambda _at: "secret", names=False)
    reported, named = Scraped(text), Scraped(text_of_shares(3, lambda _at: "secret"))
    assert "secret" not in text
    assert reported.value("shareq_share_partition_lag") == 21
    assert "shareq_share_partition_start_offset" not in text
    batches = "kafka_server_share_partition_metrics_in_flight_batch_message_count_count"
    each = [named.value(batches, group="secret", topic="t", partition=str(number)) for number in range(3)]
    assert reported.value(batches) == sum(each) > 0
    for family in FAMILIES:
        for labels in reported.labels_of(family.name):
            assert {"topic", "group", "user", "client_id"}.isdisjoint(labels), family.name


def test_without_names_the_greatest_age_stands_for_all() -> None:
    text = text_of_shares(4, oldest_ms=(2_000, 9_000, None, 0), names=False)
    assert "\nshareq_share_partition_oldest_unacknowledged_age_seconds 9.0\n" in text


@pytest.mark.parametrize(
    ("properties", "names"),
    [
        ({}, True),
        ({"shareq.metrics.names": "false"}, False),
        ({"authorizer.class.name": STANDARD}, False),
        ({"authorizer.class.name": STANDARD, "shareq.metrics.names": "true"}, True),
    ],
)
def test_names_are_shown_unless_access_is_restricted(properties: dict[str, str], names: bool) -> None:
    world = BrokerWorld(properties)
    world.create_topic("secret-topic")
    world.folder.logs.get("secret-topic", 0)
    assert ("secret-topic" in scraped(world).text) is names


def test_any_name_can_be_a_label() -> None:
    odd = 'a "group"\nwith \\ and ü'
    reported = Scraped(text_of_shares(1, lambda _at: odd))
    assert reported.value("shareq_share_partition_lag", group=odd, topic="t", partition="0") == 7


@pytest.mark.parametrize("number", [0, 1, PIECE - 1, PIECE, PIECE + 1, 1_000])
def test_many_rows_come_in_pieces_under_one_head(number: int) -> None:
    breaths: list[int] = []

    def breathe(elements: int = 1) -> Pause:
        breaths.append(elements)
        return PAUSE

    pieces = finished(text_of(shares(number), FAMILIES, breathe))
    reported = Scraped(b"".join(pieces).decode())  # which would notice a sample that comes twice
    assert reported.text.count("# TYPE shareq_share_partition_lag gauge\n") == 1
    assert len(reported.labels_of("shareq_share_partition_lag")) == number
    for piece in pieces:
        samples = [line for line in piece.splitlines() if not line.startswith(b"#")]
        assert len(samples) <= 2 * PIECE  # a summary has two lines a sample
    assert max(breaths) == max(1, min(number, PIECE))


def test_a_scrape_has_so_many_samples_of_a_metric_and_counts_the_others() -> None:
    """The samples of 10,000 share groups were 34 MB."""
    number = exposition.MOST_SAMPLES + 1_234
    text = text_of_shares(number, lambda at: f"g{at}")
    assert text.count("\nshareq_share_partition_lag{") == exposition.MOST_SAMPLES
    assert '\nshareq_share_partition_lag{group="g4999",' in text
    assert '\nshareq_metrics_left_out_samples{metric="shareq_share_partition_lag"} 1234.0\n' in text
    assert f"each metric has {exposition.MOST_SAMPLES}, of the first groups" in text
    small = text_of_shares(1)
    assert "\nshareq_metrics_left_out_samples{" not in small


def test_the_collector_rests_during_a_scrape_and_rows_are_given_back_in_pieces(world: BrokerWorld) -> None:
    """Repeated scans of all rows of 10,000 groups delayed other clients by 0.2 s."""
    world.create_topic("t", TURN_ELEMENTS + LOOK)
    resting: list[bool] = []
    assert gc.isenabled()
    assert len(scraped_text(world, lambda: resting.append(not gc.isenabled()))) > 1_000
    assert resting
    assert all(resting)
    assert gc.isenabled()
    cut_off = scrape(world.services, {}, [], 0)
    cut_off.send(None)
    assert not gc.isenabled()
    cut_off.close()
    assert gc.isenabled()


def test_the_snapshot_pauses_after_some_rows(world: BrokerWorld) -> None:
    world.create_topic("t", 5 * TURN_ELEMENTS)
    ShareClient(world).join("t")
    taken = Snapshot()
    lengths = [0]
    finished(
        families.take(taken, world.services, data_folder, {}, [], 0),
        lambda: lengths.append(len(taken.rows.get(SHARE_PARTITIONS, ()))),
    )
    lengths.append(len(taken.rows[SHARE_PARTITIONS]))
    assert lengths[-1] == 5 * TURN_ELEMENTS
    assert max(after - before for before, after in pairwise(lengths)) <= TURN_ELEMENTS + LOOK


def test_the_broker_may_change_at_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    paused_everywhere(monkeypatch)
    world = BrokerWorld()
    world.create_topic("t", 300)
    world.create_topic("u")
    append(world, "u", 1)
    member = ShareClient(world)
    member.join("t")
    number = count()

    def change() -> None:
        match next(number):
            case 3:
                world.folder.metadata.delete_topics(["u"])
                member.leave()
                ShareClient(world, "other", group="h").join("t")
            case 120:
                world.folder.metadata.delete_topics(["t"])
        world.clock.run_until_idle()

    assert Scraped(scraped_text(world, change)).value("shareq_uptime_seconds") > 0


def test_a_number_is_no_distribution() -> None:
    text = Family(Kind.GAUGE, "shareq_x", (), "x", lambda _snapshot: [])
    with pytest.raises(TypeError):
        metric(text, [((), Distribution(1, 1))])
    with pytest.raises(TypeError):
        metric(text._replace(kind=Kind.SUMMARY), [((), 1)])


def test_bounds_are_written_as_prometheus_does() -> None:
    assert BOUNDS == ("0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1", "3", "10", "30", "+Inf")


def test_nothing_of_prometheus_is_imported_without_metrics() -> None:
    """The import would nearly double the start time."""
    code = (
        "import sys, shareq.ops.cli.main, shareq.broker.process.server, shareq.broker.groups.coordinator\n"
        "import shareq.broker.share.partitions, shareq.broker.handlers.share.share_fetch\n"
        "print([name for name in sys.modules if 'prometheus' in name or name.startswith('shareq.broker.metrics.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=child_environment()
    )
    assert done.stdout.strip() == "[]"
