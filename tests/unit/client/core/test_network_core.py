"""The core's rules for brokers and retries, independent of their driver."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shareq.client.chance import CHANCE
from shareq.client.config import Address, ClientConfig
from shareq.client.core.network import NetworkCore
from shareq.client.errors import BrokerError, ClientError, Disconnected, Unreachable
from shareq.client.sockets import run_now
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchRequest, FetchResponse
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorResponse
from shareq.protocol.primitives import Message
from tests.support.fakes.core_driver import MemoryDriver, address_of, brokers_of, knows


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> MemoryDriver:
    monkeypatch.setattr(CHANCE, "shuffle", lambda _: None)
    return MemoryDriver()


def core(driver: MemoryDriver, *bootstrap: int, once: bool = False, **properties: str) -> NetworkCore:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    servers = ",".join(str(address_of(node)) for node in bootstrap)
    return NetworkCore(ClientConfig.from_properties({"bootstrap.servers": servers, **given}), driver, once=once)


def fetched(_: Message) -> Message:
    return FetchResponse(session_id=7)


def test_a_broker_that_failed_comes_last(driver: MemoryDriver) -> None:
    driver.brokers = {address_of(1): knows(1, 2), address_of(2): knows(1, 2, then=fetched)}
    network = core(driver, 1)
    assert run_now(network.request(None, FetchRequest())) == FetchResponse(session_id=7)
    assert [one.address for one in driver.opened] == [address_of(1), address_of(2)]


def test_a_try_that_the_deadline_cut_short_does_not_hide_why_the_one_before_it_failed(driver: MemoryDriver) -> None:
    def says(request: Message) -> Message | None:
        driver.time += 0.2
        return knows(1)(request)

    driver.brokers = {address_of(1): says}
    network = core(driver, 1, reconnect_backoff_ms="10000", retry_backoff_ms="100", retry_backoff_max_ms="100")
    with pytest.raises(Unreachable, match=r"^b1:9092 closed the connection \(during Fetch\); given up after 500 ms$"):
        run_now(network.request(1, FetchRequest(), timeout_ms=500))


def test_opening_a_connection_takes_no_longer_than_the_call_has(driver: MemoryDriver) -> None:
    driver.brokers = {address_of(1): knows(1, then=fetched)}
    network = core(driver, 1)
    run_now(network.request_once(1, FetchRequest(), timeout_ms=300))
    run_now(network.connection(1, "fetch"))
    assert driver.bounds == [driver.time + 0.3, driver.time + 10]
    driver.brokers.clear()
    network = core(driver, 1)
    with pytest.raises(Unreachable):
        run_now(network.request(None, FetchRequest(), timeout_ms=300))
    assert max(driver.bounds[2:]) <= 1000.3


def test_a_broker_that_nobody_can_name_is_missed_for_the_reason_that_nobody_can(driver: MemoryDriver) -> None:
    with pytest.raises(Unreachable, match=r"^b1:9092 cannot be reached$"):
        run_now(core(driver, 1).connection(7))
    driver.brokers = {address_of(1): knows(1)}
    with pytest.raises(Unreachable, match=r"^broker 7 is not one of the cluster$"):
        run_now(core(driver, 1).connection(7))


def test_a_broker_that_leaves_the_cluster_while_others_are_tried_is_passed_over(driver: MemoryDriver) -> None:
    """A request for its address would itself need a broker."""

    async def play() -> None:
        driver.make_lock = asyncio.Lock
        driver.brokers = {address_of(9): knows(1, 2), address_of(3): knows(3, then=fetched)}
        network = core(driver, 9, 3)

        def forgotten(address: Address) -> None:
            if address == address_of(1):
                network._heard(brokers_of(1))

        driver.on_open = forgotten
        async with asyncio.timeout(5):
            assert await network.request(None, FetchRequest(), timeout_ms=500) == FetchResponse(session_id=7)

    asyncio.run(play())


def test_a_coordinator_is_asked_for_within_the_timeout_whatever_is_tried_in_it(driver: MemoryDriver) -> None:
    def loading(_: Message) -> Message:
        driver.time += 0.3
        return FindCoordinatorResponse(coordinators=[Coordinator("g", error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)])

    driver.brokers = {address_of(1): knows(1, then=loading)}
    network = core(driver, 1)
    began = driver.time
    with pytest.raises(Unreachable, match=r"COORDINATOR_NOT_AVAILABLE.*; given up after 500 ms$"):
        run_now(network.coordinator("g", timeout_ms=500))
    assert driver.time - began <= 0.8
    asked = len(driver.opened[0].asked)
    with pytest.raises(BrokerError):
        run_now(network.coordinator("g", once=True))
    assert len(driver.opened[0].asked) == asked + 1


def test_each_purpose_has_a_connection_of_its_own_and_what_goes_anywhere_uses_the_general_one(
    driver: MemoryDriver,
) -> None:
    driver.brokers = {address_of(1): knows(1, then=fetched)}
    network = core(driver, 1)
    run_now(network.request(1, FetchRequest(), purpose="share"))
    run_now(network.request(1, FetchRequest()))
    run_now(network.request(None, FetchRequest()))
    general, share = driver.opened
    assert [len(one.asked) for one in (general, share)] == [3, 1]


def test_what_belongs_to_a_connection_is_sent_on_no_other(driver: MemoryDriver) -> None:
    driver.brokers = {address_of(1): knows(1, then=fetched)}
    network = core(driver, 1)
    first = run_now(network.connection(1, "share"))
    first.close()
    with pytest.raises(Disconnected, match=r"^broker 1: the connection was lost$"):
        run_now(network.submit(1, FetchRequest(), purpose="share", on=first))
    assert run_now(network.connection(1, "share")) is not first


def test_a_connection_that_opens_when_all_is_closed_is_closed_too(driver: MemoryDriver) -> None:
    driver.brokers = {address_of(1): knows(1)}
    network = core(driver, 1)
    driver.on_open = lambda _: network.close()
    with pytest.raises(ClientError, match="closed"):
        run_now(network.request(None, FetchRequest()))
    assert [one.closed for one in driver.opened] == [True]


def test_a_coroutine_that_waits_for_another_driver_is_refused() -> None:
    async def waits() -> Any:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="suspended"):
        run_now(waits())
