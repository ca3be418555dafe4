"""The broker's configuration as a whole: sources, types, cross-checks, listeners."""

from __future__ import annotations

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.keys.known_names import is_known
from shareq.broker.config.listeners import Listener
from shareq.protocol.config_def import ConfigError, broker_keys, declared, format_value

DECLARED = list(declared(BrokerConfig))


def test_every_declared_property_is_an_attribute_of_its_name_with_its_value() -> None:
    config = BrokerConfig.load()
    attributes = {name: key for each in BrokerConfig.__mro__ for name, key in vars(each).items() if key in DECLARED}
    assert list(attributes) == [key.name.replace(".", "_") for key in DECLARED]
    for name, key in attributes.items():
        assert getattr(config, name) == key.default, name
        assert getattr(BrokerConfig, name) is key


def test_the_others_are_defaults_of_groups() -> None:
    others = {key.name for key in BROKER_KEYS} - {key.name for key in DECLARED}
    assert others == {each.name for key in GROUP_KEYS for each in broker_keys(key)}
    for name in others:
        assert not hasattr(BrokerConfig, name.replace(".", "_"))


def test_every_default_is_valid_and_documented() -> None:
    for key in BROKER_KEYS:
        assert key.doc, key.name
        if key.default is not None:
            assert key.parse(format_value(key.default)) == key.default


def test_options_win_over_the_file_which_wins_over_defaults() -> None:
    config = BrokerConfig.load({"num.partitions": "3", "message.max.bytes": "77"}, {"num.partitions": "4"})
    assert (config.num_partitions, config.message_max_bytes, config.fetch_max_bytes) == (4, 77, 57_671_680)
    assert config.originals == {"num.partitions": "4", "message.max.bytes": "77"}


def test_an_option_under_an_older_name_wins_over_the_file() -> None:
    config = BrokerConfig.load(
        {"group.share.partition.max.record.locks": "1000"}, {"group.share.record.lock.partition.limit": "500"}
    )
    assert config.values["group.share.partition.max.record.locks"] == 500
    assert config.warnings == ()


def test_unknown_names_warn_and_known_ones_without_effect_do_not() -> None:
    config = BrokerConfig.load(
        {
            "num.partitons": "3",
            "zookeeper.connect": "x:2181",
            "num.io.threads": "8",
            "listener.name.internal.ssl.keystore.location": "/x",
            "create.topic.policy.class.name": "com.example.Policy",
        }
    )
    assert config.warnings == (
        "Unknown property num.partitons is ignored; did you mean num.partitions?",
        "Unknown property zookeeper.connect is ignored",
        "Property create.topic.policy.class.name is not acted on: Java policies cannot run here",
    )
    assert not is_known("num.partitons")


@pytest.mark.parametrize(
    ("unknown", "meant"),
    [
        ("group.share.record.lock.duration", "group.share.record.lock.duration.ms"),
        ("log.dir.", "log.dir"),
        ("broker.ids", "broker.id"),
        ("num.io.thread", "num.io.threads"),
        ("LISTENERS", "listeners"),
    ],
)
def test_an_unknown_name_that_is_nearly_right_is_corrected(unknown: str, meant: str) -> None:
    (warning,) = BrokerConfig.load({unknown: "3"}).warnings
    assert warning == f"Unknown property {unknown} is ignored; did you mean {meant}?"


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("num.partitions", "many", "whole number"),
        ("num.partitions", "1_000", "whole number"),
        ("num.partitions", "٣", "whole number"),
        ("num.partitions", "9" * 5000, "whole number"),
        ("num.partitions", "2147483648", "at most 2147483647"),
        ("num.partitions", "0", "at least 1"),
        ("num.partitions", "", "whole number"),
        ("auto.create.topics.enable", "yes", "true or false"),
        ("log.cleaner.min.cleanable.ratio", "1.1", "between 0 and 1"),
        ("log.cleaner.min.cleanable.ratio", "nan", "must be a number"),
        ("log.cleanup.policy", "delete,forget", "one of compact, delete"),
        ("compression.type", "brotli", "uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("compression.zstd.level", "23", "between -131072 and 22"),
        ("log.segment.bytes", "1048575", "at least 1048576"),
        ("log.retention.ms", "0", "-1 for unlimited"),
        ("log.dirs", "/a,/b", "one folder"),
        ("max.connections.per.ip", "0", "overrides"),
        ("queued.max.request.bytes", "104857599", "at least socket.request.max.bytes (104857600)"),
        ("max.connections.per.ip.overrides", "10.0.0.1", "ADDRESS:LIMIT"),
        ("offsets.topic.replication.factor", "40000", "SHORT"),
    ],
)
def test_a_bad_value_names_the_property_the_value_and_what_is_allowed(name: str, text: str, allowed: str) -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.load({name: text})
    assert refused.value.name == name
    assert name in str(refused.value)
    assert str(refused.value.value) in str(refused.value)
    assert allowed in str(refused.value)


