"""`kafka-features.sh` turning share groups off and on; groups and offsets are kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.clients.admin import read_from_start
from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import KAFKA_VERSION
from shareq.protocol.errors import ErrorCode
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.share_wire import ACCEPT, Acquired, Member, append, eventually

pytestmark = pytest.mark.interop


def features(java: JavaDriver, broker: BrokerUnderTest, *arguments: str, code: int = 0) -> str:
    result = java.tool("FeatureCommand", "--bootstrap-server", broker.bootstrap, *arguments)
    assert result.code == code, result.output
    return result.output


def share_version(java: JavaDriver, broker: BrokerUnderTest) -> list[str]:
    """Return the versions that `describe` shows: supported minimum and maximum, finalized level."""
    (line,) = [line for line in features(java, broker, "describe").splitlines() if "share.version" in line]
    words = line.split()
    return [words[words.index(f"{name}:") + 1] for name in ("SupportedMinVersion", "SupportedMaxVersion")] + [
        words[words.index("FinalizedVersionLevel:") + 1]
    ]


def test_share_groups_are_switched_off_and_on(
    broker: BrokerUnderTest, java: JavaDriver, unique: Callable[[str], str]
) -> None:
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    highest = 2 if KAFKA_VERSION >= "4.4" else 1
    assert share_version(java, broker) == ["0", str(highest), str(highest)]
    with WireClient(("127.0.0.1", broker.port)) as client, WireClient(("127.0.0.1", broker.port)) as again:
        topic_id = create_topic(client, topic)
        append(client, topic, 10)
        member = Member(client, group, "member", topic_id)
        member.join([topic])
        assert member.take() == [Acquired(0, 9, 1)]
        member.acknowledged((0, 4, ACCEPT))
        features(java, broker, "downgrade", "--feature", "share.version=0")
        assert share_version(java, broker)[2] == "0"
        eventually(lambda: member.heartbeat().error_code == ErrorCode.UNSUPPORTED_VERSION or None)
        assert member.fetch().error_code == ErrorCode.UNSUPPORTED_VERSION
        features(java, broker, "upgrade", "--feature", f"share.version={highest + 1}", code=1)
        features(java, broker, "upgrade", "--feature", "share.version=1")
        assert share_version(java, broker)[2] == "1"
        eventually(lambda: member.heartbeat().error_code == ErrorCode.NONE or None)
        back = Member(again, group, "member", topic_id)
        assert back.take() == [Acquired(5, 9, 1)]
