"""The audit log: which principal was denied or allowed which operation, on which resource, from where."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation import turn_budget
from shareq.broker.network.audit_log import LINES_IN_TURN, MOST_SINGLE, NAMES_IN_LINE, AuditLog
from shareq.broker.security.rights import DESCRIBE_TOPIC, WRITE_TOPIC
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.support.clients.access import AccessWorld, acl

AUDIT = "shareq.authorizer"


def metadata(world: AccessWorld, *names: str) -> None:
    """Send alice's Metadata request for these topics, or for all topics if none is named."""
    topics = [MetadataRequestTopic(name=name) for name in names] if names else None
    world.alice.call(MetadataRequest(topics, allow_auto_topic_creation=False), 12, MetadataResponse)


def decisions(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    return [(each.levelname, each.__dict__["fields"]) for each in caplog.records if each.name == AUDIT]


def test_what_is_denied_is_logged_and_what_is_allowed_is_not(caplog: pytest.LogCaptureFixture) -> None:
    world = AccessWorld()
    with caplog.at_level(logging.INFO):
        metadata(world, "t")
        world.grant([acl(DESCRIBE_TOPIC)])
        metadata(world, "t")
    (denied,) = decisions(caplog)
    assert denied == (
        "INFO",
        {
            "event": "denied",
            "principal": "User:alice",
            "client_address": "127.0.0.1",
            "client_id": "mock",
            "operation": "DESCRIBE",
            "resource_type": "TOPIC",
            "resource": "t",
        },
    )
    assert "User:alice from 127.0.0.1 (client id 'mock') is denied DESCRIBE on TOPIC:t" in caplog.messages


def test_what_is_allowed_is_logged_for_those_who_want_it(caplog: pytest.LogCaptureFixture) -> None:
    world = AccessWorld()
    world.grant([acl(WRITE_TOPIC)])
    with caplog.at_level(logging.DEBUG, logger=AUDIT):
        metadata(world, "t")
    (allowed,) = decisions(caplog)
    assert (allowed[0], allowed[1]["event"], allowed[1]["operation"]) == ("DEBUG", "allowed", "DESCRIBE")


def test_a_client_that_asks_for_all_it_may_see_is_denied_nothing(caplog: pytest.LogCaptureFixture) -> None:
    world = AccessWorld()
    with caplog.at_level(logging.INFO):
        metadata(world)
    assert decisions(caplog) == []


def resources(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [name for _, fields in decisions(caplog) for name in fields.get("resources") or [fields["resource"]]]


def test_every_denial_of_a_request_about_very_many_topics_is_logged_in_few_lines(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(turn_budget, "TURN_ELEMENTS", 2_000)  # as many as a clock that goes allows
    world = AccessWorld()
    names = [f"no-{number}" for number in range(9_000)]
    with caplog.at_level(logging.INFO):
        metadata(world, *names)
        world.clock.advance(1)
        assert resources(caplog) == names
        assert len(decisions(caplog)) <= 9_000 // 5  # it was handled in turns, each of which has a few single lines
        metadata(world, "t")
    assert decisions(caplog)[-1][1]["resource"] == "t"


def test_lines_that_wait_are_written_when_the_broker_stops(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    log = AuditLog(clock, None)
    asked = (False, "User:a", "127.0.0.1", "c", "READ", "TOPIC")
    with caplog.at_level(logging.INFO):
        for number in range(1_000):
            log.log(f"t{number}", *asked)
        assert len(decisions(caplog)) == MOST_SINGLE
        log.flush()
        assert resources(caplog) == [f"t{number}" for number in range(1_000)]
        clock.advance(1)
        log.log("later", *asked)
    assert len(decisions(caplog)) == MOST_SINGLE + 10 + 1


class ByTurns(VirtualClock):
    def __init__(self) -> None:
        super().__init__()
        self.turns: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.turns.append(callback)


def test_a_turn_writes_so_many_lines_however_much_waits(caplog: pytest.LogCaptureFixture) -> None:
    clock = ByTurns()
    turns = clock.turns
    log = AuditLog(clock, None)
    asked = (False, "User:a", "127.0.0.1", "c", "READ", "TOPIC")
    with caplog.at_level(logging.INFO):
        for number in range(MOST_SINGLE + 3 * LINES_IN_TURN * NAMES_IN_LINE):
            log.log(str(number), *asked)
        written = [len(decisions(caplog))]
        while turns:
            turns.pop()()
            written.append(len(decisions(caplog)))
    assert written == [MOST_SINGLE + turn * LINES_IN_TURN for turn in range(4)]


def test_an_operator_may_bound_the_lines_of_each_client(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    log = AuditLog(clock, 3)
    flood = (False, "User:greedy", "192.0.2.1", "c", "READ", "TOPIC")
    other = (False, "User:honest", "192.0.2.1", "c", "READ", "TOPIC")
    with caplog.at_level(logging.INFO):
        for number in range(50):
            log.log(f"t{number}", *flood)
            clock.advance(1)
        log.log("mine", *other)
        clock.advance(60_000)
    lines = [(fields["principal"], fields["resource"], fields.get("left_out")) for _, fields in decisions(caplog)]
    greedy = "User:greedy"
    assert lines == [
        *((greedy, name, None) for name in ("t0", "t1", "t2")),
        ("User:honest", "mine", None),
        (greedy, "t49", 47),
    ]


def test_names_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    log = AuditLog(VirtualClock(), None)
    with caplog.at_level(logging.INFO):
        log.log("g" * 32_000, False, "User:a", "127.0.0.1", "i" * 32_000, "READ", "GROUP")
    (message,) = caplog.messages
    assert len(message) < 1_300
    assert "(32000 characters)" in message


def test_a_logger_that_is_off_has_nothing(caplog: pytest.LogCaptureFixture) -> None:
    world = AccessWorld()
    with caplog.at_level(logging.ERROR, logger=AUDIT):
        metadata(world, "t")
    assert decisions(caplog) == []
