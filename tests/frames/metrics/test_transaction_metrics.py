"""A scrape's metrics of transactions, after producers' requests, or without them, over frames."""

from __future__ import annotations

import pytest

from devtools.clients.requests import TIMESTAMP_MS, batch, produce
from devtools.clients.transactor import JAVA_TV1, JAVA_TV2, Transactor, Versions
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.transactions.markers import RETRY_MS
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import TRANSACTION_STATE
from tests.support.fakes.broken_disk import broken, second_write_broken
from tests.support.kafka.transactions import append as append_directly
from tests.support.worlds.metrics import Scraped, scraped

NONE = ErrorCode.NONE
IDS = "shareq_transactional_ids"
AGE = "shareq_oldest_open_transaction_age_seconds"
ENDED = "shareq_transactions_ended_total"
TIMED_OUT = "shareq_transactions_timed_out_total"
MARKERS = "shareq_transaction_markers_to_retry"
ENDS = "kafka_coordinator_transaction_transaction_marker_channel_manager_log_append_retry_queue_size"
UNSTABLE = "kafka_cluster_partition_last_stable_offset_lag"
REPLICAS = "kafka_server_replica_manager"
COORDINATOR = "kafka_server_transaction_coordinator_metrics"
VERSIONS = [pytest.param(JAVA_TV1, id="tv1"), pytest.param(JAVA_TV2, id="tv2")]


class World:
    def __init__(self) -> None:
        self.world = BrokerWorld({"transaction.state.log.num.partitions": "2"})
        for topic in ("a", "b"):
            self.world.create_topic(topic)
        self.client = self.world.connect()

    def producer(
        self, transactional_id: str = "t", versions: Versions = JAVA_TV2, *, timeout_ms: int = 60_000
    ) -> Transactor:
        producer = Transactor(self.client, versions, transactional_id)
        assert producer.init(timeout_ms=timeout_ms) is NONE
        return producer

    def scrape(self) -> Scraped:
        return scraped(self.world)

    def states(self) -> dict[str, float]:
        reported = self.scrape()
        counts = {labels["state"]: reported.value(IDS, **labels) for labels in reported.labels_of(IDS)}
        return {state: count for state, count in counts.items() if count}

    def ended(self) -> tuple[float, float]:
        reported = self.scrape()
        return reported.value(ENDED, result="commit"), reported.value(ENDED, result="abort")


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("versions", VERSIONS)
def test_a_transaction_from_its_id_to_its_end(versions: Versions, world: World) -> None:
    producer = world.producer(versions=versions)
    assert world.states() == {"empty": 1}
    assert producer.write("a", b"x", b"y") is NONE
    world.world.clock.advance(2_500)
    reported = world.scrape()
    assert world.states() == {"ongoing": 1}
    assert reported.value(AGE) == 2.5
    assert reported.value(UNSTABLE, topic="a", partition="0") == 2
    assert reported.value(f"{REPLICAS}_producer_id_count") == 1
    assert producer.commit() is NONE
    reported = world.scrape()
    assert world.states() == {"complete_commit": 1}
    assert (reported.value(AGE), reported.value(UNSTABLE, topic="a", partition="0")) == (0, 0)
    assert world.ended() == (1, 0)
    assert producer.write("a", b"z") is NONE
    assert producer.abort() is NONE
    assert world.states() == {"complete_abort": 1}
    assert world.ended() == (1, 1)


def test_the_oldest_of_many(world: World) -> None:
    """Idle ids are ignored, however long ago they were used."""
    resting = world.producer("resting")
    resting.write("a", b"x")
    resting.commit()
    world.world.clock.advance(30_000)
    for number in range(150):
        world.producer(f"p{number}").write("a", b"x")
        world.world.clock.advance(100)
    assert world.states() == {"complete_commit": 1, "ongoing": 150}
    assert world.scrape().value(AGE) == 15


def test_an_open_transaction_keeps_its_age_over_a_restart(world: World) -> None:
    world.producer().write("a", b"x")
    world.world.clock.advance(5_000)
    world.world.restart()
    reported = world.scrape()
    assert reported.value(AGE) == pytest.approx(5, abs=0.5)
    assert reported.value(UNSTABLE, topic="a", partition="0") == 1
    assert reported.value(f"{REPLICAS}_producer_id_count") == 1


def test_a_clock_that_is_set_back_makes_no_age_below_0(world: World) -> None:
    world.producer().write("a", b"x")
    world.world.clock.step_wall(-10_000)
    assert world.scrape().value(AGE) == 0


