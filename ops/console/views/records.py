"""Records: read from a place, searched by key and text, within bounds; and one complete record."""

from __future__ import annotations

import time
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from shareq.client.admin import Admin
from shareq.client.admin.calls import Partition, only
from shareq.client.admin.places import FORMS, Place, offsets_of, parse_place
from shareq.client.admin.sent_back import sent_back
from shareq.client.errors import BrokerError, ClientError
from shareq.client.reader import Reader
from shareq.ops.console.views.shared import MAX_ROWS, Json, Look, WrongRequest, ends_of, number, required
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.record_codec import Record

SHOWN: Final = 50
MAX_SHOWN: Final = 200
MAX_SCANNED: Final = 50_000
"""The most records that one search examines."""
SEARCH_S: Final = 4.0
ROUND_MS: Final = 200
MAX_VALUE: Final = 2_000
"""The most bytes of a value in a list."""
MAX_WHOLE: Final = 256 * 1024
"""The most bytes of a key or a value that is shown alone."""
MAX_HEADERS: Final = 100
"""The most headers of a record that are shown."""


RowOf: TypeAlias = Callable[[Partition, Record, int], Json]


class Search(NamedTuple):
    """A search: from `begin`, in one partition or all (None); `key` and `text` match parts, in upper or lower case.

    `following` are the positions at which an earlier search ended: this one continues there.
    """

    topic: str
    partition: int | None
    begin: Place
    key: str
    text: str
    limit: int
    committed: bool
    following: Mapping[Partition, int]


def search_of(given: Mapping[str, str]) -> Search:
    """Return the search that a request's parameters describe. Raises WrongRequest."""
    topic = required(given, "topic")
    begin = given.get("from", "") or "latest"
    try:
        at = parse_place(begin, time.time_ns() // 1_000_000)
    except ValueError:
        raise WrongRequest(f"from {begin[:40]}: must be {FORMS}") from None
    following: dict[Partition, int] = {}
    for text in filter(None, given.get("following", "").split(",")):
        part, _, offset = text.partition(":")
        place = {"partition": part, "offset": offset}
        following[topic, number(place, "partition", 0)] = number(place, "offset", 0, highest=2**63 - 1)
    return Search(
        topic=topic,
        partition=number(given, "partition", 0) if given.get("partition") else None,
        begin=at,
        key=given.get("key", "").lower(),
        text=given.get("text", "").lower(),
        limit=number(given, "limit", SHOWN, 1, MAX_SHOWN),
        committed=given.get("committed") == "true",
        following=following,
    )


def records(search: Search, row: RowOf | None = None) -> Look:
    """Return the view of a search: its records, each by `row`, and where it stopped, at the logs' ends or at a bound.

    `latest` without a filter shows the newest records, as many as are wanted.
    """

    def look(admin: Admin) -> Json:
        partitions = _partitions(admin, search)
        logs = ends_of(admin, partitions)
        ends = {each: end for each, (_, end) in logs.items() if end is not None}
        starts = _starts(admin, search, partitions, ends, {each: start or 0 for each, (start, _) in logs.items()})
        scan = _Scan(search, starts, {each: ends[each] for each in starts}, row or row_of)
        scan.run(admin)
        return {
            "topic": search.topic,
            "records": scan.rows(),
            "scanned": scan.scanned,
            "following": ",".join(f"{each[1]}:{at}" for each, at in sorted(scan.left().items())),
            "left": sum(scan.ends[each] - at for each, at in scan.left().items()),
        }

    return look


LATEST_PLACE: Final = parse_place("latest", 0)


def _partitions(admin: Admin, search: Search) -> list[Partition]:
    topic = only(dict(admin.topics.describe([search.topic])), search.topic)
    numbers = [each.partition for each in topic.partitions]
    if search.partition is not None and search.partition not in numbers:
        raise BrokerError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"partition {search.topic}-{search.partition}",
            f"The topic has partitions 0 to {len(numbers) - 1}.",
        )
    return [(search.topic, each) for each in numbers[:MAX_ROWS] if search.partition in (None, each)]


def _starts(
    admin: Admin,
    search: Search,
    partitions: Sequence[Partition],
    ends: Mapping[Partition, int],
    logs: Mapping[Partition, int],
) -> dict[Partition, int]:
    """Return where to begin in each partition that can be read."""
    if search.following:
        return {each: max(at, logs[each]) for each, at in search.following.items() if each in ends}
    if search.begin == LATEST_PLACE:
        each_has = MAX_SCANNED // max(1, len(partitions)) if search.key or search.text else search.limit
        return {each: max(logs[each], end - each_has) for each, end in ends.items()}
    found = offsets_of(admin, search.begin, partitions)
    return {each: at for each, at in found.items() if not isinstance(at, ClientError) and each in ends}


