"""The asyncio link on a loop in memory with scripted brokers: order, failures, deadlines, discovered brokers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import product
from random import Random
from typing import Any

import pytest

from shareq.client.config import ClientConfig
from shareq.cluster.link.network import NetworkLink
from shareq.cluster.link.ports import BrokerAddress, Failure, LinkFailure, Purpose
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersion
from shareq.protocol.generated.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from shareq.protocol.generated.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from shareq.protocol.primitives import Message
from tests.support.fakes.core_driver import address_of, brokers_of
from tests.support.fakes.memory_loop import Asked, MemoryBroker, MemoryLoop, play

NODES = (1, 2, 3)
Scene = Callable[["World"], Coroutine[Any, Any, None]]


class World:
    """A link to three brokers, which know each other and answer with a request's number at once."""

    def __init__(self, loop: MemoryLoop, brokers: dict[int, MemoryBroker], **properties: str) -> None:
        given = {name.replace("_", "."): value for name, value in properties.items()}
        config = {"bootstrap.servers": "b1:9092,b2:9092", "request.timeout.ms": "1000"}
        self.loop = loop
        self.brokers = brokers
        self.link = NetworkLink(ClientConfig.from_properties(config | given))
        self.ended: list[int] = []  # numbers, in the order in which their answers or failures came
        self.outcomes: dict[int, Message | LinkFailure] = {}
        self.at: dict[int, float] = {}
        self.lost: list[tuple[int, Purpose]] = []
        self.link.on_lost(lambda node, purpose: self.lost.append((node, purpose)))

    def ask(self, number: int, node: int | None = 1, **how: Any) -> None:
        def came(outcome: Message | LinkFailure) -> None:
            assert number not in self.outcomes
            self.ended.append(number)
            self.outcomes[number] = outcome
            self.at[number] = self.loop.time()

        self.link.send(node, HeartbeatRequest(str(number)), **how).on_complete(came)

    def failure(self, number: int) -> tuple[Failure, str]:
        outcome = self.outcomes[number]
        assert isinstance(outcome, LinkFailure)
        return outcome.failure, outcome.text

    def numbers(self, node: int) -> list[int]:
        return [number_of(asked) for asked in self.brokers[node].asked if isinstance(asked.message, HeartbeatRequest)]


def number_of(asked: Asked) -> int:
    assert isinstance(asked.message, HeartbeatRequest)
    return int(asked.message.group_id)


def says_back(asked: Asked) -> None:
    if isinstance(asked.message, MetadataRequest):
        asked.answer(brokers_of(*NODES))
    else:
        asked.answer(HeartbeatResponse(number_of(asked)))


def keeps(kept: list[Asked]) -> Callable[[Asked], None]:
    return lambda asked: says_back(asked) if isinstance(asked.message, MetadataRequest) else kept.append(asked)


def in_world(scene: Scene, nodes: Sequence[int] = NODES, **properties: str) -> None:
    brokers = {node: MemoryBroker(says_back) for node in nodes}

    async def begin(loop: MemoryLoop) -> None:
        world = World(loop, brokers, **properties)
        await scene(world)
        world.link.close()
        await world.link.wait_closed()
        assert all(not broker.open for broker in brokers.values())

    play(begin, {address_of(node): broker for node, broker in brokers.items()})


def raises(*_: object) -> None:
    raise ZeroDivisionError


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def test_each_broker_and_purpose_has_one_connection_and_the_general_one_is_that_of_the_first_contact() -> None:
    async def scene(world: World) -> None:
        for number, (node, purpose) in enumerate(
            [(1, Purpose.GENERAL), (1, Purpose.STATE), (2, Purpose.STATE), (1, Purpose.STATE), (1, Purpose.GENERAL)]
        ):
            world.ask(number, node, purpose=purpose)
        await settle()
        assert sorted(world.outcomes) == [0, 1, 2, 3, 4]
        assert sorted(world.loop.opened) == [address_of(1), address_of(1), address_of(2)]
        assert world.link.brokers == {node: BrokerAddress(*address_of(node)) for node in NODES}

    in_world(scene)


