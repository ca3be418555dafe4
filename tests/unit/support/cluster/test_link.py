"""The simulated cluster's link: order, timeouts, lost and unsent requests."""

from __future__ import annotations

from dataclasses import dataclass

from devtools.clients.requests import batch, fetch_request, produce_request
from shareq.cluster.link.ports import Failure, LinkFailure, Purpose
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.produce import PartitionProduceResponse, ProduceRequest, ProduceResponse
from shareq.protocol.primitives import Message
from tests.support.cluster.faults import Direction
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9
from tests.support.cluster.world import ClusterWorld


@dataclass
class _Orders:
    world: ClusterWorld

    def __post_init__(self) -> None:
        self.topic_id = self.world.cluster.create_topic("orders", 1, 3).topic_id

    @property
    def leader(self) -> int:
        return self.world.cluster.leader("orders")

    def produce(self, *values: bytes) -> ProduceRequest:
        return produce_request(batch(*values), topic="orders", topic_id=self.topic_id, acks=-1)

    def add(self, *values: bytes) -> PartitionProduceResponse | LinkFailure:
        return row_of(self.world.ask(self.leader, self.produce(*values)))


def row_of(answer: Message | LinkFailure) -> PartitionProduceResponse | LinkFailure:
    if isinstance(answer, LinkFailure):
        return answer
    assert isinstance(answer, ProduceResponse)
    return answer.responses[0].partition_responses[0]


def base_of(answer: Message | LinkFailure) -> int:
    row = row_of(answer)
    assert not isinstance(row, LinkFailure), row
    assert not row.error_code, row
    return row.base_offset


def failure_of(answer: Message | LinkFailure) -> Failure:
    assert isinstance(answer, LinkFailure), answer
    return answer.failure


def test_requests_of_one_connection_are_answered_in_their_order() -> None:
    world = ClusterWorld(ClusterSettings(latency_ms=(0, 50)), seed=3)
    orders, answered = _Orders(world), list[int]()
    for number in range(20):
        pending = world.link.send(orders.leader, orders.produce(b"%d" % number), purpose=Purpose.STATE)
        pending.on_complete(lambda answer: answered.append(base_of(answer)))
    world.clock.advance(20_000)
    assert answered == list(range(20))


def test_nothing_is_answered_within_the_call() -> None:
    world = ClusterWorld()
    assert not world.link.send(None, MetadataRequest()).done
    assert not world.link.send(99, MetadataRequest()).done


def test_a_link_learns_brokers_from_its_first_answer() -> None:
    world = ClusterWorld()
    link = world.cluster.link("other", bootstrap=[2])
    assert link.brokers == {}
    assert failure_of(world.wait(link.send(1, MetadataRequest()))) is Failure.NOT_SENT
    assert isinstance(world.wait(link.send(None, MetadataRequest())), MetadataResponse)
    assert link.brokers == world.cluster.addresses
    assert link.offers(2, ApiKey.FETCH) == 18
    assert link.offers(1, ApiKey.FETCH) is None


def test_what_a_release_does_not_have_is_unsupported() -> None:
    world = ClusterWorld(ClusterSettings(release=KAFKA_3_9))
    answer = world.wait(world.link.send(1, MetadataRequest(), min_version=13))
    assert failure_of(answer) is Failure.UNSUPPORTED
    assert world.link.offers(1, ApiKey.METADATA) == 12


def test_a_lost_answer_is_of_a_request_that_was_handled() -> None:
    world = ClusterWorld()
    orders, lost = _Orders(world), list[tuple[int, Purpose]]()
    world.link.on_lost(lambda node, purpose: lost.append((node, purpose)))
    world.cluster.lose_answer("node", orders.leader, ProduceRequest)
    assert failure_of(world.ask(orders.leader, orders.produce(b"a"))) is Failure.LOST
    assert lost == [(orders.leader, Purpose.GENERAL)]
    assert base_of(world.ask(orders.leader, orders.produce(b"b"))) == 1


def test_a_lost_request_is_not_handled_and_looks_the_same() -> None:
    world = ClusterWorld()
    orders = _Orders(world)
    world.cluster.lose_request("node", orders.leader, ProduceRequest)
    assert failure_of(world.ask(orders.leader, orders.produce(b"a"))) is Failure.LOST
    assert base_of(world.ask(orders.leader, orders.produce(b"b"))) == 0


def test_all_that_wait_for_a_lost_connection_fail_in_order() -> None:
    world = ClusterWorld()
    orders, order = _Orders(world), list[int]()
    world.cluster.lose_answer("node", orders.leader, ProduceRequest)
    sent = [world.link.send(orders.leader, orders.produce(b"x")) for _ in range(3)]
    for number in (2, 0, 1):
        sent[number].on_complete(lambda _, number=number: order.append(number))  # type: ignore[misc]
    world.clock.run_until_idle()
    assert [failure_of(pending.value) for pending in sent] == [Failure.LOST] * 3
    assert order == [0, 1, 2]
    assert world.cluster.log("orders").end == 1, "a broker handles one request of a connection after the other"


