"""Answers as plain values that can be compared between clusters; omitted and renamed fields are listed by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from shareq.protocol.primitives import ZERO_UUID, Message, Structure
from shareq.protocol.records.batch import NO_PRODUCER_ID, BatchHeader, batch_headers

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]

_WORDS: Final = "a text for people, in each implementation's own words"
_ADDRESS: Final = "each cluster has addresses of its own"
_LINE: Final = "documentation is each implementation's own"

IGNORED: Final[Mapping[str, str]] = {
    "ProduceResponse.responses.partition_responses.error_message": _WORDS,
    "ProduceResponse.responses.partition_responses.record_errors.batch_index_error_message": _WORDS,
    "CreateTopicsResponse.topics.error_message": _WORDS,
    "DeleteTopicsResponse.responses.error_message": _WORDS,
    "DescribeConfigsResponse.results.error_message": _WORDS,
    "IncrementalAlterConfigsResponse.responses.error_message": _WORDS,
    "FindCoordinatorResponse.error_message": _WORDS,
    "FindCoordinatorResponse.coordinators.error_message": _WORDS,
    "MetadataResponse.brokers.host": _ADDRESS,
    "MetadataResponse.brokers.port": _ADDRESS,
    "DescribeClusterResponse.brokers.host": _ADDRESS,
    "DescribeClusterResponse.brokers.port": _ADDRESS,
    "ProduceResponse.node_endpoints.host": _ADDRESS,
    "ProduceResponse.node_endpoints.port": _ADDRESS,
    "FetchResponse.node_endpoints.host": _ADDRESS,
    "FetchResponse.node_endpoints.port": _ADDRESS,
    "FindCoordinatorResponse.host": _ADDRESS,
    "FindCoordinatorResponse.port": _ADDRESS,
    "FindCoordinatorResponse.coordinators.host": _ADDRESS,
    "FindCoordinatorResponse.coordinators.port": _ADDRESS,
    "MetadataResponse.cluster_id": "each cluster has an id of its own",
    "DescribeClusterResponse.cluster_id": "each cluster has an id of its own",
    "DescribeConfigsResponse.results.configs.documentation": _LINE,
}
"""The fields that are not compared, with reasons."""

RENAMED: Final[Mapping[str, str]] = {
    "topic_id": "topic",
    "producer_id": "producer",
    "session_id": "session",
    "member_id": "member",
    "leader": "member",
    "log_append_time_ms": "time",
}
"""The fields whose values each cluster chooses, with the names that replace the values, numbered in order of
appearance.
"""


_HASHED: Final = "Apache Kafka collects these rows in hash tables"

SORTED: Final[Mapping[str, tuple[Callable[[Any], Any], str]]] = {  # Any: a row of that path, and what sorts
    "DeleteTopicsResponse.responses": (lambda row: row.name or "", "Apache Kafka shuffles these rows"),
    "JoinGroupResponse.members": (lambda row: bytes(row.metadata), _HASHED),
    "DescribeConfigsResponse.results.configs": (lambda row: row.name, _HASHED),
    "DescribeConfigsResponse.results": (lambda row: row.resource_name, _HASHED),
    "ProduceResponse.responses.partition_responses": (lambda row: row.index, _HASHED),
    "MetadataResponse.topics.partitions": (lambda row: row.partition_index, _HASHED),
    "ListOffsetsResponse.topics.partitions": (lambda row: row.partition_index, _HASHED),
    "AddPartitionsToTxnResponse.results_by_topic_v3_and_below": (lambda row: row.name, _HASHED),
}
"""The rows that are sorted before they are compared, with reasons."""


GONE: Final[Mapping[str, str]] = dict.fromkeys(
    ("message.format.version", "message.downconversion.enable", "message.timestamp.difference.max.ms"),
    "a property of topics that 4.0 has taken away: nothing that is simulated goes by it",
)
"""The names of rows that are not compared, with reasons."""


class Plainly:
    """The converter of answers to plain values. Replaced names stay the same in later answers; `ignored` counts fields
    by path.
    """

    def __init__(self) -> None:
        self.ignored: Counter[str] = Counter()
        self._names: dict[tuple[str, object], str] = {}
        self._counts: Counter[str] = Counter()

    def of(self, answer: Message) -> dict[str, Plain]:
        return self._structure(type(answer).__name__, answer)

    def _structure(self, path: str, structure: Structure) -> dict[str, Plain]:
        default = type(structure)()
        fields: dict[str, Plain] = {}
        for name in structure.FIELDS:
            value, at = getattr(structure, name), f"{path}.{name}"
            if name == "unknown_tags" or (value == getattr(default, name) and name != "producer_id"):
                continue
            if at in IGNORED:
                self.ignored[at] += 1
            else:
                fields[name] = self._value(at, name, value)
        return fields

    def _value(self, path: str, name: str, value: object) -> Plain:
        if name == "records":
            return _batches(value, self._named)
        kind = RENAMED.get(name)
        if kind is not None and not isinstance(value, list):
            return self._named(kind, value)
        if isinstance(value, Structure):
            return self._structure(path, value)
        if isinstance(value, list):
            if path in SORTED:
                value = sorted(value, key=SORTED[path][0])
            kept = [each for each in value if getattr(each, "name", None) not in GONE]
            self.ignored["rows of " + ", ".join(GONE)] += len(value) - len(kept)
            value = kept
            return [self._value(path, "", each) for each in value]
        if isinstance(value, bytes | memoryview):
            return bytes(value).hex()
        assert value is None or isinstance(value, bool | int | float | str), (path, value)
        return value

    def _named(self, kind: str, value: object) -> Plain:
        if value == ZERO_UUID:
            return "none"
        if value in (None, "", -1) or (value == 0 and kind == "session"):
            assert value is None or isinstance(value, str | int)
            return value
        known = self._names.get((kind, value))
        if known is None:
            self._counts[kind] += 1
            known = self._names[kind, value] = kind if kind == "time" else f"{kind} {self._counts[kind]}"
        return known


def crc_is_given(header: BatchHeader) -> bool:
    """Return whether a batch's CRC is that of the script's own bytes, not of fields each cluster sets."""
    return header.producer_id == NO_PRODUCER_ID and not header.is_log_append_time


def _batches(value: object, named: Callable[[str, object], Plain]) -> Plain:
    """Return each batch's fields of leader and producer, or the size of a truncated batch."""
    if value is None:
        return None
    assert isinstance(value, bytes | memoryview)
    data, rows, end = bytes(value), list[Plain](), 0
    for position, header in batch_headers(data):
        end = position + header.size
        rows.append(
            f"{header.base_offset}-{header.last_offset} epoch {header.leader_epoch} attributes {header.attributes:#x} "
            f"of {named('producer', header.producer_id)} epoch {header.producer_epoch} from {header.base_sequence}, "
            f"{header.records_count} records, crc {header.crc if crc_is_given(header) else 'of its own'}"
        )
    if end < len(data):
        rows.append(f"{len(data) - end} bytes of a batch")
    return rows