def test_each_lane_has_a_connection_and_a_late_answer_ends_that_of_its_lane_alone() -> None:
    async def scene(world: World) -> None:
        kept: list[Asked] = []
        world.brokers[1].says = keeps(kept)
        for number in range(3):
            world.ask(number, lane=number, timeout_ms=100 if number == 1 else 900)
        await settle()
        assert len(world.loop.opened) == 3
        await asyncio.sleep(0.2)
        assert world.failure(1) == (Failure.LOST, "broker 1 at b1:9092 did not answer in time (during Heartbeat)")
        assert world.ended == [1]
        for asked in kept:
            if number_of(asked) != 1:
                says_back(asked)
        await settle()
        assert sorted(world.ended) == [0, 1, 2]
        assert world.outcomes[2] == HeartbeatResponse(2)

    in_world(scene)


def test_on_an_open_connection_a_request_is_written_in_the_call_and_needs_no_task() -> None:
    async def scene(world: World) -> None:
        world.ask(0)
        await settle()
        tasks = asyncio.all_tasks()
        world.ask(1)
        world.ask(2)
        (transport,) = world.brokers[1].open
        assert transport.unread > 0
        assert asyncio.all_tasks() == tasks
        await settle()
        assert world.ended == [0, 1, 2]

    in_world(scene)


def test_what_is_asked_for_when_a_connection_is_lost_goes_over_the_next_one() -> None:
    async def scene(world: World) -> None:
        world.brokers[1].says = keeps([])
        again = iter(range(10, 20))
        for number in range(3):
            world.ask(number)
        for pending in [world.link.send(1, HeartbeatRequest("7")) for _ in range(2)]:
            pending.on_complete(lambda _: world.ask(next(again)))
        await settle()
        world.brokers[1].says = says_back
        world.brokers[1].hang_up()
        await settle()
        assert world.ended == [0, 1, 2, 10, 11]
        assert world.failure(0) == (Failure.LOST, "b1:9092 is lost: Connection reset by peer (during Heartbeat)")
        assert world.outcomes[11] == HeartbeatResponse(11)

    in_world(scene)


def test_a_broker_that_cannot_be_reached_gets_nothing_and_is_asked_again_without_a_loop_that_spins() -> None:
    async def scene(world: World) -> None:
        tries = 0

        def once_more(outcome: Message | LinkFailure) -> None:
            nonlocal tries
            assert isinstance(outcome, LinkFailure)
            assert outcome.failure is Failure.NOT_SENT
            tries += 1
            if tries < 20:
                world.link.send(7, HeartbeatRequest("7")).on_complete(once_more)

        world.link.send(7, HeartbeatRequest("7")).on_complete(once_more)
        await settle()
        await asyncio.sleep(1)
        assert tries == 20
        del world.loop.brokers[address_of(2)]
        world.ask(1, 2)
        await asyncio.sleep(0.2)
        assert world.failure(1) == (
            Failure.NOT_SENT,
            "broker 2 at b2:9092 cannot be reached: Connection refused (before Heartbeat)",
        )
        assert not world.lost

    in_world(scene)


def test_a_broker_that_nobody_names_is_not_one_of_the_cluster() -> None:
    async def scene(world: World) -> None:
        world.ask(1, 7)
        await settle()
        assert world.failure(1) == (
            Failure.NOT_SENT,
            "broker 7 is not one of the cluster (before Heartbeat)",
        )

    in_world(scene)


def test_an_api_that_a_broker_does_not_serve_fails_alone() -> None:
    async def scene(world: World) -> None:
        world.brokers[1].serves = [
            ApiVersion(ApiKey.METADATA, 0, 12),
            ApiVersion(ApiKey.HEARTBEAT, 0, 2),
        ]
        world.ask(0)
        world.ask(1, min_version=3)
        world.ask(2, max_version=1)
        await settle()
        assert world.outcomes[0] == HeartbeatResponse(0)
        assert (
            world.failure(1)
            == (
                Failure.UNSUPPORTED,
                "broker 1 offers Heartbeat in versions 0-2 only; version 3 or later is needed (Heartbeat)",
            )
            or world.failure(1)[0] is Failure.UNSUPPORTED
        )
        assert world.outcomes[2] == HeartbeatResponse(2)
        assert [asked.version for asked in world.brokers[1].asked if isinstance(asked.message, HeartbeatRequest)] == [
            2,
            1,
        ]
        assert not world.lost
        assert world.link.offers(1, ApiKey.HEARTBEAT) == 2
        assert world.link.offers(1, ApiKey.PRODUCE) is None
        assert world.link.offers(2, ApiKey.HEARTBEAT) is None
        assert world.link.offers(None, ApiKey.HEARTBEAT) == 2
        world.ask(3, 2)
        await settle()
        assert world.link.offers(2, ApiKey.HEARTBEAT) == 4
        assert world.link.offers(None, ApiKey.HEARTBEAT) == 2
        assert world.link.offers(None, ApiKey.PRODUCE) is None

    in_world(scene)


