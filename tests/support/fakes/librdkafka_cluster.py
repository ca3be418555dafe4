"""librdkafka's own mock cluster, which has share groups: clients can be tested without another broker.

confluent-kafka does not expose it, so its bundled library is called by ctypes.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import confluent_kafka

_PRODUCER: Final = 0
_EARLIEST: Final = 1
_LOST_AFTER_MS: Final = 3_600_000
_Pointer = ctypes.c_void_p
_Text = ctypes.c_char_p
_Number = ctypes.c_int32
_SIGNATURES: Final = {
    "conf_new": (_Pointer, []),
    "new": (_Pointer, [ctypes.c_int, _Pointer, _Text, ctypes.c_size_t]),
    "destroy": (None, [_Pointer]),
    "mock_cluster_new": (_Pointer, [_Pointer, ctypes.c_int]),
    "mock_cluster_destroy": (None, [_Pointer]),
    "mock_cluster_bootstraps": (_Text, [_Pointer]),
    "mock_topic_create": (ctypes.c_int, [_Pointer, _Text, ctypes.c_int, ctypes.c_int]),
    "mock_partition_set_leader": (ctypes.c_int, [_Pointer, _Text, _Number, _Number]),
    "mock_coordinator_set": (ctypes.c_int, [_Pointer, _Text, _Text, _Number]),
    "mock_broker_set_rtt": (ctypes.c_int, [_Pointer, _Number, ctypes.c_int]),
    "mock_broker_set_down": (ctypes.c_int, [_Pointer, _Number]),
    "mock_sharegroup_set_auto_offset_reset": (None, [_Pointer, ctypes.c_int]),
}


class LibrdkafkaCluster:
    """Brokers 1 to `brokers`, as a context manager. A new share group begins at the first record."""

    def __init__(self, brokers: int) -> None:
        self._call = _library()
        error = ctypes.create_string_buffer(512)
        self._owner = self._call.rd_kafka_new(_PRODUCER, self._call.rd_kafka_conf_new(), error, len(error))
        assert self._owner, error.value.decode()
        self._cluster = self._call.rd_kafka_mock_cluster_new(self._owner, brokers)
        self._call.rd_kafka_mock_sharegroup_set_auto_offset_reset(self._cluster, _EARLIEST)

    @property
    def bootstrap(self) -> str:
        found: bytes = self._call.rd_kafka_mock_cluster_bootstraps(self._cluster)
        return found.decode()

    def create_topic(self, topic: str, partitions: int) -> None:
        _done(self._call.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1))

    def lead(self, topic: str, partition: int, broker: int) -> None:
        _done(self._call.rd_kafka_mock_partition_set_leader(self._cluster, topic.encode(), partition, broker))

    def coordinate(self, group: str, broker: int) -> None:
        _done(self._call.rd_kafka_mock_coordinator_set(self._cluster, b"group", group.encode(), broker))

    def silence(self, broker: int) -> None:
        """Make a broker stop answering but keep its connections, as if it were stopped or cut off."""
        _done(self._call.rd_kafka_mock_broker_set_rtt(self._cluster, broker, _LOST_AFTER_MS))

    def kill(self, broker: int) -> None:
        _done(self._call.rd_kafka_mock_broker_set_down(self._cluster, broker))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call.rd_kafka_mock_cluster_destroy(self._cluster)
        self._call.rd_kafka_destroy(self._owner)


def _done(error: int) -> None:
    assert error == 0, f"librdkafka refused with {error}"


def _library() -> ctypes.CDLL:
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    library = ctypes.CDLL(str(next(folder.glob("librdkafka-*.so*"))))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, f"rd_kafka_{name}")
        function.restype, function.argtypes = result, arguments
    return library
