"""The driver against a broker: records acquired and acknowledged when Spark asks for offsets, with restarts."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest

from devtools.clients.admin import configure_group, create_topic, produce, read_from_start
from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError
from shareq.client.network import Network
from shareq.spark.offsets import INITIAL, SourceOffset
from shareq.spark.options import SourceOptions
from shareq.spark.query import available_now
from shareq.spark.query import driver as driver_module
from shareq.spark.query.available_now import AvailableNow
from shareq.spark.query.driver import POLL_MS, Driver
from shareq.testing import Broker
from tests.support.fakes.scripted_share_cluster import TOPIC, ShareCluster, topic_partition
from tests.support.waiting import until

TIMEOUT_S = 30.0


class World:
    """A broker with topic `t` (two partitions) and group `g`, and successive drivers."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.bootstrap = broker.bootstrap
        self.drivers: list[Driver] = []
        create_topic(self.bootstrap, "t", 2)
        read_from_start(self.bootstrap, "g")

    def produce(self, count: int) -> None:
        produce(self.bootstrap, "t", [(number % 2, b"%d" % number) for number in range(count)], batch_records=5)

    def driver(self, **options: object) -> Driver:
        given = {"kafka.bootstrap.servers": self.bootstrap, "kafka.group.id": "g", "subscribe": "t"}
        self.drivers.append(Driver(SourceOptions.parse(given | {name: str(value) for name, value in options.items()})))
        return self.drivers[-1]

    def lag(self) -> int | None:
        network = Network(ClientConfig.from_properties({"bootstrap.servers": self.bootstrap}))
        try:
            rows = Admin(network).share_groups.all_offsets("g")
        finally:
            network.close()
        known = [row.lag for row in rows.values() if row.lag is not None]
        return sum(known) if len(known) == 2 else None


@pytest.fixture
def world() -> Iterator[World]:
    settings = {"group.share.min.record.lock.duration.ms": "1000"}
    with Broker(mode="thread", config=settings) as broker:
        world = World(broker)
        yield world
        for driver in world.drivers:
            driver.close()


def next_batch(driver: Driver, start: SourceOffset, most: int | None = None) -> SourceOffset:
    """Ask for a micro-batch until there is one, as Spark does; pass its offset through JSON, as Spark's log does."""
    deadline = time.monotonic() + TIMEOUT_S
    while (end := driver.latest(start, most)) is None:
        assert time.monotonic() < deadline
    return SourceOffset.from_json(json.loads(json.dumps(end.to_json())))


def test_the_next_question_accepts_the_micro_batch_before(world: World) -> None:
    world.produce(20)
    driver = world.driver()
    first = next_batch(driver, INITIAL)
    assert (first.seq, first.records) == (1, 20)
    assert world.lag() == 20  # nothing acknowledged
    assert driver.report()["locksHeld"] == 20
    assert driver.latest(first, None) is None
    assert world.lag() == 0
    assert driver.report() | {"lag": 0} == {
        "lag": 0,
        "locksHeld": 0,
        "unconfirmed": 0,
        **(counted := {"acquired": 20, "redelivered": 0, "swallowed": 0, "accepted": 20}),
        **(none := {"rejected": 0, "renewed": 0, "lost": 0}),
        "total": counted | none,
    }


def test_a_limit_is_kept(world: World) -> None:
    world.produce(20)
    driver = world.driver()
    start = INITIAL
    for wanted in (7, 7, 6):
        start = next_batch(driver, start, 7)
        assert start.records == wanted


def test_a_driver_that_goes_on_from_the_log_recognises_what_it_had(world: World) -> None:
    """After the first driver ended with its locks, redelivered records are accepted and only new ones emitted."""
    world.produce(20)
    driver = world.driver()
    first = next_batch(driver, INITIAL)
    driver.close()
    world.produce(4)
    driver = world.driver()
    second = next_batch(driver, first)
    assert second.records == 4
    assert driver.report()["swallowed"] == 20
    assert driver.latest(second, None) is None
    assert world.lag() == 0


def test_a_broker_that_was_killed_forgets_the_locks_and_nothing_is_emitted_twice(world: World) -> None:
    world.produce(20)
    driver = world.driver()
    first = next_batch(driver, INITIAL)
    world.broker.kill()
    world.broker.start()
    world.produce(4)
    second = next_batch(driver, first)
    while second.records < 4:  # one partition may be there before the other
        second = next_batch(driver, second)
    until(lambda: driver.latest(second, None) is None and world.lag() == 0)
    assert driver.report()["swallowed"] == 20
    assert driver.report()["lost"] == 20


def test_ack_log_accepts_when_the_log_has_the_offset(world: World) -> None:
    world.produce(20)
    driver = world.driver(ack="log")
    first = next_batch(driver, INITIAL)
    driver.logged(first)
    assert world.lag() == 0
    driver.logged(first)
    assert driver.latest(first, None) is None
    assert driver.report()["accepted"] == 20


def test_ack_commit_does_not(world: World) -> None:
    world.produce(20)
    driver = world.driver()
    driver.logged(next_batch(driver, INITIAL))
    assert driver.report()["accepted"] == 0


