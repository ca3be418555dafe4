"""A client among several scripted brokers: failover, leader changes and retries."""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Callable

import pytest

from devtools.ports import free_port
from shareq.client.chance import CHANCE
from shareq.client.config import ClientConfig
from shareq.client.core import connection
from shareq.client.core.tries import Tries
from shareq.client.errors import BrokerError, ClientError, Disconnected, Unreachable, UnsupportedApi
from shareq.client.network import Exchange
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchRequest, FetchResponse
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponseTopic
from shareq.protocol.primitives import ZERO_UUID, Message
from tests.support.fakes.scripted_peer import HangUp, ScriptedBroker
from tests.support.fakes.scripted_world import ID, Clock, World, fetched, topic


def fetches(broker: ScriptedBroker) -> int:
    return sum(isinstance(request, FetchRequest) for request in broker.requests)


# -- which broker


def test_the_next_bootstrap_server_is_tried_and_its_connection_kept(world: World) -> None:
    broker = world.broker(1)
    network = world.network(f"127.0.0.1:{free_port()}", broker)
    network.connection(1)
    assert network.request(1, FetchRequest()) == FetchResponse(session_id=7)
    assert broker.connections == 1
    assert world.clock.slept == []


def test_bootstrap_servers_are_tried_in_their_order_until_one_answers(world: World) -> None:
    broker, last = world.broker(1), world.broker()
    network = world.network(f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}", broker, last)
    assert network.request(None, FetchRequest()) == FetchResponse(session_id=7)
    assert (fetches(broker), last.connections, world.clock.slept) == (1, 0, [])


def test_a_bootstrap_server_under_another_name_is_only_asked_for_the_way(world: World) -> None:
    door, broker = world.broker(), world.broker(1)
    network = world.network(door)
    assert network.request(None, FetchRequest()) == FetchResponse(session_id=7)
    assert (fetches(door), fetches(broker)) == (0, 1)


