"""The settings of a simulated cluster. Defaults are Apache Kafka's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tests.support.cluster.versions import KAFKA_4_3, KafkaRelease

_DAY_MS: Final = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The brokers' properties and their speed.

    `replication_ms`: the time from an append to its replication; 0: within the append. `latency_ms`: the least and the
    greatest latency of one message, drawn for each.
    """

    release: KafkaRelease = KAFKA_4_3
    brokers: tuple[int, ...] = (1, 2, 3)
    default_replication_factor: int = 1
    default_partitions: int = 1
    auto_create_topics: bool = True
    """The property `auto.create.topics.enable`, which only Metadata requests obey."""
    properties: dict[str, str] = field(default_factory=dict)
    """The broker properties that are in force for topics without values of their own."""
    initial_rebalance_delay_ms: int = 3_000
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    producer_id_expiration_ms: int = _DAY_MS
    transactional_id_expiration_ms: int = 7 * _DAY_MS
    transaction_max_timeout_ms: int = 900_000
    fetch_session_slots: int = 1_000
    fetch_max_bytes: int = 57_671_680
    broker_session_timeout_ms: int = 9_000
    replication_ms: int = 0
    latency_ms: tuple[int, int] = (0, 0)
    coordinator_topic_ms: int = 50
    """The time that the first FindCoordinator takes to create the coordinator's topic."""