def test_texts_are_trimmed_and_types_are_parsed() -> None:
    config = BrokerConfig.load(
        {"num.partitions": " 3 ", "auto.create.topics.enable": "False", "log.cleanup.policy": "compact , delete"}
    )
    assert config.num_partitions == 3
    assert config.auto_create_topics_enable is False
    assert config.log_cleanup_policy == ("compact", "delete")


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "1"}, 60_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "1", "log.retention.ms": "5"}, 5),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.minutes": "-1"}, -1),
    ],
)
def test_retention_in_the_finest_unit_given(properties: dict[str, str], expected: int) -> None:
    assert BrokerConfig.load(properties).retention_ms == expected


def test_rolling_and_flushing_in_the_finest_unit_given() -> None:
    config = BrokerConfig.load({"log.roll.hours": "2", "log.roll.jitter.hours": "1", "log.flush.interval.ms": "9"})
    assert (config.roll_ms, config.roll_jitter_ms, config.flush_ms) == (7_200_000, 3_600_000, 9)
    config = BrokerConfig.load({"log.roll.ms": "3", "log.roll.hours": "2", "log.roll.jitter.ms": "1"})
    assert (config.roll_ms, config.roll_jitter_ms, config.flush_ms) == (3, 1, 2**63 - 1)


def test_broker_id_is_node_id() -> None:
    assert BrokerConfig.load({"broker.id": "7"}).node_id == 7
    assert BrokerConfig.load({"broker.id": "7", "node.id": "7"}).node_id == 7
    with pytest.raises(ConfigError, match=r"must equal node\.id"):
        BrokerConfig.load({"broker.id": "7", "node.id": "8"})


def test_the_data_folder() -> None:
    assert BrokerConfig.load().data_dir == "./shareq-data"
    assert BrokerConfig.load({"log.dir": "/a"}).data_dir == "/a"
    assert BrokerConfig.load({"log.dir": "/a", "log.dirs": "/b"}).data_dir == "/b"
    assert BrokerConfig.load({"log.dir": "/a,b"}).data_dir == "/a,b"


def test_the_default_listener_is_on_loopback() -> None:
    assert BrokerConfig.load().endpoints == (Listener("PLAINTEXT", "127.0.0.1", 9092, "127.0.0.1", 9092),)


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"listeners": "PLAINTEXT://:0"}, [("PLAINTEXT", "", 0, None, None)]),
        ({"listeners": "PLAINTEXT://0.0.0.0:9092"}, [("PLAINTEXT", "0.0.0.0", 9092, None, 9092)]),
        ({"listeners": "PLAINTEXT://[::1]:9092"}, [("PLAINTEXT", "::1", 9092, "::1", 9092)]),
        (
            {"listeners": "PLAINTEXT://0.0.0.0:1", "advertised.listeners": "PLAINTEXT://kafka.example.com:2"},
            [("PLAINTEXT", "0.0.0.0", 1, "kafka.example.com", 2)],
        ),
        (
            {
                "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
                "controller.listener.names": "CONTROLLER",
                "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            },
            [("PLAINTEXT", "localhost", 9092, "localhost", 9092)],
        ),
        (
            {
                "listeners": "V4://127.0.0.1:9092,V6://[::1]:9092,FREE://:0,ANY://:0",
                "listener.security.protocol.map": "V4:PLAINTEXT,V6:PLAINTEXT,FREE:PLAINTEXT,ANY:PLAINTEXT",
                "advertised.listeners": "V4://a:1,V6://a:1",
            },
            [
                ("V4", "127.0.0.1", 9092, "a", 1),
                ("V6", "::1", 9092, "a", 1),
                ("FREE", "", 0, None, None),
                ("ANY", "", 0, None, None),
            ],
        ),
        (
            {
                "listeners": "inside://a:1,outside://b:2",
                "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
                "advertised.listeners": "OUTSIDE://c:3",
            },
            [("INSIDE", "a", 1, "a", 1), ("OUTSIDE", "b", 2, "c", 3)],
        ),
    ],
)
def test_listeners(properties: dict[str, str], expected: list[tuple[str, str, int, str | None, int | None]]) -> None:
    assert BrokerConfig.load(properties).endpoints == tuple(Listener(*row) for row in expected)