def test_an_ipv6_address(world: World) -> None:
    try:
        broker = world.broker(1, socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    assert world.network(broker).request(1, FetchRequest()) == FetchResponse(session_id=7)


def test_any_broker_is_one_that_answers(world: World) -> None:
    one, other = world.broker(1), world.broker(2)
    network = world.network(one)
    network.connection(1)
    one.close()
    assert network.request(None, FetchRequest()) == FetchResponse(session_id=7)
    assert fetches(other) == 1


def test_a_broker_that_takes_requests_and_does_not_answer_is_not_waited_for_twice(world: World) -> None:
    mute, broker = world.broker(1), world.broker(2)
    mute.scripts[ApiKey.FETCH] = lambda _: None
    network = world.impatient(mute)
    network.connection(1)
    assert network.request(None, FetchRequest()) == FetchResponse(session_id=7)
    assert fetches(broker) == 1


def test_a_broker_that_came_back_elsewhere_is_found(world: World) -> None:
    old, other = world.broker(1), world.broker(2)
    network = world.network(old)
    before = network.connection(1)
    network.connection(2)
    old.close()
    moved = world.broker(1)
    assert network.request(1, FetchRequest()) == FetchResponse(session_id=7)
    assert (fetches(moved), fetches(other)) == (1, 0)
    assert network.connection(1) is not before


def test_when_all_known_brokers_are_gone_the_bootstrap_servers_are_asked_again(world: World) -> None:
    door, old = world.broker(), world.broker(1)
    network = world.network(door)
    network.connection(1)
    old.close()
    world.nodes.clear()
    new = world.broker(5)
    assert network.request(None, FetchRequest()) == FetchResponse(session_id=7)
    assert fetches(new) == 1


def test_a_node_that_is_not_there(world: World) -> None:
    network = world.network(world.broker(1))
    with pytest.raises(Unreachable, match=r"^broker 9 is not one of the cluster$"):
        network.connection(9)
    with pytest.raises(Unreachable, match=r"^broker 9 is not one of the cluster; given up after 500 ms$"):
        network.request(9, FetchRequest(), timeout_ms=500)
    assert len(world.clock.slept) == 2  # 100 and 200 ms; the third pause would end too late


# -- what is tried again


def test_a_request_is_sent_again_after_its_connection_was_lost(world: World) -> None:
    broker = world.broker(1)

    def once(_: Message) -> Message:
        broker.scripts[ApiKey.FETCH] = fetched
        raise HangUp

    broker.scripts[ApiKey.FETCH] = once
    network = world.network(broker)
    assert network.request(1, FetchRequest()) == FetchResponse(session_id=7)
    assert broker.connections == 2


def test_what_is_submitted_is_not_sent_again(world: World) -> None:
    broker = world.broker(1)

    def hang_up(_: Message) -> Message:
        raise HangUp

    broker.scripts[ApiKey.FETCH] = hang_up
    network = world.network(broker)
    with pytest.raises(Disconnected, match=r"^127\.0\.0\.1:\d+ closed the connection \(during Fetch\)$"):
        network.submit(1, FetchRequest()).result()
    assert fetches(broker) == 1


def test_the_awaited_server_is_logged_after_some_seconds_and_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    network = world.network(f"127.0.0.1:{free_port()}")
    with pytest.raises(Unreachable):
        network.request(None, FetchRequest(), timeout_ms=4000)
    assert caplog.messages == []
    with pytest.raises(Unreachable):
        network.request(None, FetchRequest())
    (reported,) = caplog.messages
    assert re.fullmatch(r"127\.0\.0\.1:\d+ cannot be reached: Connection refused; trying again for 5\d s", reported)


def test_pauses_between_tries_grow_until_the_time_is_over(world: World) -> None:
    network = world.network(f"127.0.0.1:{free_port()}")
    with pytest.raises(Unreachable, match=r"cannot be reached: Connection refused; given up after 60000 ms$"):
        network.request(None, FetchRequest())
    first, last = world.clock.slept[0], world.clock.slept[-1]
    assert 0.08 <= first <= 0.12
    assert 0.8 <= last <= 1.2
    assert 60 - 1.2 < sum(world.clock.slept) <= 60  # less than the longest pause is left over


def test_a_broker_that_failed_is_left_alone_for_a_while(world: World) -> None:
    broker = world.broker(1)
    network = world.network(broker)
    network.connection(1)
    port = broker.port
    broker.close()
    for _ in range(2):
        with pytest.raises(Unreachable, match="Connection refused"):
            network.submit(1, FetchRequest())
    with socket.create_server(("127.0.0.1", port)) as listener:
        listener.settimeout(0)
        with pytest.raises(Unreachable, match="Connection refused"):
            network.submit(1, FetchRequest())
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_an_api_that_is_not_offered_is_not_tried_again(world: World) -> None:
    network = world.network(world.broker(1))
    with pytest.raises(UnsupportedApi, match="Fetch in versions"):
        network.request(1, FetchRequest(), min_version=90)
    assert world.clock.slept == []


def test_a_listener_of_another_kind_is_reported_by_a_hint(world: World) -> None:
    network = world.network(world.broker(1), security_protocol="SSL")
    with pytest.raises(Unreachable, match="is it a listener of SSL or SASL_SSL"):
        network.request(None, FetchRequest())


def test_a_closed_client_does_nothing_more(world: World) -> None:
    network = world.network(world.broker(1))
    network.connection(1)
    network.close()
    for call in (lambda: network.request(None, FetchRequest()), lambda: network.submit(1, FetchRequest())):
        with pytest.raises(ClientError, match="closed"):
            call()


# -- several at once


def test_one_that_hangs_up_is_not_waited_for(world: World) -> None:
    mute, _ = world.broker(1), world.broker(2)
    mute.scripts[ApiKey.FETCH] = lambda _: None
    network = world.network(mute)
    waiting, answered = network.submit(1, FetchRequest()), network.submit(2, FetchRequest())
    mute.hang_up()
    network.collect([waiting, answered])
    assert answered.result() == FetchResponse(session_id=7)
    with pytest.raises(Disconnected, match="closed the connection"):
        waiting.result()


def test_one_that_stays_out_costs_no_other_its_answer(world: World) -> None:
    mute, _ = world.broker(1), world.broker(2)
    mute.scripts[ApiKey.FETCH] = lambda _: None
    network = world.impatient(mute)
    waiting, answered = network.submit(1, FetchRequest()), network.submit(2, FetchRequest())
    network.collect([waiting, answered])
    assert (waiting.done, answered.done) == (True, True)
    assert answered.result() == FetchResponse(session_id=7)
    with pytest.raises(Disconnected, match="did not answer in time"):
        waiting.result()
    network.collect([])


# -- the cluster


def test_ids_leaders_and_partitions(world: World) -> None:
    broker = world.broker(1)
    world.topics = [topic(1, -1, 2)]
    network = world.network(broker)
    assert network.topic_ids(["t", "missing"]) == {"t": ID}
    assert [network.leader(ID, number) for number in range(4)] == [1, None, 2, None]
    assert network.partitions(ID) == [0, 1, 2]


def test_names_and_ids_are_asked_for_apart(world: World) -> None:
    """Apache Kafka ignores names in a request that has ids."""
    broker = world.broker(1)
    world.topics = [topic(1), topic(2, name="u", topic_id=b"u" * 16)]
    network = world.network(broker)
    network.refresh(["t", b"u" * 16])
    assert network.topic_ids(["t", "u"]) == {"t": ID, "u": b"u" * 16}
    asked = [request.topics for request in broker.requests if isinstance(request, MetadataRequest) and request.topics]
    assert [[(row.name, row.topic_id) for row in rows] for rows in asked] == [
        [("t", ZERO_UUID)],
        [(None, b"u" * 16)],
    ]


def test_what_is_known_is_not_asked_for_until_it_is_old(world: World) -> None:
    broker = world.broker(1)
    world.topics = [topic(1)]
    network = world.network(broker, metadata_max_age_ms="1000")
    network.topic_ids(["t"])
    world.topics = [topic(2, epoch=1)]
    asked = len(broker.requests)
    assert network.leader(ID, 0) == 1
    world.clock.now += 0.999
    assert network.leader(ID, 0) == 1
    assert len(broker.requests) == asked
    world.clock.now += 0.001
    assert network.leader(ID, 0) == 2


def test_a_missing_leader_is_asked_for_again_but_not_at_every_call(world: World) -> None:
    broker = world.broker(1)
    world.topics = [topic(-1)]
    network = world.network(broker)
    assert network.leader(ID, 0) is None
    asked = len(broker.requests)
    assert network.leader(ID, 0) is None
    assert len(broker.requests) == asked
    world.clock.now += 0.1
    world.topics = [topic(1, epoch=1)]
    assert network.leader(ID, 0) == 1


def test_what_is_known_stands_while_nobody_can_be_asked(world: World) -> None:
    broker = world.broker(1)
    world.topics = [topic(1)]
    network = world.network(broker, default_api_timeout_ms="300")
    assert network.leader(ID, 0) == 1
    broker.close()
    world.clock.now += 1000
    assert network.leader(ID, 0) == 1
    with pytest.raises(Unreachable):
        network.leader(b"other topic, 16b", 0)


def test_a_topic_that_is_gone_or_hidden(world: World) -> None:
    hidden = MetadataResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "hidden", ZERO_UUID)
    world.topics = [hidden]
    network = world.network(world.broker(1))
    with pytest.raises(BrokerError, match=r"^topic hidden: TOPIC_AUTHORIZATION_FAILED: ") as caught:
        network.topic_ids(["hidden"])
    assert caught.value.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_ID"):
        network.partitions(ID)


