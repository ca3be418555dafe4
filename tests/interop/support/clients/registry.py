"""Every client of the table, by column name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.interop.support.clients.aio_kafka import AioKafka
from tests.interop.support.clients.commands import Client
from tests.interop.support.clients.java_tools import JavaTools
from tests.interop.support.clients.kafka_python import KafkaPython
from tests.interop.support.clients.kcat import Kcat
from tests.interop.support.clients.librdkafka import Librdkafka
from tests.interop.support.clients.our_client import OurClient
from tests.interop.support.clients.programs import franz_go, java, kafka_go, kafkajs, platformatic

# Each raises Unavailable when this machine has no runtime for it.
CLIENTS: Final[dict[str, Callable[[], Client]]] = {
    "java": java,
    "librdkafka": Librdkafka,
    "kafka-python": KafkaPython,
    "aiokafka": AioKafka,
    "franz-go": franz_go,
    "kafkajs": kafkajs,
    "platformatic": platformatic,
    "kcat": Kcat,
}
PROGRAMS: Final[dict[str, Callable[[], Client]]] = {
    **CLIENTS,
    "java-tools": JavaTools,
    "kafka-go": kafka_go,
    "shareq": OurClient,
}
"""All clients of the table, and programs that have only some of the commands."""
