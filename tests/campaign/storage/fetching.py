"""Reads of logs over the wire as consumers do them: by position and isolation level, without aborted records."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from devtools.clients.requests import fetch_request
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchResponse, PartitionData
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.records.batch import batch_headers, decode_records
from shareq.protocol.records.control import ControlType, read_control_record
from tests.campaign.history.operations import Bounds, Place, Record, Seek, Transfer
from tests.campaign.storage.links import Link, Unreadable
from tests.campaign.storage.scene import PLANS, Process, Scene

EARLIEST, LATEST = -2, -1


@dataclass(frozen=True, slots=True)
class Read:
    """The records of one fetch. `end` is the high watermark, `stable` the last stable offset."""

    records: list[Record]
    start: int
    end: int
    stable: int


@dataclass(slots=True)
class Reader:
    scene: Scene
    link: Link
    rng: random.Random
    read_committed: bool
    positions: dict[Place, int] = field(default_factory=dict)

    def read(self, place: Place, max_bytes: int, max_wait_ms: int = 0) -> Read | None:
        """Return the next records; None if the position was reset or the topic does not exist. Raise Unreadable."""
        position = self.positions.get(place)
        if position is None:
            position = self.offset(place, EARLIEST)
            if position is None:
                return None
            self.positions[place] = position
        request = fetch_request(
            topic_id=bytes.fromhex(place.topic),
            partition=place.partition,
            offset=position,
            partition_max_bytes=max_bytes,
            isolation_level=int(self.read_committed),
            max_wait_ms=max_wait_ms,
        )
        response = self.link.call(request, 13, FetchResponse)
        part = response.responses[0].partitions[0]
        if part.error_code:
            self._lose(place, ErrorCode(part.error_code))
            return None
        return self._taken(place, position, part)

    def _lose(self, place: Place, error: ErrorCode) -> None:
        if error in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR):
            raise Unreadable(f"fetch of {place} at {self.positions[place]}: {error.name}")
        del self.positions[place]

    def _taken(self, place: Place, position: int, part: PartitionData) -> Read:
        records = []
        for offset, following, record in self._records(part, position):
            if record is not None:
                records.append(Record(place, record, offset))
            self.positions[place] = max(self.positions[place], following)
        return Read(records, part.log_start_offset, part.high_watermark, part.last_stable_offset)

    def _records(self, part: PartitionData, position: int) -> Iterator[tuple[int, int, str | None]]:
        """Yield each record's offset, the offset after it, and its value's name; None if consumers skip the record."""
        data = bytes(part.records or b"")
        aborted = sorted(part.aborted_transactions or (), key=lambda one: one.first_offset)
        hidden: set[int] = set()
        for at, header in batch_headers(data):
            while aborted and aborted[0].first_offset <= header.last_offset:
                hidden.add(aborted.pop(0).producer_id)
            batch = data[at : at + header.size]
            if header.is_control:
                if read_control_record(batch).type is ControlType.ABORT:
                    hidden.discard(header.producer_id)
            elif not (self.read_committed and header.is_transactional and header.producer_id in hidden):
                for record in decode_records(batch):
                    if record.offset >= position:
                        name = (record.value or b"").partition(b"|")[0].decode(errors="replace")
                        yield record.offset, record.offset + 1, name
            yield header.last_offset, header.last_offset + 1, None

    def offset(self, place: Place, timestamp: int) -> int | None:
        """Return the start or the end of a log; None if it does not exist."""
        name = self.scene.name_of(place)
        if name is None:
            return None
        request = ListOffsetsRequest(
            -1,
            int(self.read_committed),
            [ListOffsetsTopic(name, [ListOffsetsPartition(place.partition, -1, timestamp)])],
        )
        response = self.link.call(request, 7, ListOffsetsResponse)
        part = response.topics[0].partitions[0]
        return None if part.error_code or part.offset < 0 else part.offset


class Consumer(Process):
    """A client that keeps reading every place from its last position."""

    def __init__(self, scene: Scene, name: str, *, read_committed: bool) -> None:
        super().__init__(scene, name)
        self._reader = Reader(scene, self.link, self.rng, read_committed)
        self._starts: dict[Place, int] = {}

    def step(self) -> None:
        place = self.rng.choice(self.scene.places(*PLANS))
        invoked = self.now()
        got = self._reader.read(place, self.rng.choice((1000, 8192, 65536)))
        if got is None:
            self.scene.recorder.ok(self.name, invoked, Seek((place,)))
        if got is not None:
            self._note(place, invoked, got)
        if self.rng.random() < 0.01:
            self._reader.positions.pop(place, None)
            self.scene.recorder.ok(self.name, self.now(), Seek((place,)))
        self.pause(0.006)

    def _note(self, place: Place, invoked: int, got: Read) -> None:
        recorder = self.scene.recorder
        if got.records:
            transfer = Transfer(reads=tuple(got.records), read_committed=self._reader.read_committed)
            recorder.ok(self.name, invoked, transfer)
        if self._starts.get(place) != got.start or self.rng.random() < 0.05:
            self._starts[place] = got.start
            recorder.ok(self.name, invoked, Bounds(place, got.start, got.end))