def coordinator_says(*rows: Coordinator) -> Callable[[Message], Message]:
    answers = iter(rows)
    return lambda _: FindCoordinatorResponse(coordinators=[next(answers)])


def test_a_coordinator_is_asked_for_until_there_is_one(world: World) -> None:
    broker = world.broker(1)
    loading = Coordinator("g", -1, "", -1, ErrorCode.COORDINATOR_NOT_AVAILABLE, None)
    broker.scripts[ApiKey.FIND_COORDINATOR] = coordinator_says(
        loading, loading, Coordinator("g", 1, broker.host, broker.port), Coordinator("g", 2, "elsewhere", 1)
    )
    network = world.network(broker)
    assert [network.coordinator("g"), network.coordinator("g")] == [1, 1]
    assert len(world.clock.slept) == 2
    network.forget_coordinator("g")
    assert network.coordinator("g") == 2


def test_a_group_that_may_not_be_used(world: World) -> None:
    broker = world.broker(1)
    refusal = Coordinator("g", -1, "", -1, ErrorCode.GROUP_AUTHORIZATION_FAILED, "not yours")
    broker.scripts[ApiKey.FIND_COORDINATOR] = coordinator_says(refusal)
    with pytest.raises(BrokerError, match=r"^coordinator of group g: GROUP_AUTHORIZATION_FAILED: not yours$"):
        world.network(broker).coordinator("g")


def test_any_broker_is_the_one_that_has_least_to_answer(world: World) -> None:
    busy, idle = world.broker(1), world.broker(2)
    busy.scripts[ApiKey.FETCH] = lambda _: None
    network = world.network(busy)
    network.connection(1)
    network.connection(2)
    network.submit(1, FetchRequest())
    assert network.request(None, FetchRequest()) == FetchResponse(session_id=7)
    assert fetches(idle) == 1