def test_locks_are_renewed_in_the_background(world: World) -> None:
    configure_group(world.bootstrap, "g", {"share.record.lock.duration.ms": "3000"})  # two thirds of it to spare
    world.produce(10)
    driver = world.driver()
    first = next_batch(driver, INITIAL)
    until(lambda: driver.report()["renewed"] >= 30)  # type: ignore[operator]  # three times, a second apart
    assert driver.report()["locksHeld"] == 10
    assert driver.latest(first, None) is None
    assert world.lag() == 0


def test_a_background_that_broke_off_fails_the_query(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks would otherwise expire one by one, noticed only by other members."""
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    driver = world.driver()
    monkeypatch.setattr(driver, "_keep_alive", lambda: 1 // 0)
    with pytest.raises(RuntimeError, match=r"renew.*ZeroDivisionError"):
        next_batch(driver, INITIAL)


def test_available_now_ends_with_what_was_there(world: World) -> None:
    world.produce(20)
    driver = world.driver()
    driver.prepare_available_now()
    first = next_batch(driver, INITIAL)
    world.produce(10)
    assert first.records == 20
    assert driver.latest(first, None) is None
    assert world.lag() == 10


def test_available_now_does_not_end_with_the_first_empty_poll(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another member releases records while the run asks for them."""
    monkeypatch.setattr(available_now, "ENOUGH", 1000)  # more than one, and slow machines do not matter
    world.produce(10)
    other = world.driver()
    assert next_batch(other, INITIAL).records == 10
    driver = world.driver()
    driver.prepare_available_now()
    leaving = threading.Timer(POLL_MS * 1.4 / 1000, other.close)
    leaving.start()
    records, end = 0, driver.latest(INITIAL, None)
    while end is not None:
        records += end.records
        end = driver.latest(end, None)
    leaving.join()
    assert records == 10


def test_available_now_leaves_to_another_member_what_it_holds(world: World) -> None:
    world.produce(10)
    next_batch(world.driver(), INITIAL)
    driver = world.driver()
    driver.prepare_available_now()
    assert driver.latest(INITIAL, None) is None


def test_available_now_with_nothing_there_ends_at_once(world: World) -> None:
    driver = world.driver()
    driver.prepare_available_now()
    assert driver.latest(INITIAL, None) is None


def run_out(driver: Driver, start: SourceOffset, most: int | None = None) -> list[int]:
    """Return the number of records of each micro-batch until the run ends."""
    records = []
    while (end := driver.latest(start, most)) is not None:
        records.append(end.records)
        start = end
    return records


def test_available_now_does_not_end_with_what_it_only_recognises(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Late redeliveries of a checkpoint's records come first, and new records may follow."""
    world.produce(20)
    driver = world.driver()
    first = next_batch(driver, INITIAL)
    driver.close()
    world.produce(4)
    monkeypatch.setattr(driver_module, "POLL_MS", 1)  # everything takes longer
    driver = world.driver()
    driver.prepare_available_now()
    assert sum(run_out(driver, first, 7)) == 4
    assert driver.report()["swallowed"] == 20


def test_available_now_waits_for_a_broker_that_is_started_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.produce(10)
    driver = world.driver()
    driver.prepare_available_now()
    first = next_batch(driver, INITIAL, 4)
    assert first.records == 4
    monkeypatch.setattr(driver_module, "POLL_MS", 20)  # many polls pass
    world.broker.kill()
    starting = threading.Timer(1, world.broker.start)
    starting.start()
    records = sum(run_out(driver, first, 4))
    starting.join()
    assert records == 6


def test_available_now_fails_when_one_of_two_leaders_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "LOOK_MS", 60_000)  # these brokers do not know of lag
    with ShareCluster(2) as cluster:
        cluster.nodes[2].broker.close()
        driver = Driver(SourceOptions(cluster.config(default_api_timeout_ms="2000"), "g", (TOPIC,)))
        driver._available_now = AvailableNow({topic_partition(0): 10, topic_partition(1): 10}, {}, 0)
        with pytest.raises(ClientError, match=r"broker 2 .*; given up after 2000 ms"):
            driver.latest(INITIAL, None)
        driver.close()


def test_available_now_gets_again_what_it_lost_before_it_was_in_a_micro_batch(world: World) -> None:
    configure_group(world.bootstrap, "g", {"share.record.lock.duration.ms": "1000"})
    world.produce(10)
    driver = world.driver()
    driver.prepare_available_now()
    driver._start_once()
    driver._fill(None)  # the connection is lost during `latest`, and a renewal notices it
    assert driver.report()["locksHeld"] == 10
    world.broker.kill()
    world.broker.start()
    until(lambda: driver.report()["lost"] == 10)
    assert sum(run_out(driver, INITIAL)) == 10


def test_a_topic_that_does_not_exist_is_named(world: World) -> None:
    driver = world.driver(subscribe="t, nowhere")
    with pytest.raises(ClientError, match="subscribe: there is no topic nowhere; create it"):
        driver.latest(INITIAL, None)


def test_closing_gives_back_what_is_held_and_is_harmless_twice(world: World) -> None:
    world.produce(10)
    driver = world.driver()
    next_batch(driver, INITIAL)
    driver.close()
    driver.close()
    assert next_batch(world.driver(), INITIAL).records == 10
