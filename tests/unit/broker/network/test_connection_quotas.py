"""Admission of connections: their number, their rate, and which of them wait."""

from __future__ import annotations

import pytest

from shareq.broker.network.connection_quotas import Admission, ConnectionNumbers, ConnectionQuotas, ListenerNumbers
from shareq.broker.quotas.entity import CONNECTION_CREATION_RATE, QuotaEntity
from shareq.broker.quotas.limits import Limits
from shareq.broker.quotas.rate import Windows

TAKEN = Admission()


def quotas_of(numbers: ConnectionNumbers, files: int = 1000) -> ConnectionQuotas:
    quotas = ConnectionQuotas(files, Windows(2, 1000))
    quotas.configure(numbers)
    return quotas


def limited(everybody: float, **rates: float) -> ConnectionQuotas:
    quotas = quotas_of(ConnectionNumbers())
    of = {"": everybody, **rates}
    quotas.limit_addresses(
        Limits(CONNECTION_CREATION_RATE, {QuotaEntity(ip=ip): {CONNECTION_CREATION_RATE: of[ip]} for ip in of})
    )
    return quotas


@pytest.mark.parametrize(
    ("numbers", "files", "reason"),
    [
        (ConnectionNumbers(max_connections=2), 1000, "2 are open, as many as max.connections or the files allow"),
        (ConnectionNumbers(), 2, "2 are open, as many as max.connections or the files allow"),
        (
            ConnectionNumbers(of_listeners={"A": ListenerNumbers(max_connections=1)}),
            1000,
            "1 are open, as many as max.connections of A allows",
        ),
        (ConnectionNumbers(max_per_ip=1), 1000, "max.connections.per.ip=1"),
        (ConnectionNumbers(max_per_ip=0, per_ip_overrides={"x": 1, "y": 1}), 1000, "max.connections.per.ip=1"),
    ],
)
def test_what_is_too_many_is_refused_and_taken_when_others_have_gone(
    numbers: ConnectionNumbers, files: int, reason: str
) -> None:
    quotas = quotas_of(numbers, files)
    assert quotas.admit("A", "x", 0) == TAKEN
    assert quotas.admit("B", "y", 0) == TAKEN
    assert quotas.admit("A", "x", 0) == Admission(reason)
    quotas.forget("A", "x")
    assert quotas.admit("A", "x", 0) == TAKEN
    assert len(quotas) == 2


def test_other_numbers_hold_for_new_connections() -> None:
    quotas = quotas_of(ConnectionNumbers())
    assert [quotas.admit("A", "x", 0) for _ in range(3)] == [TAKEN] * 3
    quotas.configure(ConnectionNumbers(max_connections=2))
    assert quotas.admit("A", "y", 0).refusal
    quotas.configure(ConnectionNumbers())
    assert quotas.admit("A", "y", 0) == TAKEN


@pytest.mark.parametrize(
    "numbers", [ConnectionNumbers(max_rate=4), ConnectionNumbers(of_listeners={"A": ListenerNumbers(max_rate=4)})]
)
def test_what_comes_too_fast_waits_its_turn(numbers: ConnectionNumbers) -> None:
    quotas = quotas_of(numbers)
    admitted = [quotas.admit("A", f"x{number}", 0) for number in range(20)]
    assert [each.wait_ms for each in admitted[:12]] == [0, 0, 0, 0, 250, 500, 750, 1000, 1250, 1500, 1750, 2000]
    assert {each.refusal for each in admitted[12:]} == {"max.connection.creation.rate"}
    assert quotas.admit("A", "x", 2000) == TAKEN


def test_a_rate_of_nothing_takes_nothing() -> None:
    assert quotas_of(ConnectionNumbers(max_rate=0)).admit("A", "x", 0).refusal


def test_another_listeners_rate_is_its_own() -> None:
    quotas = quotas_of(ConnectionNumbers(of_listeners={"A": ListenerNumbers(max_rate=1)}))
    assert quotas.admit("A", "x", 0) == TAKEN
    assert quotas.admit("A", "x", 0).wait_ms == 1000
    assert [quotas.admit("B", "x", 0) for _ in range(5)] == [TAKEN] * 5


def test_an_address_that_comes_too_often_is_refused_after_a_wait() -> None:
    quotas = limited(1, x=2)
    assert [quotas.admit("A", "x", 0) for _ in range(2)] == [TAKEN] * 2
    refused = quotas.admit("A", "x", 0)
    assert refused == Admission("connection_creation_rate of x", 500)
    assert quotas.admit("A", "x", 0) == refused, "what is refused does not count"
    assert quotas.admit("A", "y", 0) == TAKEN
    assert quotas.admit("A", "y", 0).wait_ms == 1000
    assert quotas.admit("A", "x", 2000) == TAKEN
    assert (quotas.throttles.number, quotas.throttles.total_ms) == (3, 2000)
    assert len(quotas) == 4


def test_addresses_that_come_once_are_forgotten() -> None:
    quotas = limited(5)
    for number in range(20_000):
        quotas.admit("A", str(number), number)
        quotas.forget("A", str(number))
    assert quotas.known <= 6_000
