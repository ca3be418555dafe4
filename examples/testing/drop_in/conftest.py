"""A broker for the suites of this folder, made as for testcontainers: only the import differs.

from testcontainers.kafka import KafkaContainer
"""

from collections.abc import Iterator

import pytest

from shareq.testing import KafkaContainer


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaContainer]:
    with KafkaContainer("confluentinc/cp-kafka:8.0.0").with_kraft().with_env("KAFKA_NUM_PARTITIONS", "2") as container:
        yield container


@pytest.fixture
def bootstrap(kafka: KafkaContainer) -> str:
    return kafka.get_bootstrap_server()
