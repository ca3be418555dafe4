"""Attacks by a client without rights, repeated for a while: `python -m bench.hostile.attacks NAME JSON`.

Frames are made beforehand, so that the attacker uses the machine for sending and little else.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

from devtools.clients.requests import batch, create_topic, fetch_request, produce, produce_request
from devtools.clients.wire import ConnectionClosed, WireClient
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from shareq.protocol.generated.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from shareq.protocol.generated.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from shareq.protocol.primitives import uvarint
from shareq.protocol.records.batch import Compression, RecordData, build_batch

CLIENT_ID: Final = "stranger"
HUGE_BYTES: Final = 95_000_000
_GROUP: Final = 32  # resource type of DescribeConfigs
_PATIENCE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Target:
    """The broker, and where its metrics are."""

    address: tuple[str, int]
    metrics: tuple[str, int]

    def wire(self) -> WireClient:
        return WireClient(self.address, client_id=CLIENT_ID, timeout_s=_PATIENCE_S)


Step = Callable[[], None]
"""One repetition of the attack. Raises OSError or ConnectionClosed if the broker closes the connection."""
Attack = Callable[[Target], Step]


def huge_frame(key: ApiKey, version: int, before: bytes, element: bytes) -> Attack:
    """Return a frame that announces 95 MB of elements: sent until the broker closes the connection."""
    head = struct.pack(">hhih", key, version, 1, len(CLIENT_ID)) + CLIENT_ID.encode()
    start = struct.pack(">i", HUGE_BYTES) + head + before
    more = element * (1_000_000 // len(element))

    def attack(target: Target) -> Step:
        def step() -> None:
            with socket.create_connection(target.address, 5) as connection:
                connection.sendall(start)
                for _ in range(HUGE_BYTES // len(more)):
                    connection.sendall(more)

        return step

    return attack


def asked(frame_of: Callable[[WireClient], bytes]) -> Attack:
    """Return an attack that repeats one request on a connection for as long as the broker keeps it."""

    def attack(target: Target) -> Step:
        wire = target.wire()
        frame = frame_of(wire)

        def step() -> None:
            nonlocal wire
            try:
                wire.send_raw(frame)
                wire.receive_frame()
            except (OSError, ConnectionClosed):
                wire.close()
                wire = target.wire()
                raise

        return step

    return attack


def _configs(wire: WireClient) -> bytes:
    resources = [DescribeConfigsResource(_GROUP, f"g{number}", None) for number in range(49_000)]
    return wire.requests.frame_of(DescribeConfigsRequest(resources), 4)


def _unknown_ids(wire: WireClient) -> bytes:
    topics = [MetadataRequestTopic(struct.pack(">QQ", 1 << 63, number), None) for number in range(1, 99_001)]
    return wire.requests.frame_of(MetadataRequest(topics), 12)


def _topic_id(wire: WireClient, name: str, partitions: int = 1) -> bytes:
    """Return the id of a topic that one of the attackers creates."""
    with contextlib.suppress(AssertionError):  # it exists
        create_topic(wire, name, partitions, {"cleanup.policy": "compact"})
    answer = wire.call(MetadataRequest([MetadataRequestTopic(name=name)]), 12, MetadataResponse)
    return answer.topics[0].topic_id


def _ack_batches(wire: WireClient) -> bytes:
    topic_id = _topic_id(wire, "stranger-acks", 10)
    member = f"m{id(wire)}"
    partitions = [AcknowledgePartition(number, []) for number in range(10)]
    opening = [FetchTopic(topic_id, [FetchPartition(each.partition_index, []) for each in partitions])]
    wire.send(ShareFetchRequest("stranger", member, 0, 0, 0, 1 << 20, 1, batch_size=1, topics=opening), 2)
    wire.receive()
    for each in partitions:
        each.acknowledgement_batches = [AcknowledgementBatch(at, at, [1]) for at in range(0, 38_000, 2)]
    request = ShareAcknowledgeRequest("stranger", member, 1, False, [AcknowledgeTopic(topic_id, partitions)])
    return wire.requests.frame_of(request, 2)


def _produced_bombs(wire: WireClient) -> bytes:
    _topic_id(wire, "stranger-compacted")
    bomb = bytes(build_batch([RecordData(b"k", bytes(8_000_000))], timestamp_ms=1, compression=Compression.ZSTD))
    return wire.requests.frame_of(produce_request(bomb, topic="stranger-compacted"), 9)


def _offsets_by_time(wire: WireClient) -> bytes:
    _topic_id(wire, "stranger-times", 200)
    records = [RecordData(b"k", b"")] * 250_000
    bomb = bytes(build_batch(records, timestamp_ms=1_000, compression=Compression.ZSTD))
    for number in range(200):
        answer = produce(wire, "stranger-times", bomb, partition=number)
        assert answer.error_code in (ErrorCode.NONE, ErrorCode.INVALID_RECORD), answer
    partitions = [ListOffsetsPartition(number, -1, 1_000) for number in range(200)]
    return wire.requests.frame_of(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("stranger-times", partitions)]), 7)


def new_names(target: Target) -> Step:
    """Return an attack by Metadata of 20,000 unused names, new ones each time."""
    wire, numbers = target.wire(), count()

    def step() -> None:
        turn = f"{threading.get_ident()}-{next(numbers)}"
        topics = [MetadataRequestTopic(name=f"n{turn}-{number}") for number in range(20_000)]
        wire.call(MetadataRequest(topics), 12, MetadataResponse)

    return step


def announced(target: Target) -> Step:
    """Return an attack of sixty connections that send 97 of an announced 100 MB, and stay."""
    held: list[socket.socket] = []
    megabyte = bytes(1_000_000)

    def step() -> None:
        while len(held) >= 60 // ATTACKERS:
            held.pop(0).close()
        connection = socket.create_connection(target.address, 5)
        held.append(connection)
        connection.settimeout(1)
        connection.sendall(struct.pack(">ihh", 100_000_000, ApiKey.PRODUCE, 9))
        for _ in range(97):
            connection.sendall(megabyte)

    return step


def unread_fetches(target: Target) -> Step:
    """Return an attack of clients that fetch 6.4 MB each and never read."""
    with target.wire() as wire:
        _topic_id(wire, "stranger-large")
        for _ in range(8):
            produce(wire, "stranger-large", batch(bytes(900_000)))
    held: list[WireClient] = []

    def step() -> None:
        if len(held) >= 1_500 // ATTACKERS:
            held.pop(0).close()
        wire = target.wire()
        held.append(wire)
        wire.send(fetch_request("stranger-large", max_bytes=1 << 23, partition_max_bytes=1 << 23), 12)

    return step


def share_sessions(target: Target) -> Step:
    """Return an attack that opens one share session after the other, with invented members."""
    wire, numbers = target.wire(), count()
    topic_id = _topic_id(wire, "stranger-sessions")

    def step() -> None:
        member = f"m{threading.get_ident()}-{next(numbers)}"
        topics = [FetchTopic(topic_id, [FetchPartition(0, [])])]
        wire.send(ShareFetchRequest("stranger", member, 0, 0, 0, 1 << 20, 1, batch_size=1, topics=topics), 2)
        wire.receive()

    return step


def new_groups(target: Target) -> Step:
    """Return an attack that creates one group after the other."""
    wire, numbers = target.wire(), count()

    def step() -> None:
        name = f"g{threading.get_ident()}-{next(numbers)}"
        protocols = [JoinGroupRequestProtocol("range", b"")]
        wire.send(JoinGroupRequest(name, 10_000, 10_000, "", None, "consumer", protocols), 5)
        wire.receive()

    return step


def slow_scrapes(target: Target) -> Step:
    """Return an attack of half-sent requests to the metrics port, and scrapes that are not read."""
    held: list[socket.socket] = []

    def step() -> None:
        if len(held) >= 64 // ATTACKERS:
            held.pop(0).close()
        connection = socket.create_connection(target.metrics, 5)
        held.append(connection)
        connection.sendall(b"GET /metr" if len(held) % 2 else b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(0.01)

    return step


def burnt_time(_target: Target) -> Step:
    """Return no attack: use as much CPU as a program that only counts."""

    def step() -> None:
        sum(range(10_000))

    return step


ATTACKS: Final[Mapping[str, tuple[str, Attack]]] = {
    "burnt_time": ("(no attack: a program that only burns the machine's time)", burnt_time),
    "configs_huge": (
        "DescribeConfigs of 10 M group names (95 MB)",
        huge_frame(ApiKey.DESCRIBE_CONFIGS, 1, struct.pack(">i", 10_400_000), b"\x20\0\1g\xff\xff\xff\xff"),
    ),
    "configs_allowed": ("... of 49,000, as many as are allowed", asked(_configs)),
    "ids_huge": (
        "Metadata by 5.3 M unknown ids (95 MB)",
        huge_frame(ApiKey.METADATA, 12, b"\0" + uvarint(5_300_001), bytes(range(16)) + b"\0\0"),
    ),
    "ids_allowed": ("... by 99,000, as many as are allowed", asked(_unknown_ids)),
    "filters_huge": (
        "ListGroups with 47 M filters (94 MB)",
        huge_frame(ApiKey.LIST_GROUPS, 5, b"\0" + uvarint(47_000_001), b"\2x"),
    ),
    "new_names": ("Metadata with 20,000 new names", new_names),
    "announced": ("60 connections that each send 97 of an announced 100 MB", announced),
    "unread_fetches": ("1,500 clients that fetch 6.4 MB each and never read", unread_fetches),
    "produced_bombs": ("Produce of zstd batches that are 8 MB opened, compacted topic", asked(_produced_bombs)),
    "offsets_by_time": ("ListOffsets by time of 200 partitions of batches of 250,000 records", asked(_offsets_by_time)),
    "ack_batches": ("ShareAcknowledge of 190,000 batches", asked(_ack_batches)),
    "topics_huge": (
        "a million topic names in a share heartbeat",
        huge_frame(ApiKey.SHARE_GROUP_HEARTBEAT, 1, b"\0\2g\2m\0\0\0\0\0" + uvarint(1_000_001), b"\2t"),
    ),
    "share_sessions": ("share sessions with made-up members", share_sessions),
    "new_groups": ("groups without end", new_groups),
    "slow_scrapes": ("64 slow sockets at the metrics' port", slow_scrapes),
}
"""The name of each attack -> its description, and the function that makes it."""
ATTACKERS: Final = 2
BEGIN_S: Final = 40.0
"""The seconds allowed for making the frames and the first request."""


def attack_for(name: str, target: Target, seconds: float, at_it: Callable[[], None]) -> int:
    """Attack with a few threads; return the number of steps in `seconds`.

    The time begins, and `at_it` is called, once each thread has done a step; a thread that cannot begin is waited for
    at most `BEGIN_S`.
    """
    over = threading.Event()
    began = [threading.Event() for _ in range(ATTACKERS)]
    done = [0] * ATTACKERS

    def run(place: int) -> None:
        while not over.is_set():  # made again when the broker has closed its connection
            with contextlib.suppress(OSError, ConnectionClosed):
                step = ATTACKS[name][1](target)
                while not over.is_set():
                    try:
                        step()
                    finally:
                        done[place] += 1
                        began[place].set()

    for place in range(ATTACKERS):
        threading.Thread(target=run, args=(place,), daemon=True).start()
    until = time.monotonic() + BEGIN_S
    for each in began:
        each.wait(max(0.0, until - time.monotonic()))
    before = sum(done)
    at_it()
    time.sleep(seconds)
    over.set()
    return sum(done) - before


if __name__ == "__main__":
    task = json.loads(sys.argv[2])
    if task["gives_way"]:  # it has what the others leave of the processors
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if task["core"] is not None:  # it has a processor, and the others do not use it
        os.sched_setaffinity(0, {task["core"]})
    aim = Target((task["host"], task["port"]), (task["host"], task["metrics_port"]))
    times = attack_for(sys.argv[1], aim, task["seconds"], lambda: print("at it", flush=True))
    print(json.dumps({"times": times}), flush=True)
    os._exit(0)  # threads may wait for answers that do not come