def test_a_dead_broker_refuses_connections() -> None:
    world = ClusterWorld()
    orders = _Orders(world)
    leader = orders.leader
    waiting = world.link.send(leader, fetch_request("orders", topic_id=orders.topic_id, max_wait_ms=5_000))
    world.clock.run_until_idle()
    world.cluster.kill(leader)
    assert failure_of(world.wait(waiting)) is Failure.LOST
    assert failure_of(world.ask(leader, MetadataRequest())) is Failure.NOT_SENT
    world.clock.advance(world.cluster.settings.broker_session_timeout_ms)
    assert orders.leader != leader
    assert base_of(world.ask(orders.leader, orders.produce(b"a"))) == 0


def test_a_paused_broker_may_handle_later_what_was_given_up() -> None:
    landed = set[int]()
    for seed in range(20):
        world = ClusterWorld(seed=seed)
        orders = _Orders(world)
        orders.add(b"first")
        leader = orders.leader
        world.cluster.pause(leader)
        answer = world.ask(leader, orders.produce(b"late"), timeout_ms=1_000)
        assert failure_of(answer) is Failure.LOST
        world.cluster.resume(leader)
        world.clock.run_until_idle()
        landed.add(world.cluster.log("orders").end)
    assert landed == {1, 2}


def test_a_broker_that_is_paused_from_the_first_is_not_reached() -> None:
    world = ClusterWorld()
    world.cluster.pause(1)
    assert failure_of(world.ask(1, MetadataRequest(), timeout_ms=500)) is Failure.NOT_SENT


def test_a_cut_to_the_node_holds_answers_back() -> None:
    world = ClusterWorld()
    orders = _Orders(world)
    orders.add(b"a")
    world.cluster.cut("node", orders.leader, only=Direction.TO_NODE)
    pending = world.link.send(orders.leader, orders.produce(b"b"))
    world.clock.advance(1_000)
    assert not pending.done
    assert world.cluster.log("orders").end == 2
    world.cluster.heal("node")
    assert base_of(world.wait(pending)) == 1


def test_a_cut_to_the_broker_holds_requests_back_even_those_that_were_given_up() -> None:
    world = ClusterWorld(seed=1)
    orders = _Orders(world)
    orders.add(b"a")
    world.cluster.cut("node", only=Direction.TO_BROKER)
    assert failure_of(world.ask(orders.leader, orders.produce(b"b"), timeout_ms=1_000)) is Failure.LOST
    assert world.cluster.log("orders").end == 1
    world.cluster.heal("node")
    world.clock.run_until_idle()
    assert world.cluster.log("orders").end == 2


def test_cuts_are_of_one_node() -> None:
    world = ClusterWorld()
    other = world.new_link("other")
    world.cluster.cut("node")
    assert failure_of(world.ask(1, MetadataRequest(), timeout_ms=100)) is Failure.NOT_SENT
    assert isinstance(world.wait(other.send(1, MetadataRequest())), MetadataResponse)


def test_all_brokers_silent_and_back_again() -> None:
    world = ClusterWorld()
    orders = _Orders(world)
    orders.add(b"a")
    world.cluster.silence()
    pending = world.link.send(orders.leader, orders.produce(b"b"), timeout_ms=60_000)
    world.clock.advance(30_000)
    assert not pending.done
    world.cluster.end_silence()
    assert base_of(world.wait(pending)) == 1


def test_a_closed_link_sends_nothing() -> None:
    world = ClusterWorld()
    pending = world.link.send(1, MetadataRequest())
    world.link.close()
    assert failure_of(world.wait(pending)) is Failure.NOT_SENT
    assert failure_of(world.ask(1, MetadataRequest())) is Failure.NOT_SENT


def test_purposes_have_connections_of_their_own() -> None:
    world = ClusterWorld()
    orders = _Orders(world)
    poll = fetch_request("orders", topic_id=orders.topic_id, max_wait_ms=5_000)
    tail = world.link.send(orders.leader, poll, purpose=Purpose.TAIL)
    behind = world.link.send(orders.leader, MetadataRequest(), purpose=Purpose.BEHIND)
    stuck = world.link.send(orders.leader, MetadataRequest(), purpose=Purpose.TAIL)
    world.clock.run_until_idle()
    assert behind.done
    assert not stuck.done
    assert isinstance(world.wait(tail), FetchResponse)
    assert isinstance(world.wait(stuck), MetadataResponse)