def test_a_login_that_is_not_taken_is_said() -> None:
    async def scene(world: World) -> None:
        for broker in world.brokers.values():
            broker.says = lambda asked: asked.answer(SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, []))
        world.ask(0)
        world.ask(1, None)
        await settle()
        for number in (0, 1):
            failure, text = world.failure(number)
            assert failure is Failure.REFUSED
            assert "has no PLAIN on this listener; it has none" in text

    in_world(scene, NODES, **LOGIN)


LOGIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_jaas_config": ("org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='p';"),
}


def test_a_login_is_renewed_before_the_next_request_and_nothing_overtakes() -> None:
    logins = 0

    def logs_in(asked: Asked) -> None:
        nonlocal logins
        match asked.message:
            case SaslHandshakeRequest():
                asked.answer(SaslHandshakeResponse(mechanisms=["PLAIN"]))
            case SaslAuthenticateRequest():
                logins += 1
                asked.answer(SaslAuthenticateResponse(session_lifetime_ms=10_000))
            case _:
                says_back(asked)

    async def scene(world: World) -> None:
        for broker in world.brokers.values():
            broker.says = logs_in
        world.ask(0)
        await settle()
        assert logins == 1
        await asyncio.sleep(8.6)
        kept: list[Asked] = []
        for number in range(1, 6):
            world.ask(number)
        await settle()
        assert logins == 2
        assert world.numbers(1) == world.ended == list(range(6))
        assert not kept
        assert not world.lost

    in_world(scene, NODES, **LOGIN)


def test_what_a_broker_does_not_read_waits_its_turn_or_its_time() -> None:
    async def scene(world: World) -> None:
        world.ask(0)
        await settle()
        (transport,) = world.brokers[1].open
        transport.protocol.pause_writing()
        world.ask(1)
        world.ask(2, timeout_ms=300)
        world.ask(3)
        await asyncio.sleep(0.31)
        assert world.ended == [0, 2]
        assert world.failure(2) == (Failure.NOT_SENT, "broker 1 was not reached in time (before Heartbeat)")
        transport.protocol.resume_writing()
        await settle()
        assert world.ended == [0, 2, 1, 3]
        assert world.numbers(1) == [0, 1, 3]
        transport.protocol.pause_writing()
        world.ask(4)
        await asyncio.sleep(1.1)
        assert world.failure(4)[0] is Failure.NOT_SENT

    in_world(scene)


def test_addresses_are_learned_from_what_others_asked() -> None:
    new = BrokerAddress("b9", 9092)

    async def scene(world: World) -> None:
        world.ask(0)
        await settle()
        world.brokers[1].says = lambda asked: asked.answer(
            FindCoordinatorResponse(coordinators=[Coordinator("g", 2, *new), Coordinator("h", 3, error_code=15)])
        )
        world.link.send(1, FindCoordinatorRequest("", 0, ["g", "h"]))
        await settle()
        assert world.link.brokers[2] == new
        assert world.link.brokers[3] == BrokerAddress(*address_of(3))
        world.brokers[1].says = lambda asked: asked.answer(
            DescribeClusterResponse(brokers=[DescribeClusterBroker(5, *new)])
        )
        world.link.send(1, DescribeClusterRequest())
        await settle()
        assert world.link.brokers == {5: new}

    in_world(scene)


def test_what_any_broker_may_get_goes_to_the_least_busy_that_is_connected() -> None:
    async def scene(world: World) -> None:
        kept: list[Asked] = []
        world.brokers[1].says = world.brokers[2].says = keeps(kept)
        world.ask(0, 1)
        world.ask(1, 2)
        world.ask(2, 2)
        await settle()
        world.ask(3, None)
        await settle()
        assert [number_of(each) for each in kept if each in world.brokers[1].asked] == [0, 3]

    in_world(scene)


def test_what_any_broker_may_get_is_not_sent_when_none_is_reached() -> None:
    async def scene(world: World) -> None:
        world.ask(0, None)
        world.ask(1, None, purpose=Purpose.FORWARD)
        await settle()
        assert world.failure(0)[0] is Failure.NOT_SENT
        assert world.failure(1)[0] is Failure.NOT_SENT

    in_world(scene, ())


