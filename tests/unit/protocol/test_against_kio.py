"""kio 0.6.5, an independent implementation of the same schemas, reads and writes the same bytes.

Values are limited to kio's own types (known error codes, non-negative times) and carry no unknown tags, which kio
drops.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from kio.index import load_entity_module
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from shareq.protocol.generator.names import module_name
from tests.support.each import for_each
from tests.support.kafka.random_messages import MESSAGE_NAMES, RandomMessages, message_versions

SAMPLES = 3
KINDS = {
    "request": EntityType.request,
    "response": EntityType.response,
    "header": EntityType.header,
    "data": EntityType.data,
}


def kio_class(name: str, kind: str, version: int) -> Any:  # kio's classes have no common type
    theirs = module_name(name).replace("kraft", "k_raft")
    entity_type = KINDS.get(kind)
    if entity_type is None or entity_type not in schema_name_map.get(theirs, {}).get(version, {}):
        return None
    return getattr(load_entity_module(theirs, version, entity_type), name)  # type: ignore[arg-type]


def shared_versions(name: str) -> Iterator[tuple[Any, Any, int]]:
    for known, version in message_versions(name):
        theirs = kio_class(name, known.kind.value, version)
        if theirs is not None:
            yield known, theirs, version


def test_kio_has_nearly_all_messages_of_the_clients() -> None:
    """kio lacks only the coordinators' records and a few requests of the cluster."""
    assert sum(any(shared_versions(name)) for name in MESSAGE_NAMES) >= 190


@for_each("name", MESSAGE_NAMES)
def test_kio_reads_and_rewrites_our_bytes(name: str) -> None:
    messages = RandomMessages(f"kio {name}", tame=True)
    for known, theirs, version in shared_versions(name):
        read, write = entity_reader(theirs), entity_writer(theirs)
        for _ in range(SAMPLES):
            data = messages.message(known, version).encode(version)
            entity, size = read(data, 0)
            out = io.BytesIO()
            write(out, entity)
            assert (size, out.getvalue()) == (len(data), data), f"version {version}: {entity}"
