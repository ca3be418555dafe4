"""Properties of share groups and of the share coordinator: Apache Kafka 4.3.1's definitions, as its tools see them.

Run with `--broker=apache` to check the expectations themselves.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import KAFKA_VERSION, broker_class_path
from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.handlers.shared.config_resources import ResourceType
from shareq.protocol.config_def import ConfigKey, ConfigSource, Range, UpdateMode, format_value
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.interop.java_codecs_support import why_no_judge
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.share_wire import eventually

BROKER, GROUP = ResourceType.BROKER, ResourceType.GROUP
SET, DELETE, APPEND, SUBTRACT = range(4)
NONE, INVALID_REQUEST, INVALID_CONFIG = ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG
BROKER_SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "5000",  # as it is by default: the harness has a quicker one
    "group.share.heartbeat.interval.ms": "5000",
}

# The KIP's own, which Apache Kafka has no more.
OURS_ALONE = {"group.share.enable", "group.share.max.groups", "shareq.dlq.keep"}
# Apache Kafka 4.4.0's, which 4.3.1 does not have.
SINCE_4_4 = {
    "group.share.dlq.manager.class.name",
    "errors.deadletterqueue.topic.name",
    "errors.deadletterqueue.copy.record.enable",
    "errors.deadletterqueue.auto.create.topics.enable",
    "errors.deadletterqueue.topic.name.prefix",
    "max.decompressed.message.bytes",
    "log.remote.copy.lag.ms",
    "log.remote.copy.lag.bytes",
    "group.share.assignor.offload.enable",
    "group.consumer.assignor.offload.enable",
    "consumer.assignor.offload.enable",
    "share.assignor.offload.enable",
}
# Of groups of a kind that is not served.
APACHES_ALONE = ("streams.",)
# Name -> Apache Kafka's default; there is one broker here.
OTHER_DEFAULTS = {
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
}
# Name -> Apache Kafka's bounds; a window is a handful of ranges here, and an unknown codec is refused at once.
OTHER_BOUNDS = {
    "group.share.partition.max.record.locks": "[100,...,10000]",
    "group.share.max.partition.max.record.locks": "[2000,...,10000]",
    "share.coordinator.state.topic.compression.codec": "null",
}


# Apache Kafka has these changed while it runs; here a start reads them.
READ_ONLY_HERE = {
    "listeners",
    "listener.security.protocol.map",
    "sasl.enabled.mechanisms",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
}
IS_4_3 = KAFKA_VERSION.startswith("4.3.")


def is_of_share(name: str) -> bool:
    return name.startswith(("group.share.", "share."))


# -- definitions


class Definition(NamedTuple):
    name: str
    type: str
    default: str
    bounds: str
    internal: bool


@pytest.fixture(scope="module")
def apaches() -> dict[str, list[Definition]]:
    missing = why_no_judge()
    if missing is not None:
        pytest.skip(missing)
    source = Path(__file__).with_name("java") / "ConfigKeys.java"
    done = subprocess.run(
        ["java", "-cp", broker_class_path(), str(source)], check=True, capture_output=True, text=True, timeout=60
    )
    definitions: dict[str, list[Definition]] = {"broker": [], "group": []}
    for line in done.stdout.splitlines():
        kind, name, kind_of_value, default, bounds, internal = line.split("\t")
        definitions[kind].append(Definition(name, kind_of_value, default, bounds, internal == "true"))
    return definitions


def ours(key: ConfigKey[Any]) -> Definition:
    bounds = "null"
    if isinstance(key.validator, Range):
        high = "" if key.validator.high is None else f",{key.validator.high}"
        bounds = f"[{key.validator.low},...{high}]"
    default = OTHER_DEFAULTS.get(key.name, format_value(key.default))
    return Definition(key.name, key.type.name, default, OTHER_BOUNDS.get(key.name, bounds), key.internal)


def has_numbers(definition: Definition) -> bool:
    return definition.type in ("INT", "SHORT", "LONG")


@pytest.mark.interop
def test_broker_properties_are_defined_as_by_apache_kafka(apaches: dict[str, list[Definition]]) -> None:
    theirs = {one.name: one for one in apaches["broker"] if is_of_share(one.name)}
    mine = {key.name: ours(key) for key in BROKER_KEYS if is_of_share(key.name) and key.name not in OURS_ALONE}
    mine = {name: one for name, one in mine.items() if not (IS_4_3 and name in SINCE_4_4)}
    assert mine.keys() == theirs.keys()
    for name, definition in theirs.items():
        if has_numbers(definition):
            assert mine[name] == definition
        else:
            assert (mine[name].type, mine[name].default) == (definition.type, definition.default)
    protocols = "group.coordinator.rebalance.protocols"
    assert ours(BROKER_KEYS[protocols])[:3] == next(one[:3] for one in apaches["broker"] if one.name == protocols)


@pytest.mark.interop
def test_group_properties_are_defined_as_by_apache_kafka(apaches: dict[str, list[Definition]]) -> None:
    theirs = {one.name: one for one in apaches["group"] if not one.name.startswith(APACHES_ALONE)}
    mine = {key.name: ours(key) for key in GROUP_KEYS if not key.name.startswith("shareq.")}
    mine = {name: one for name, one in mine.items() if not (IS_4_3 and name in SINCE_4_4)}
    assert mine.keys() == theirs.keys()
    for name, definition in theirs.items():
        if has_numbers(definition):
            assert mine[name] == definition
        else:
            assert (mine[name].type, mine[name].default) == (definition.type, definition.default)


# -- described and changed over the wire


class Configs:
    def __init__(self, client: WireClient) -> None:
        self._client = client

    def describe(self, kind: int, name: str) -> dict[str, DescribeConfigsResourceResult]:
        request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)], True, True)
        (result,) = self._client.call(request, 4, DescribeConfigsResponse).results
        assert result.error_code == NONE
        return {one.name: one for one in result.configs}

    def alter(self, kind: int, name: str, *changes: tuple[str, int, str | None]) -> int:
        resource = AlterConfigsResource(kind, name, [AlterableConfig(*change) for change in changes])
        request = IncrementalAlterConfigsRequest([resource], False)
        (row,) = self._client.call(request, 1, IncrementalAlterConfigsResponse).responses
        return row.error_code

    def become(self, kind: int, name: str, expected: dict[str, list[tuple[str, str | None, int]]]) -> None:
        """Wait until the properties have these synonyms: Apache Kafka applies changes just after its answer."""

        def attempt() -> bool | None:
            configs = self.describe(kind, name)
            found = {key: [(one.name, one.value, one.source) for one in configs[key].synonyms] for key in expected}
            return True if found == expected else None

        eventually(attempt, timeout_s=10)


@pytest.fixture
def configs(broker: BrokerUnderTest) -> Iterator[Configs]:
    with WireClient(("127.0.0.1", broker.port)) as client:
        yield Configs(client)


def default_of(key: ConfigKey[Any], kind: Kind) -> str:
    return (
        OTHER_DEFAULTS.get(key.name, "")
        if kind == "apache" and key.name in OTHER_DEFAULTS
        else format_value(key.default)
    )


def test_broker_properties_are_described(broker: BrokerUnderTest, configs: Configs) -> None:
    """Every public property is described with default, type and whether it may change; none is secret."""
    described = {name: one for name, one in configs.describe(BROKER, "1").items() if is_of_share(name)}
    keys = [key for key in BROKER_KEYS if is_of_share(key.name) and not key.internal]
    if broker.kind == "apache":
        keys = [key for key in keys if key.name not in OURS_ALONE]
    assert described.keys() == {key.name for key in keys}
    for key in keys:
        one = described[key.name]
        assert (one.config_type, one.read_only, one.is_sensitive) == (key.type, key.mode is UpdateMode.READ_ONLY, False)
        assert one.documentation
        if key.default is not None:
            last = one.synonyms[-1]
            assert (last.name, last.value, last.source) == (
                key.name,
                default_of(key, broker.kind),
                ConfigSource.DEFAULT,
            )
        assert one.value == (one.synonyms[0].value if one.synonyms else None)


def test_all_broker_properties_are_described_as_by_apache_kafka(broker: BrokerUnderTest, configs: Configs) -> None:
    """Types, mutability, secrecy and documentation are compared; shareq.* names are ours."""
    described = configs.describe(BROKER, "1")
    keys = [key for key in BROKER_KEYS if not key.internal]
    if broker.kind == "apache":
        keys = [key for key in keys if key.name not in OURS_ALONE and not key.name.startswith("shareq.")]
        keys = [key for key in keys if not (IS_4_3 and key.name in SINCE_4_4)]
    for key in keys:
        one = described[key.name]
        read_only = key.mode is UpdateMode.READ_ONLY and not (broker.kind == "apache" and key.name in READ_ONLY_HERE)
        found = (one.config_type, one.read_only, one.is_sensitive, bool(one.documentation))
        assert found == (key.described_as, read_only, key.sensitive, True), key.name


def test_group_properties_are_described(
    broker: BrokerUnderTest, configs: Configs, unique: Callable[[str], str]
) -> None:
    """A group's own value comes first, then the broker's property with `group.` in front, then its default."""
    group = unique("group")
    described = {name: one for name, one in configs.describe(GROUP, group).items() if name.startswith("share.")}
    keys = [key for key in GROUP_KEYS if key.name.startswith("share.") and not key.internal]
    assert described.keys() == {key.name for key in keys}
    for key in keys:
        one = described[key.name]
        assert (one.config_type, one.read_only, one.is_sensitive) == (key.type, False, False)
        assert one.documentation
        synonym = f"group.{key.name}"
        name = synonym if synonym in BROKER_KEYS else key.name
        last = one.synonyms[-1]
        assert (last.name, last.value, last.source) == (name, format_value(key.default), ConfigSource.DEFAULT)
        assert {each.name for each in one.synonyms} == {name}
        assert (one.value, one.config_source) == (one.synonyms[0].value, one.synonyms[0].source)


def test_where_a_groups_value_comes_from(configs: Configs, unique: Callable[[str], str]) -> None:
    """The first level that sets the property counts: the group, this broker, all brokers, the default."""
    group, name = unique("group"), "share.assignment.interval.ms"
    of_broker = f"group.{name}"
    chain: list[tuple[str, str | None, int]] = [(of_broker, "1000", ConfigSource.DEFAULT)]
    configs.become(GROUP, group, {name: chain})
    assert configs.alter(BROKER, "", (of_broker, SET, "3000")) == NONE
    chain.insert(0, (of_broker, "3000", ConfigSource.DYNAMIC_DEFAULT_BROKER))
    configs.become(GROUP, group, {name: chain})
    assert configs.alter(BROKER, "1", (of_broker, SET, "2000")) == NONE
    chain.insert(0, (of_broker, "2000", ConfigSource.DYNAMIC_BROKER))
    configs.become(GROUP, group, {name: chain})
    configs.become(BROKER, "1", {of_broker: chain})
    assert configs.alter(GROUP, group, (name, SET, "500")) == NONE
    configs.become(GROUP, group, {name: [(name, "500", ConfigSource.GROUP), *chain]})
    for kind, resource, key in ((GROUP, group, name), (BROKER, "1", of_broker), (BROKER, "", of_broker)):
        assert configs.alter(kind, resource, (key, DELETE, None)) == NONE
    configs.become(GROUP, group, {name: chain[-1:]})


GROUP_CHANGES: list[tuple[str, str, ErrorCode]] = [
    ("share.isolation.level", "read_committed", NONE),
    ("share.isolation.level", "READ_COMMITTED", INVALID_CONFIG),
    ("share.auto.offset.reset", "earliest", NONE),
    ("share.auto.offset.reset", "by_duration:PT1H", NONE),
    ("share.auto.offset.reset", "by_duration:-PT1H", INVALID_CONFIG),
    ("share.auto.offset.reset", "by_duration:an hour", INVALID_CONFIG),
    ("share.auto.offset.reset", "BY_DURATION:PT1H", INVALID_CONFIG),
    ("share.auto.offset.reset", "Latest", INVALID_CONFIG),
    ("share.auto.offset.reset", "none", INVALID_CONFIG),
    ("share.delivery.count.limit", "10", NONE),
    ("share.delivery.count.limit", " 5 ", NONE),
    ("share.delivery.count.limit", "11", INVALID_CONFIG),
    ("share.delivery.count.limit", "1", INVALID_CONFIG),
    ("share.delivery.count.limit", "many", INVALID_CONFIG),
    ("share.delivery.count.limit", "", INVALID_CONFIG),
    ("share.record.lock.duration.ms", "15000", NONE),
    ("share.record.lock.duration.ms", "60000", NONE),
    ("share.record.lock.duration.ms", "14999", INVALID_CONFIG),
    ("share.record.lock.duration.ms", "60001", INVALID_CONFIG),
    ("share.partition.max.record.locks", "100", NONE),
    ("share.partition.max.record.locks", "4000", NONE),
    ("share.partition.max.record.locks", "99", INVALID_CONFIG),
    ("share.partition.max.record.locks", "4001", INVALID_CONFIG),
    ("share.session.timeout.ms", "60000", NONE),
    ("share.session.timeout.ms", "44999", INVALID_CONFIG),
    ("share.session.timeout.ms", "60001", INVALID_CONFIG),
    ("share.heartbeat.interval.ms", "15000", NONE),
    ("share.heartbeat.interval.ms", "4999", INVALID_CONFIG),
    ("share.heartbeat.interval.ms", "15001", INVALID_CONFIG),
    ("share.assignment.interval.ms", "0", NONE),
    ("share.assignment.interval.ms", "15001", INVALID_CONFIG),
    ("share.assignment.interval.ms", "-1", INVALID_CONFIG),
    ("share.renew.acknowledge.enable", "False", NONE),
    ("share.renew.acknowledge.enable", "no", INVALID_CONFIG),
    ("group.share.isolation.level", "read_committed", INVALID_CONFIG),
    ("group.share.auto.offset.reset", "earliest", INVALID_CONFIG),
    ("no.such.property", "1", INVALID_CONFIG),
]


@pytest.mark.parametrize(("name", "value", "expected"), GROUP_CHANGES)
def test_changing_a_group(
    configs: Configs, unique: Callable[[str], str], name: str, value: str, expected: ErrorCode
) -> None:
    group = unique("group")
    assert configs.alter(GROUP, group, (name, SET, value)) == expected
    if expected == NONE:
        eventually(lambda: True if configs.describe(GROUP, group)[name].config_source == ConfigSource.GROUP else None)
        assert str(configs.describe(GROUP, group)[name].value).lower() == value.strip().lower()


def test_a_change_that_is_none_of_a_groups_properties(configs: Configs, unique: Callable[[str], str]) -> None:
    limit = "share.delivery.count.limit"
    group = unique("group")
    assert configs.alter(GROUP, "", (limit, SET, "5")) == INVALID_REQUEST
    assert configs.alter(GROUP, group, (limit, SET, None)) == INVALID_REQUEST
    assert configs.alter(GROUP, group, (limit, SET, "5"), (limit, SET, "6")) == INVALID_REQUEST
    assert configs.alter(GROUP, group, (limit, APPEND, "5")) == INVALID_CONFIG
    assert configs.alter(GROUP, group, (limit, SUBTRACT, "5")) == INVALID_CONFIG
    assert configs.alter(GROUP, group, ("no.such.property", DELETE, None)) == NONE
    assert configs.alter(GROUP, group) == NONE


def test_a_group_is_checked_as_a_whole(configs: Configs, unique: Callable[[str], str]) -> None:
    group = unique("group")
    changes = ("share.delivery.count.limit", SET, "7"), ("share.isolation.level", SET, "half_committed")
    assert configs.alter(GROUP, group, *changes) == INVALID_CONFIG
    assert configs.describe(GROUP, group)["share.delivery.count.limit"].value == "5"


BUFFER, INTERVAL = "share.coordinator.cached.buffer.max.bytes", "group.share.assignment.interval.ms"


def test_the_two_broker_properties_that_change_while_it_runs(configs: Configs) -> None:
    for name, value, too_small in ((BUFFER, "524288", "524287"), (INTERVAL, "15000", "-1")):
        assert configs.alter(BROKER, "1", (name, SET, value)) == NONE
        assert configs.alter(BROKER, "1", (name, SET, too_small)) == INVALID_REQUEST
        eventually(lambda: True if configs.describe(BROKER, "1")[name].value == value else None)  # noqa: B023
        assert configs.alter(BROKER, "1", (name, DELETE, None)) == NONE
    assert configs.alter(BROKER, "1", (INTERVAL, SET, "15001")) == INVALID_REQUEST  # beyond group.share.max...
    for name in ("group.share.max.size", "group.share.delivery.count.limit", "share.coordinator.threads"):
        for resource in ("1", ""):
            assert configs.alter(BROKER, resource, (name, SET, "5")) == INVALID_REQUEST


# -- what a broker does not start with

NOT_STARTED_WITH: dict[str, dict[str, str]] = {
    "group.share.delivery.count.limit": {"group.share.delivery.count.limit": "11"},
    "group.share.max.delivery.count.limit": {"group.share.max.delivery.count.limit": "26"},
    "group.share.session.timeout.ms": {"group.share.session.timeout.ms": "44999"},
    "group.share.record.lock.duration.ms": {"group.share.record.lock.duration.ms": "60001"},
    "group.share.partition.max.record.locks": {"group.share.partition.max.record.locks": "4001"},
    "group.share.heartbeat.interval.ms": {
        "group.share.min.session.timeout.ms": "1000",
        "group.share.session.timeout.ms": "5000",
    },
    "group.share.max.share.sessions": {"group.share.max.share.sessions": "199"},
    "share.coordinator.snapshot.update.records.per.snapshot": {
        "share.coordinator.snapshot.update.records.per.snapshot": "501"
    },
}


@pytest.mark.parametrize("named", NOT_STARTED_WITH)
def test_a_broker_does_not_start_out_of_bounds(broker_kind: Kind, named: str) -> None:
    refused = BrokerUnderTest(broker_kind, BROKER_SETTINGS | NOT_STARTED_WITH[named])
    try:
        with pytest.raises(RuntimeError, match=named.replace(".", r"\.")):
            refused.start()
        if broker_kind == "ours":  # Apache Kafka refuses already to format a data folder of which it has no copy
            assert refused.last_exit_code == 2
    finally:
        refused.remove()