def test_a_transaction_that_times_out(world: World) -> None:
    world.producer(timeout_ms=20_000).write("a", b"x")
    world.producer("other", timeout_ms=300_000).write("a", b"x")
    world.world.clock.advance(60_000)
    reported = world.scrape()
    assert reported.value(TIMED_OUT) == 1
    assert world.states() == {"complete_abort": 1, "ongoing": 1}
    assert world.ended() == (0, 1)


def test_a_transaction_that_its_producer_leaves_behind_is_aborted_but_has_not_timed_out(world: World) -> None:
    world.producer().write("a", b"x")
    again = Transactor(world.client)
    assert again.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert again.init() is NONE
    assert world.ended() == (0, 1)
    assert world.scrape().value(TIMED_OUT) == 0


def test_an_abort_of_nothing_is_no_transaction(world: World) -> None:
    """An EndTxn without a transaction does not count, although transaction version 2 raises the epoch."""
    producer = world.producer()
    assert producer.abort() is NONE
    assert world.states() == {"complete_abort": 1}
    assert world.ended() == (0, 0)


def test_markers_that_cannot_be_written(world: World) -> None:
    producer = world.producer()
    producer.write("a", b"x")
    producer.write("b", b"x")
    fs = world.world.fs
    fs.fail = broken("/b-0/")
    assert producer.commit() is NONE
    for seconds in range(3):
        reported = world.scrape()
        assert (reported.value(MARKERS), reported.value(ENDS), world.ended()) == (1, 0, (0, 0))
        assert world.states() == {"prepare_commit": 1}
        assert reported.value(AGE) == seconds
        world.world.clock.advance(RETRY_MS)
    fs.fail = None
    world.world.clock.advance(RETRY_MS)
    assert (world.scrape().value(MARKERS), world.ended()) == (0, (1, 0))


def test_an_end_that_cannot_be_noted(world: World) -> None:
    producer = world.producer()
    producer.write("a", b"x")
    world.world.fs.fail = second_write_broken(TRANSACTION_STATE)
    assert producer.commit() is NONE
    world.world.fs.fail = None
    reported = world.scrape()
    assert (reported.value(MARKERS), reported.value(ENDS), world.ended()) == (0, 1, (0, 0))
    world.world.clock.advance(RETRY_MS)
    assert (world.scrape().value(ENDS), world.ended()) == (0, (1, 0))


def test_a_decision_that_is_carried_out_after_a_restart(world: World) -> None:
    producer = world.producer()
    producer.write("a", b"x")
    fs = world.world.fs
    fs.fail = broken("/a-0/")
    assert producer.commit() is NONE
    fs.fail = None
    world.world.crash()
    world.world.clock.run_until_idle()
    assert world.states() == {"complete_commit": 1}
    assert world.ended() == (1, 0)


def test_a_transaction_that_no_coordinator_knows(world: World) -> None:
    """Such a transaction is late five minutes after the longest allowed timeout, counted from its last record."""
    log = world.world.folder.logs.get("a", 0)
    clock = world.world.clock
    append_directly(log, b"x", producer=7, now_ms=clock.wall_ms())
    clock.run_until_idle()
    append_directly(world.world.folder.logs.get("b", 0), b"x", producer=8, now_ms=clock.wall_ms() + 60_000)
    clock.run_until_idle()
    late = f"{REPLICAS}_partitions_with_late_transactions_count"
    clock.advance(900_000 + 300_000)
    reported = world.scrape()
    assert reported.value(late) == 0
    clock.advance(1)
    reported = world.scrape()
    assert reported.value(late) == 1
    assert reported.value(AGE) == 0
    assert reported.value(UNSTABLE, topic="a", partition="0") == 1


def test_idempotent_producers_are_counted_in_each_log(world: World) -> None:
    for topic in ("a", "b"):
        producer = world.producer(topic)
        producer.write("a", b"x")
        producer.write("b", b"x")
        producer.commit()
    produce(world.client, "a", batch(b"plain", timestamp_ms=TIMESTAMP_MS))
    assert world.scrape().value(f"{REPLICAS}_producer_id_count") == 4


def test_partitions_of_the_coordinator(world: World) -> None:
    active = {"state": "active"}
    assert world.scrape().value("shareq_transaction_coordinator_partitions", **active) == 0
    assert not world.world.folder.internal_topics.ensure(TRANSACTION_STATE).code
    world.producer()
    reported = world.scrape()
    assert reported.value("shareq_transaction_coordinator_partitions", **active) == 2
    assert reported.value("shareq_transaction_coordinator_partitions", state="failed") == 0
    assert reported.value("shareq_transaction_coordinator_waiting_operations") == 0
    assert reported.value(f"{COORDINATOR}_partition_load_time_seconds_count") == 1