class _Scan:
    """A search in progress. `at` is where each partition continues.

    A search back from `latest` examines all records, and keeps the last matches of each partition.
    """

    def __init__(
        self, search: Search, starts: Mapping[Partition, int], ends: Mapping[Partition, int], row: RowOf
    ) -> None:
        self._search = search
        self._row = row
        self.ends = ends
        self.at = dict(starts)
        self.scanned = 0
        self._newest = search.begin == LATEST_PLACE and not search.following
        self._found: dict[Partition, deque[Json]] = {}

    def rows(self) -> list[Json]:
        """Return the found rows: the newest first, or in the order of the log."""
        found = [row for of_partition in self._found.values() for row in of_partition]
        if self._newest:
            found.sort(key=lambda row: (-row["timestamp"], row["partition"], -row["offset"]))
        return found[: self._search.limit]

    def _has_enough(self) -> bool:
        if self.scanned >= MAX_SCANNED:
            return True
        return not self._newest and sum(map(len, self._found.values())) >= self._search.limit

    def left(self) -> dict[Partition, int]:
        """Return where partitions with more records continue."""
        return {each: at for each, at in self.at.items() if at < self.ends[each]}

    def run(self, admin: Admin) -> None:
        """Search until enough was found, everything was read, or a limit was reached."""
        reader = Reader(admin.network, self.at, committed_only=self._search.committed)
        until = time.monotonic() + SEARCH_S
        while (left := list(self.left())) and time.monotonic() < until:
            for found in reader.read(ROUND_MS, left):
                partition = found.topic, found.partition
                if found.record.offset >= self.ends[partition]:
                    continue
                self._look_at(partition, found.record)
                if self._has_enough():
                    return
            self.at |= {each: max(self.at[each], reader.positions[each]) for each in left}

    def _look_at(self, partition: Partition, record: Record) -> None:
        self.scanned += 1
        self.at[partition] = record.offset + 1
        if _has(record.key, self._search.key) and self._has_text(record):
            row = self._row(partition, record, MAX_VALUE)
            self._found.setdefault(partition, deque(maxlen=self._search.limit)).append(row)

    def _has_text(self, record: Record) -> bool:
        wanted = self._search.text
        return _has(record.value, wanted) or any(
            wanted in name.lower() or _has(value, wanted) for name, value in record.headers
        )


def _has(data: bytes | None, wanted: str) -> bool:
    return not wanted or (data is not None and wanted in data.decode("utf-8", "replace").lower())


def record(topic: str, partition: int, offset: int) -> Look:
    """Return the view of one record, up to MAX_WHOLE bytes of its value.

    Raises BrokerError if the offset has no record.
    """

    def look(admin: Admin) -> Json:
        reader = Reader(admin.network, {(topic, partition): offset}, partition_bytes=1)  # its batch alone
        for found in reader.read(ROUND_MS):
            if found.record.offset == offset:
                return row_of((topic, partition), found.record, MAX_WHOLE)
            break
        raise BrokerError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"partition {topic}-{partition}",
            f"No record has the offset {offset}: it was removed, or it is a transaction's marker.",
        )

    return look


def row_of(partition: Partition, record: Record, most: int) -> Json:
    """Return a record as the console shows it: at most `most` bytes of key and value, and its first headers.

    `sent_back`: the trace of a redrive, with a sentence about it.
    """
    back = sent_back(record.headers)
    return {
        "topic": partition[0],
        "partition": partition[1],
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": bytes_of(record.key, most),
        "value": bytes_of(record.value, most),
        "headers": [
            {"name": name[:MAX_VALUE], "value": bytes_of(value, MAX_VALUE)}
            for name, value in record.headers[:MAX_HEADERS]
        ],
        "headers_total": len(record.headers),
        "sent_back": None if back is None else {**back._asdict(), "text": str(back)},
    }


def bytes_of(data: bytes | None, most: int) -> Json | None:
    """Return bytes as text, or as hexadecimal digits if they are not UTF-8; None for a null.

    `size` is the number of all bytes, `shown` the number of bytes in the text.
    """
    if data is None:
        return None
    part = data[:most]
    try:
        # A character may be cut in two at the end of a part.
        text = getincrementaldecoder("utf-8")().decode(part, final=len(part) == len(data))
        return {"text": text, "encoding": "utf-8", "shown": len(part), "size": len(data)}
    except UnicodeDecodeError:
        return {"text": part.hex(" "), "encoding": "hex", "shown": len(part), "size": len(data)}
