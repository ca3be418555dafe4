from __future__ import annotations

from itertools import product

import pytest

from shareq.broker.quotas.entity import DEFAULT, QuotaEntity, entity_of, value_problem
from shareq.broker.quotas.filters import DEFAULT_ENTITY, EXACT, SPECIFIED, matches
from shareq.broker.quotas.limits import Limit, Limits
from tests.support.each import for_each

KEY = "producer_byte_rate"
IN_ORDER = (  # Apache Kafka's documentation, "Quotas": the first of them that there is holds
    QuotaEntity("alice", "app"),
    QuotaEntity("alice", DEFAULT),
    QuotaEntity("alice"),
    QuotaEntity(DEFAULT, "app"),
    QuotaEntity(DEFAULT, DEFAULT),
    QuotaEntity(DEFAULT),
    QuotaEntity(None, "app"),
    QuotaEntity(None, DEFAULT),
)
SHARED = ("alice app", "alice app", "alice ", "alice app", "alice app", "alice ", " app", " app")


@for_each("present", list(product((False, True), repeat=8)))
def test_the_first_that_there_is_holds(present: tuple[bool, ...]) -> None:
    there = [position for position, there in enumerate(present) if there]
    limits = Limits(KEY, {IN_ORDER[at]: {KEY: at + 1.0, "other": 99.0} for at in there})
    expected = None
    if there:
        user, _, client_id = SHARED[there[0]].partition(" ")
        expected = Limit(user, client_id, there[0] + 1.0, IN_ORDER[there[0]])
    assert limits.of_client("alice", "app") == expected
    assert bool(limits) == bool(there)


def test_others_have_the_defaults_and_each_a_share_of_their_own() -> None:
    limits = Limits(KEY, {entity: {KEY: at + 1.0} for at, entity in enumerate(IN_ORDER)})
    assert limits.of_client("bob", "app") == Limit("bob", "app", 4.0, IN_ORDER[3])
    assert limits.of_client("bob", "web") == Limit("bob", "web", 5.0, IN_ORDER[4])
    assert limits.of_client("alice", "web") == Limit("alice", "web", 2.0, IN_ORDER[1])
    assert limits.of_client("alice", "") == Limit("alice", "", 3.0, IN_ORDER[2])
    assert limits.of_client("bob", "") == Limit("bob", "", 6.0, IN_ORDER[5])
    assert Limits(KEY, {QuotaEntity(None, DEFAULT): {KEY: 1.0}}).of_client("bob", "") is None


def test_addresses() -> None:
    limits = Limits(KEY, {QuotaEntity(ip="10.0.0.1"): {KEY: 1.0}, QuotaEntity(ip=DEFAULT): {KEY: 2.0}})
    assert (limits.of_address("10.0.0.1"), limits.of_address("10.0.0.2")) == (1.0, 2.0)
    assert limits.of_client("alice", "app") is None
    assert Limits(KEY, {QuotaEntity("alice"): {KEY: 1.0}}).of_address("10.0.0.1") is None


def test_an_entity_in_words() -> None:
    entity = entity_of({"user": None, "client-id": "app"})
    assert entity == QuotaEntity(DEFAULT, "app")
    assert str(entity) == "ClientQuotaEntity(entries={client-id=app, user=null})"
    assert entity_of({"ip": None}) == QuotaEntity(ip=DEFAULT)
    assert entity_of({"ip": "::1"}) == QuotaEntity(ip="::1")


@pytest.mark.parametrize(
    ("entity", "key", "value", "problem"),
    [
        (QuotaEntity("a"), KEY, 1.0, None),
        (QuotaEntity("a"), KEY, 2.0**62, None),
        (QuotaEntity("a"), KEY, 1e19, "Proposed value for producer_byte_rate is too large for a LONG."),
        (QuotaEntity("a"), KEY, 1.5, "producer_byte_rate cannot be a fractional value."),
        (QuotaEntity("a"), KEY, 0.0, "Quota producer_byte_rate must be greater than 0"),
        (QuotaEntity("a"), KEY, float("nan"), "Quota producer_byte_rate must be greater than 0"),
        (QuotaEntity("a"), "request_percentage", 0.5, None),
        (QuotaEntity("a"), "connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        (QuotaEntity(ip=""), "connection_creation_rate", 1.0, None),
        (QuotaEntity(ip=""), KEY, 1.0, "Invalid configuration key producer_byte_rate"),
    ],
)
def test_what_a_quota_may_be(entity: QuotaEntity, key: str, value: float, problem: str | None) -> None:
    assert value_problem(entity, key, value) == problem


@pytest.mark.parametrize(
    ("wanted", "strict", "found"),
    [
        ({}, False, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({}, True, []),
        ({"user": (EXACT, "alice")}, False, [0, 1, 2]),
        ({"user": (EXACT, "alice")}, True, [2]),
        ({"user": (DEFAULT_ENTITY, "")}, False, [3, 4, 5]),
        ({"user": (SPECIFIED, "")}, True, [2, 5]),
        ({"client-id": (SPECIFIED, "")}, False, [0, 1, 3, 4, 6, 7]),
        ({"client-id": (DEFAULT_ENTITY, "")}, True, [7]),
        ({"user": (SPECIFIED, ""), "client-id": (EXACT, "app")}, True, [0, 3]),
        ({"user": (EXACT, "")}, False, []),
        ({"ip": (SPECIFIED, "")}, False, []),
    ],
)
def test_what_a_filter_is_about(wanted: dict[str, tuple[int, str]], strict: bool, found: list[int]) -> None:
    assert [at for at, entity in enumerate(IN_ORDER) if matches(entity, wanted, strict=strict)] == found