@pytest.mark.parametrize(
    ("properties", "allowed"),
    [
        ({"listeners": "localhost:9092"}, "NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://localhost:70000"}, "a port of at most 65535"),
        ({"listeners": "PLAINTEXT://a/b:1"}, "NAME://HOST:PORT"),
        ({"listeners": ""}, "at least one element"),
        ({"listeners": "PLAINTEXT://a:1,PLAINTEXT://b:2"}, "twice"),
        ({"listeners": "PLAINTEXT://:1,SASL_PLAINTEXT://:1"}, "a port of its own"),
        ({"listeners": "PLAINTEXT://a:1,SASL_PLAINTEXT://[::1]:1"}, "a port of its own"),
        ({"listeners": "PLAINTEXT://127.0.0.1:1,SASL_PLAINTEXT://127.0.0.2:1"}, "a port of its own"),
        ({"listeners": "PLAINTEXT://:1,C://:1", "controller.listener.names": "C"}, "a port of its own"),
        ({"listeners": "X://a:1", "listener.security.protocol.map": "X:QUIC"}, "and X uses QUIC"),
        ({"listeners": "SSL://a:1"}, r"ssl\.keystore\.location: must be given"),
        ({"listeners": "MINE://a:1"}, "does not have the listener MINE"),
        ({"listener.security.protocol.map": "PLAINTEXT"}, "NAME:PROTOCOL"),
        ({"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,,SSL:SSL"}, "NAME:PROTOCOL"),
        ({"listener.security.protocol.map": ""}, "does not have the listener PLAINTEXT"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:1"}, "not 0.0.0.0"),
        ({"advertised.listeners": "OTHER://a:1"}, "OTHER is none"),
        ({"controller.listener.names": "PLAINTEXT"}, "not a controller's"),
    ],
)
def test_unusable_listeners(properties: dict[str, str], allowed: str) -> None:
    with pytest.raises(ConfigError, match=allowed):
        BrokerConfig.load(properties)


def test_connection_overrides() -> None:
    config = BrokerConfig.load(
        {"max.connections.per.ip.overrides": "127.0.0.1:5, ::1:7", "max.connections.per.ip": "0"}
    )
    assert config.connection_overrides() == {"127.0.0.1": 5, "::1": 7}


@pytest.mark.parametrize(
    "name",
    [
        "default.replication.factor",
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "share.coordinator.state.topic.replication.factor",
    ],
)
def test_a_cluster_s_replication_factor_is_reported_at_the_start(name: str) -> None:
    """Creating a topic on first use would be refused, and clients do not show the reason."""
    warning = f"Property {name} is 3, and there is one broker: no topic can have so many replicas"
    assert BrokerConfig.load({name: "3"}).warnings == (warning,)
    assert BrokerConfig.load({name: "3"}, {name: "1"}).warnings == ()


@pytest.mark.parametrize(
    "name", ["min.insync.replicas", "transaction.state.log.min.isr", "share.coordinator.state.topic.min.isr"]
)
def test_more_replicas_in_sync_than_there_are_have_a_warning_at_the_start(name: str) -> None:
    warning = f"Property {name} is 2, and there is one broker: one replica in sync is enough"
    assert BrokerConfig.load({name: "2"}).warnings == (warning,)
    assert BrokerConfig.load({name: "2"}, {name: "1"}).warnings == ()


