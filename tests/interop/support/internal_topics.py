"""The coordinators' topics as Apache Kafka's tools show them: over the wire and from the files, key by key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from tests.interop.support.tool_session import Session

STATE: Final = "__share_group_state"
GROUPS: Final = "__consumer_offsets"
FORMATTERS: Final = {
    STATE: "org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter",
    GROUPS: "org.apache.kafka.tools.consumer.ShareGroupMessageFormatter",
}
DECODERS: Final = {STATE: "--share-group-state-decoder", GROUPS: "--offsets-decoder"}
_GROUP_MEMBER: Final = 10
_STATE_TYPES: Final = (0, 1)
_RECORD: Final = re.compile(
    r"\| offset: \d+ .*? keySize: (\d+) valueSize: (-?\d+) sequence: \S+ headerKeys: \[\] key: (.*) payload: (.*)"
)
_BATCH: Final = re.compile(r"producerId: \S+|is\w+: \w+|magic: \d|compresscodec: \w+|isvalid: \w+")


class Record(NamedTuple):
    """One record as a tool shows it. `sizes` are the sizes of key and value, if shown."""

    type: int
    key: dict[str, Any]
    value: dict[str, Any] | None
    sizes: str


def over_the_wire(run: Session, topic: str, differs: str | None = None) -> None:
    """Read every partition with the console consumer and the topic's formatter; record each key's history."""
    records: list[Record] = []
    formatter = ("--formatter", FORMATTERS[topic])
    for partition, end in _ends(run, topic):
        where = ("--topic", topic, "--partition", str(partition), "--offset", "earliest", "--max-messages", str(end))
        result = run.unrecorded("kafka-console-consumer.sh", *where, *formatter, "--timeout-ms", "20000")
        assert f"Processed a total of {end} messages" in result.err, result
        records += _formatted(result.out)
    run.write("kafka-console-consumer.sh", ("--topic", topic, *formatter), _histories(run, topic, records), differs)


def from_files(run: Session, topic: str, differs: str | None = None) -> None:
    """Dump every segment with the topic's decoder; record each key's history, and the batches."""
    files = sorted(str(file) for file in run.broker.data_dir.glob(f"{topic}-*/*.log") if file.stat().st_size)
    result = run.unrecorded("kafka-dump-log.sh", DECODERS[topic], "--files", ",".join(files))
    assert result.code == 0, result
    assert not result.err, result
    batches = {" ".join(_BATCH.findall(line)) for line in result.out.splitlines() if line.startswith("baseOffset")}
    records = list(_dumped(result.out))
    assert len(records) == result.out.count("\n| offset: "), "a record in a form of its own"
    lines = [*sorted(batches), *_histories(run, topic, records)]
    run.write("kafka-dump-log.sh", (DECODERS[topic], "--files", f"{topic}-*/*.log"), lines, differs)


def _ends(run: Session, topic: str) -> Iterator[tuple[int, int]]:
    printed = run.unrecorded("kafka-get-offsets.sh", "--topic", topic).out
    for line in printed.splitlines():
        _, partition, end = line.split(":")
        if int(end):
            yield int(partition), int(end)


def _formatted(text: str) -> Iterator[Record]:
    """Yield records from the formatters' JSON objects, which have no separator."""
    decoder, position = json.JSONDecoder(), 0
    while position < len(text):
        shown, position = decoder.raw_decode(text, position)
        assert shown["value"] is None or shown["value"]["version"] == 0
        value = None if shown["value"] is None else shown["value"]["data"]
        yield Record(shown["key"]["type"], shown["key"]["data"], value, "")


def _dumped(text: str) -> Iterator[Record]:
    for key_size, value_size, key_text, payload in _RECORD.findall(text):
        key = json.loads(key_text)
        value = None if payload == "<DELETE>" else json.loads(payload)["data"]
        yield Record(int(key["type"]), key["data"], value, f"{key_size}+{value_size} bytes ")


def _histories(run: Session, topic: str, records: Iterable[Record]) -> list[str]:
    """Return each key's values in order. Snapshots and updates of a share partition are one history."""
    histories: dict[str, list[str]] = {}
    for record in records:
        key, value = record.key, record.value
        if record.type == _GROUP_MEMBER and value is not None:
            run.names.fixed[key["memberId"]] = f"<id of {value['clientId']}>"
        if "memberId" in key:
            key["memberId"] = run.names.replace(key["memberId"])
        of_share = topic == STATE and record.type in _STATE_TYPES
        kind = "share partition" if of_share else f"type {record.type}"
        shown = f"  type {record.type} " if of_share else "  "
        histories.setdefault(f"{kind} {json.dumps(key)}", []).append(f"{shown}{record.sizes}{_value(value)}")
    lines = [line for key in sorted(histories) for line in (key, *histories[key])]
    return run.names.replace("\n".join(lines)).splitlines()


def _value(value: dict[str, Any] | None) -> str:
    """Format a value without the hash of ids that are new in each run; 0 means a group without topics."""
    if value is not None and value.get("metadataHash"):
        value["metadataHash"] = "<hash>"
    return json.dumps(value)