def test_a_caller_that_raises_ends_no_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(world: World) -> None:
        world.link.send(1, HeartbeatRequest("7")).on_complete(raises)
        world.link.on_lost(raises)
        world.ask(1)
        await settle()
        assert world.outcomes[1] == HeartbeatResponse(1)
        world.brokers[1].hang_up()
        await settle()
        assert world.lost == [(1, Purpose.GENERAL)]

    in_world(scene)
    assert [record.getMessage() for record in caplog.records] == ["what waited for the cluster failed"] * 2


def test_a_closed_link_fails_what_is_under_way_and_what_follows() -> None:
    async def scene(world: World) -> None:
        world.brokers[1].says = keeps([])
        world.ask(0)
        await settle()
        world.ask(1, 2)
        world.ask(2, None, purpose=Purpose.TAIL)
        world.link.close()
        world.ask(3)
        assert {number: world.failure(number)[0] for number in world.ended} == {
            0: Failure.LOST,
            1: Failure.NOT_SENT,
            2: Failure.NOT_SENT,
            3: Failure.NOT_SENT,
        }
        assert not world.lost  # it was ended, not lost

    in_world(scene)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_happens_each_request_ends_once_in_time_in_order_and_truly(seed: int) -> None:
    """Brokers are late, silent or lost; NOT_SENT is never reported for a request that a broker received."""
    rng = Random(seed)

    async def scene(world: World) -> None:
        sent: dict[int, tuple[int | None, Purpose, float]] = {}
        for broker in world.brokers.values():
            broker.says = _unreliable(world.loop, broker, rng)
        for number in range(150):
            node = rng.choice([1, 1, 2, 3, None])
            purpose = rng.choice([Purpose.GENERAL, Purpose.STATE])
            timeout_ms = rng.choice([50, 400, 1_000])
            sent[number] = node, purpose, world.loop.time() + timeout_ms / 1000
            world.ask(number, node, purpose=purpose, timeout_ms=timeout_ms)
            if rng.random() < 0.3:
                await asyncio.sleep(rng.choice([0, 0.001, 0.05]))
            if rng.random() < 0.02:
                world.brokers[rng.choice(NODES)].hang_up()
        await asyncio.sleep(1.2)
        assert sorted(world.outcomes) == list(range(150))
        _are_true_and_in_time(world, {number: by for number, (_, _, by) in sent.items()})
        for place in product(NODES, (Purpose.GENERAL, Purpose.STATE)):
            _is_in_order(world, place[0], [number for number, (*at, _) in sent.items() if tuple(at) == place])

    in_world(scene, reconnect_backoff_ms="10", reconnect_backoff_max_ms="20")


def _unreliable(loop: MemoryLoop, broker: MemoryBroker, rng: Random) -> Callable[[Asked], None]:
    """Return a broker that answers late but in order, never, or hangs up."""
    late = 0.0

    def answer(asked: Asked) -> None:
        nonlocal late
        late = max(late, loop.time() + rng.choice([0, 0, 0.01, 0.3]))
        roll = rng.random()
        if roll < 0.03:
            broker.hang_up()
        elif roll < 0.98 or isinstance(asked.message, MetadataRequest):
            loop.call_at(late, says_back, asked)

    return answer


def _are_true_and_in_time(world: World, deadlines: dict[int, float]) -> None:
    got = [number for node in NODES for number in world.numbers(node)]
    assert len(got) == len(set(got))
    for number, by in deadlines.items():
        outcome = world.outcomes[number]
        assert world.at[number] <= by + 0.001
        if isinstance(outcome, LinkFailure):
            assert outcome.failure is Failure.LOST or number not in got
        else:
            assert outcome == HeartbeatResponse(number)


def _is_in_order(world: World, node: int, of_lane: list[int]) -> None:
    handled = [number for number in of_lane if _was_sent(world.outcomes[number])]
    assert [number for number in world.ended if number in handled] == handled
    got = world.numbers(node)
    assert [number for number in got if number in of_lane] == [number for number in handled if number in got]


def _was_sent(outcome: Message | LinkFailure) -> bool:
    return not isinstance(outcome, LinkFailure) or outcome.failure is Failure.LOST
