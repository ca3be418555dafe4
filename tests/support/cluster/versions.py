"""The ApiVersions of two releases of Apache Kafka, for the APIs that the simulated cluster has.

They were read from real brokers; `tests/interop/test_simulated_cluster.py` compares them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.topic_config import topic_values
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.config_def import LONG_MAX, ConfigValue
from shareq.protocol.names import DLQ_GROUP_ENABLE

_SINCE_4_4: Final = frozenset(
    {DLQ_GROUP_ENABLE, "max.decompressed.message.bytes", "remote.copy.lag.bytes", "remote.copy.lag.ms"}
)


class KafkaRelease(NamedTuple):
    """A release, and the lowest and highest version of each API. `transactions_v2`: KIP-890 is in force.

    `unknown_topic_properties` are those of 4.4.0 that the release lacks; `cluster_properties` those that it sets for
    all brokers: min.insync.replicas with eligible leader replicas (KIP-966); `topic_defaults` topic properties with
    another default. `repeats_rows`: ListOffsets answers a partition as often as it is named.
    """

    name: str
    apis: Mapping[ApiKey, tuple[int, int]]
    transactions_v2: bool
    unknown_topic_properties: frozenset[str]
    cluster_properties: Mapping[str, str]
    topic_defaults: Mapping[str, ConfigValue]
    repeats_rows: bool

    def topic_values(self, name: str, config: BrokerConfig, configs: Mapping[str, str]) -> dict[str, ConfigValue]:
        own = {key: value for key, value in self.topic_defaults.items() if key not in configs}
        return {**topic_values(name, config, configs), **own}


KAFKA_3_9: Final = KafkaRelease(
    "3.9.1",
    {
        ApiKey.PRODUCE: (0, 11),
        ApiKey.FETCH: (0, 17),
        ApiKey.LIST_OFFSETS: (0, 9),
        ApiKey.METADATA: (0, 12),
        ApiKey.FIND_COORDINATOR: (0, 6),
        ApiKey.JOIN_GROUP: (0, 9),
        ApiKey.HEARTBEAT: (0, 4),
        ApiKey.LEAVE_GROUP: (0, 5),
        ApiKey.SYNC_GROUP: (0, 5),
        ApiKey.DESCRIBE_GROUPS: (0, 5),
        ApiKey.API_VERSIONS: (0, 4),
        ApiKey.CREATE_TOPICS: (0, 7),
        ApiKey.DELETE_TOPICS: (0, 6),
        ApiKey.DELETE_RECORDS: (0, 2),
        ApiKey.INIT_PRODUCER_ID: (0, 5),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: (0, 4),
        ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5),
        ApiKey.END_TXN: (0, 4),
        ApiKey.DESCRIBE_CONFIGS: (0, 4),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
        ApiKey.DESCRIBE_CLUSTER: (0, 1),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
    },
    transactions_v2=False,
    unknown_topic_properties=_SINCE_4_4,
    cluster_properties={},
    topic_defaults={"message.timestamp.after.max.ms": LONG_MAX},
    repeats_rows=True,
)

KAFKA_4_3: Final = KafkaRelease(
    "4.3.1",
    {
        ApiKey.PRODUCE: (0, 13),
        ApiKey.FETCH: (4, 18),
        ApiKey.LIST_OFFSETS: (1, 11),
        ApiKey.METADATA: (0, 13),
        ApiKey.FIND_COORDINATOR: (0, 6),
        ApiKey.JOIN_GROUP: (0, 9),
        ApiKey.HEARTBEAT: (0, 4),
        ApiKey.LEAVE_GROUP: (0, 5),
        ApiKey.SYNC_GROUP: (0, 5),
        ApiKey.DESCRIBE_GROUPS: (0, 6),
        ApiKey.API_VERSIONS: (0, 4),
        ApiKey.CREATE_TOPICS: (2, 7),
        ApiKey.DELETE_TOPICS: (1, 6),
        ApiKey.DELETE_RECORDS: (0, 2),
        ApiKey.INIT_PRODUCER_ID: (0, 5),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: (2, 4),
        ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5),
        ApiKey.END_TXN: (0, 5),
        ApiKey.DESCRIBE_CONFIGS: (1, 4),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
        ApiKey.DESCRIBE_CLUSTER: (0, 2),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
    },
    transactions_v2=True,
    unknown_topic_properties=_SINCE_4_4,
    cluster_properties={"min.insync.replicas": "1"},
    topic_defaults={},
    repeats_rows=False,
)