@pytest.mark.parametrize("error", [ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
def test_a_topic_that_may_come_is_left_out_until_it_does(world: World, error: ErrorCode) -> None:
    world.topics = [MetadataResponseTopic(error, "t", ZERO_UUID), topic(1, name="u", topic_id=b"u" * 16)]
    network = world.network(world.broker(1))
    assert network.topic_ids(["t", "u"]) == {"u": b"u" * 16}
    world.topics = [topic(1)]
    assert network.topic_ids(["t", "u"]) == {"t": ID, "u": b"u" * 16}


def test_partitions_of_a_topic_that_has_an_error(world: World) -> None:
    """A topic with an error may have partitions; without any the error is raised, with the topic's name if known."""
    world.topics = [topic(1, 1)]
    world.topics[0].error_code = ErrorCode.LEADER_NOT_AVAILABLE
    network = world.network(world.broker(1))
    assert network.partitions(ID) == [0, 1]
    world.topics = [MetadataResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "t", ID)]
    network.refresh([ID])
    with pytest.raises(BrokerError, match=r"^topic t: TOPIC_AUTHORIZATION_FAILED"):
        network.partitions(ID)
    with pytest.raises(BrokerError, match=rf"^topic {(b'x' * 16).hex()}: UNKNOWN_TOPIC_ID"):
        network.partitions(b"x" * 16)


def test_refreshing_nothing_asks_for_the_brokers(world: World) -> None:
    broker = world.broker(1)
    network = world.network(broker)
    network.connection(1)
    other = world.broker(2)
    asked = len(broker.requests)
    network.refresh([])
    assert len(broker.requests) == asked + 1
    network.connection(2)
    assert other.connections == 1
    assert len(broker.requests) == asked + 1, "it is known already"


def test_a_coordinator_that_metadata_does_not_name_is_reached_where_it_said(world: World) -> None:
    broker, hidden = world.broker(1), world.broker()
    broker.scripts[ApiKey.FIND_COORDINATOR] = coordinator_says(Coordinator("g", 8, hidden.host, hidden.port))
    network = world.network(broker)
    assert network.coordinator("g") == 8
    assert network.request(8, FetchRequest()) == FetchResponse(session_id=7)
    assert fetches(hidden) == 1


def test_no_topic_is_created_and_none_is_returned_that_was_not_asked_for(world: World) -> None:
    """A Metadata request never has null instead of a list, which would ask for all topics."""
    broker = world.broker(1)
    network = world.network(broker)
    network.connection(1)
    network.topic_ids(["t"])
    network.refresh([ID])
    network.refresh([])
    asked = [request for request in broker.requests if isinstance(request, MetadataRequest)]
    assert len(asked) >= 4
    assert not any(request.allow_auto_topic_creation for request in asked)
    assert all(request.topics is not None for request in asked)


def test_a_timeout_of_the_caller_holds_for_what_it_asks(world: World) -> None:
    network = world.network(f"127.0.0.1:{free_port()}")
    calls: list[Callable[[], object]] = [
        lambda: network.topic_ids(["t"], timeout_ms=500),
        lambda: network.refresh(["t"], timeout_ms=500),
        lambda: network.refresh([ID], timeout_ms=500),
        lambda: network.coordinator("g", timeout_ms=500),
    ]
    for call in calls:
        before = world.clock.now
        with pytest.raises(Unreachable, match=r"given up after 500 ms$"):
            call()
        assert 0.24 <= world.clock.now - before <= 0.36  # pauses of 100 and 200 ms; a third would end too late


def test_what_is_submitted_has_its_least_version(world: World) -> None:
    network = world.network(world.broker(1))
    with pytest.raises(UnsupportedApi):
        network.submit(1, FetchRequest(), min_version=90)


def test_when_the_way_is_known_and_no_broker_can_be_reached_it_says_why(world: World) -> None:
    door, broker = world.broker(), world.broker(1)
    network = world.network(door)
    broker.close()
    with pytest.raises(Unreachable, match=rf"^(broker 1 at )?127\.0\.0\.1:{broker.port} cannot be reached"):
        network.request(None, FetchRequest(), timeout_ms=200)


# -- time


def config_of(**properties: str) -> ClientConfig:
    return ClientConfig.from_properties(
        {"bootstrap.servers": "a:1"} | {k.replace("_", "."): properties[k] for k in properties}
    )


def pauses(tries: Tries, count: int, clock: Clock) -> list[float]:
    """Return the pauses in milliseconds without their random fifth."""
    start = len(clock.slept)
    for _ in range(count):
        clock.sleep(tries.failed(Unreachable("no")))
    return [round(each * 1000, 3) for each in clock.slept[start:]]


@pytest.fixture
def certain(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """Replace chance by 1; return the bounds that were asked for."""
    asked: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        asked.append((low, high))
        return 1.0

    monkeypatch.setattr(CHANCE, "uniform", uniform)
    return asked


def test_pauses_leave_the_chance_of_the_application_alone() -> None:
    clock, before = Clock(), random.getstate()
    pauses(Tries(config_of(), 60_000, clock), 3, clock)
    assert random.getstate() == before


def test_pauses_double_from_the_first_to_the_most(certain: list[tuple[float, float]]) -> None:
    clock = Clock()
    tries = Tries(config_of(), 60_000, clock)
    assert pauses(tries, 6, clock) == [100, 200, 400, 800, 1000, 1000]
    assert certain == [(0.8, 1.2)] * 6
    tries = Tries(config_of(retry_backoff_ms="3000"), 60_000, clock)
    assert pauses(tries, 2, clock) == [3000, 3000], "a first pause above the most is the most"


@pytest.mark.usefixtures("certain")
def test_a_call_gives_up_at_once_when_no_further_try_has_time() -> None:
    clock = Clock()
    tries = Tries(config_of(), 101, clock)
    assert (tries.deadline, tries.left_ms) == (1000.101, 101)
    assert tries.failed(Unreachable("first")) == pytest.approx(0.1)
    clock.now += 0.1
    assert tries.left_ms == 1
    with pytest.raises(Unreachable, match=r"^second; given up after 101 ms$"):
        tries.failed(Unreachable("second"))
    assert tries.left_ms == 1
    with pytest.raises(Unreachable, match=r"^first; given up after 99 ms$"):
        Tries(config_of(), 99, clock).failed(Unreachable("first"))
    with pytest.raises(Unreachable, match=r"^A sentence; given up after 99 ms$"):
        Tries(config_of(), 99, clock).failed(Unreachable("A sentence."))


def test_the_error_of_a_try_that_the_deadline_cut_short_is_not_reported() -> None:
    clock = Clock()
    tries = Tries(config_of(), 500, clock)
    clock.now += tries.failed(Unreachable("refused"))
    clock.now = tries.deadline
    with pytest.raises(Unreachable, match=r"^refused; given up after 500 ms$"):
        tries.failed(Unreachable("cut short by the deadline"))


def test_a_call_that_does_not_try_again_raises_the_error_of_its_try() -> None:
    error = Unreachable("no")
    with pytest.raises(Unreachable) as caught:
        Tries(config_of(), 1000, Clock(), once=True).failed(error)
    assert caught.value is error


@pytest.mark.usefixtures("certain")
def test_a_broker_that_fails_again_is_left_alone_for_longer_until_it_was_reached(world: World) -> None:
    network = world.network(f"127.0.0.1:{free_port()}", reconnect_backoff_ms="100", reconnect_backoff_max_ms="300")
    (address,) = network.config.bootstrap_servers
    now = world.clock.now
    for pause in (0.1, 0.2, 0.3, 0.3):
        with pytest.raises(Unreachable):
            network.connection(1)
        assert network.core.down.until(address) == pytest.approx(world.clock.now + pause)
        world.clock.now = network.core.down.until(address)
    assert world.clock.now == pytest.approx(now + 0.9)


def deadline_of(exchange: Exchange) -> float:
    assert isinstance(exchange.sent, connection.Sent)
    return exchange.sent.deadline


def test_what_is_submitted_has_the_request_timeout_and_what_is_tried_again_has_it_each_time(world: World) -> None:
    broker = world.broker(1)
    network = world.network(broker, request_timeout_ms="2000")
    assert deadline_of(network.submit(1, FetchRequest())) == world.clock.now + 2
    assert deadline_of(network.submit(1, FetchRequest(), timeout_ms=500)) == world.clock.now + 0.5
    assert network.tries().deadline == world.clock.now + 60
    assert network.core.answer_by(world.clock.now + 60) == world.clock.now + 2
    assert network.core.answer_by(world.clock.now + 1) == world.clock.now + 1
