"""The audit log: who was denied or allowed what, on which resource, and from where."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from shareq.broker.security.rights import DESCRIBE_TOPIC, WRITE_TOPIC
from shareq.broker.services import MOST_DENIALS
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.support.clients.access import AccessWorld, acl

AUDIT = "shareq.authorizer"


def metadata(world: AccessWorld, *names: str) -> None:
    """Alice's request about these topics; about all without any."""
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


def test_a_request_about_very_many_topics_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    world = AccessWorld()
    with caplog.at_level(logging.INFO):
        metadata(world, *(f"no-{number}" for number in range(900)))
        metadata(world, *(f"no-{number}" for number in range(900)))
        assert len(decisions(caplog)) == MOST_DENIALS
        world.clock.advance(60_000)
        metadata(world, "t")
    assert decisions(caplog)[-1][1]["left_out"] == 1_800 - MOST_DENIALS


def test_a_logger_that_is_off_has_nothing(caplog: pytest.LogCaptureFixture) -> None:
    world = AccessWorld()
    with caplog.at_level(logging.ERROR, logger=AUDIT):
        metadata(world, "t")
    assert decisions(caplog) == []