def test_apache_kafkas_own_single_node_property_file_starts_without_warnings() -> None:
    """The file is config/server.properties of Apache Kafka 4.3.1, except for its log folder."""
    config = BrokerConfig.load(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": "localhost:9093",
            "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
            "inter.broker.listener.name": "PLAINTEXT",
            "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": (
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
            ),
            "num.network.threads": "3",
            "num.io.threads": "8",
            "socket.send.buffer.bytes": "102400",
            "socket.receive.buffer.bytes": "102400",
            "socket.request.max.bytes": "104857600",
            "log.dirs": "/tmp/kraft-combined-logs",
            "num.partitions": "1",
            "num.recovery.threads.per.data.dir": "1",
            "offsets.topic.replication.factor": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "log.retention.hours": "168",
            "log.segment.bytes": "1073741824",
            "log.retention.check.interval.ms": "300000",
        }
    )
    assert config.warnings == ()
    assert config.endpoints == (Listener("PLAINTEXT", "", 9092, "localhost", 9092),)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("log.dirs", "/data", "records are kept by the cluster"),
        ("log.retention.hours", "1", "records are kept by the cluster"),
        ("shareq.disk.warn.bytes", "0", "records are kept by the cluster"),
        ("num.partitions", "3", "topics are the cluster's"),
        ("default.replication.factor", "3", "topics are the cluster's"),
        ("offsets.retention.minutes", "1", "consumer groups and their offsets are the cluster's"),
        ("group.consumer.max.size", "1", "consumer groups and their offsets are the cluster's"),
        ("transaction.state.log.replication.factor", "3", "transactions and producer ids are the cluster's"),
        ("share.coordinator.state.topic.num.partitions", "3", "shareq.cluster.slots"),
    ],
)
def test_a_node_says_which_property_has_no_effect_on_it(name: str, value: str, why: str) -> None:
    (warning,) = BrokerConfig.load({name: value}, of_node=True).warnings
    assert warning.startswith(f"Property {name} has no effect on a node: {why}")


def test_a_node_starts_without_warnings_of_what_it_acts_on() -> None:
    properties = {
        "node.id": "1000000",
        "share.coordinator.state.topic.replication.factor": "3",
        "share.coordinator.state.topic.min.isr": "2",
        "offsets.topic.compression.codec": "1",
        "shareq.cluster.lease.ms": "3000",
    }
    assert BrokerConfig.load(properties, of_node=True).warnings == ()


def test_a_node_with_the_number_of_a_broker_is_reported() -> None:
    (warning,) = BrokerConfig.load({"broker.id": "1"}, of_node=True).warnings
    assert warning.startswith("Property node.id is 1: a broker of the cluster may have that number, too")


@pytest.mark.parametrize(("name", "value"), [("shareq.cluster.lease.ms", "3000"), ("shareq.dlq.topics", "dlq.*")])
def test_a_property_of_nodes_has_no_effect_on_a_broker_by_itself(name: str, value: str) -> None:
    config = BrokerConfig.load({name: value})
    assert config.warnings == (f"Property {name} has no effect without --cluster",)


def test_topics_that_take_dead_letters_are_named_or_begin_in_some_way() -> None:
    config = BrokerConfig.load({"shareq.dlq.topics": "dlq.*, Rejected_1-2.x,*"}, of_node=True)
    assert config.shareq_dlq_topics == ("dlq.*", "Rejected_1-2.x", "*")
    assert BrokerConfig.load({"shareq.dlq.topics": ""}, of_node=True).shareq_dlq_topics == ()
    for wrong in ("d*q", "dlq.?", "a,,b", "dlq.**", "a b"):
        with pytest.raises(ConfigError, match="must be names of topics, or how they begin"):
            BrokerConfig.load({"shareq.dlq.topics": wrong}, of_node=True)


@pytest.mark.parametrize("other", ["shareq.cluster.session.timeout.ms", "shareq.cluster.lease.ms"])
def test_a_node_is_heard_of_several_times_before_it_is_given_up(other: str) -> None:
    with pytest.raises(ConfigError, match=f"at most a third of {other} "):
        BrokerConfig.load({"shareq.cluster.heartbeat.interval.ms": "1001", other: "3000"}, of_node=True)
    with pytest.raises(ConfigError, match="the name of a group"):
        BrokerConfig.load({"shareq.cluster.group": ""}, of_node=True)
