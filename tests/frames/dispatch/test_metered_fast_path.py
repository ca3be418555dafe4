"""Produce requests below and above a quota: the fast path counts, answers and waits as the ordinary path does."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple

import pytest

from devtools.clients.requests import batch, produce_request
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.handlers.records.produce_fast_path import ProduceFastPath
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.metadata.changes import PutQuota
from shareq.broker.network.answers import FALL_BACK
from shareq.broker.quotas.entity import DEFAULT, QuotaEntity
from shareq.protocol.generated.api_versions import ApiVersionsRequest
from shareq.protocol.generated.produce import ProduceResponse

APPEND_NS = 30_000_000


class Seen(NamedTuple):
    answers: list[tuple[int, bytes]]  # when each came, and of whom
    throttles: dict[str, tuple[int, int]]
    used: dict[tuple[str, QuotaEntity], float]
    pending: dict[tuple[str, str, str], int]
    muted: list[int]


@contextmanager
def way(monkeypatch: pytest.MonkeyPatch, *, short: bool) -> Iterator[tuple[pytest.MonkeyPatch, list[int]]]:
    """Yield the numbers of the requests on the fast path; without `short` none takes it."""
    handle, went = ProduceFastPath.handle, list[int]()

    def patched(self: ProduceFastPath, frame: bytes, correlation_id: int) -> Any:
        reply = handle(self, frame, correlation_id) if short else FALL_BACK
        if reply is not FALL_BACK:
            went.append(correlation_id)
        return reply

    with monkeypatch.context() as patch:
        patch.setattr(ProduceFastPath, "handle", patched)
        yield patch, went


def run(patch: pytest.MonkeyPatch, seed: int, version: int, quotas: dict[QuotaEntity, dict[str, float]]) -> Seen:
    """Run three connections of two clients that send several requests at once, whatever the answers."""
    random, world = Random(seed), BrokerWorld()
    topic = world.create_topic("t", 2)
    append, spent_ns = PartitionLog.append, 0

    def appending(self: PartitionLog, *arguments: Any, **named: Any) -> Any:
        nonlocal spent_ns
        spent_ns += APPEND_NS
        return append(self, *arguments, **named)

    patch.setattr(PartitionLog, "append", appending)
    patch.setattr(world.clock, "now_ns", lambda: world.clock.now_ms() * 1_000_000 + spent_ns)
    clients = [world.connect(client_id=name) for name in ("a", "a", "b")]
    limits = [PutQuota(entity, key, value) for entity, values in quotas.items() for key, value in values.items()]
    world.services.metadata.alter_quotas(limits)
    answers, muted = list[tuple[int, bytes]](), list[int]()
    for _ in range(150):
        client = random.choice(clients)
        frames = bytearray()
        for _ in range(random.choice([1, 1, 2, 7])):
            if random.random() < 0.05:
                frames += client.requests.frame_of(ApiVersionsRequest(), 1)
            acks = random.choice([-1, -1, -1, 0])
            request = produce_request(batch(b"x" * random.choice([1, 100, 900])), topic="t", acks=acks)
            request.topic_data[0].topic_id = topic.topic_id
            request.topic_data[0].partition_data[0].index = random.randrange(2)
            frames += client.requests.frame_of(request, version)
        client.send_raw(bytes(frames))
        if random.random() < 0.03:
            scale = random.choice([0.5, 2.0])
            limits = [PutQuota(each.entity, each.key, (each.value or 0) * scale) for each in limits]
            world.services.metadata.alter_quotas(limits)
        world.clock.advance(random.choice([0, 1, 30, 400, 3000]))
        muted.append(world.services.quotas.muted)
        for number, each in enumerate(clients):
            answers += [(world.clock.now_ms(), bytes([number]) + frame) for frame in each.frames]
            each.frames.clear()
    throttles = {key: (each.number, each.total_ms) for key, each in world.services.quotas.throttles.items()}
    used = {name: each.amount for name, each in world.services.quotas.usages.items()}
    pending = {name: each.pending for name, each in world.services.quotas.allowances.items()}
    return Seen(answers, throttles, used, pending, muted)


QUOTAS = {
    "bytes of a client id": {QuotaEntity(None, DEFAULT): {"producer_byte_rate": 1_000.0}},
    "bytes of a user": {QuotaEntity(DEFAULT): {"producer_byte_rate": 2_000.0}},
    "time": {QuotaEntity(None, "a"): {"request_percentage": 1.0}},
    "both": {QuotaEntity(DEFAULT, "a"): {"producer_byte_rate": 1_500.0, "request_percentage": 1.5}},
    "far above": {QuotaEntity(None, DEFAULT): {"producer_byte_rate": 1e12, "request_percentage": 1e6}},
}


@pytest.mark.parametrize("version", [3, 5, 8, 9, 13])
@pytest.mark.parametrize("name", QUOTAS)
def test_both_ways_count_answer_and_wait_alike(monkeypatch: pytest.MonkeyPatch, name: str, version: int) -> None:
    with way(monkeypatch, short=False) as (patch, _):
        ordinary = run(patch, version, version, QUOTAS[name])
    with way(monkeypatch, short=True) as (patch, went):
        short = run(patch, version, version, QUOTAS[name])
    assert short == ordinary
    assert len(went) > 100
    waits = sum(number for number, _ in short.throttles.values())
    assert waits == 0 if name == "far above" else waits > 10


def test_an_answer_that_is_refused_afterwards_says_how_long_to_wait_too(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    for short in (False, True):
        world = BrokerWorld()
        world.create_topic("t")
        client = world.connect()
        with way(monkeypatch, short=short) as (_, went):
            client.call(produce_request(batch(b"x"), topic="t"), 9, ProduceResponse)
            world.services.metadata.alter_quotas([PutQuota(QuotaEntity(DEFAULT), "producer_byte_rate", 10.0)])
            world.fs.fail = lambda kind, path: OSError(errno.EIO, "broken", path) if kind == "write" else None
            client.send(produce_request(batch(b"x" * 500), topic="t"), 9)
            answers.append(client.receive(ProduceResponse))
            assert bool(went) == short
    ordinary, after_all = answers
    assert ordinary == after_all
    assert after_all.throttle_time_ms > 1000
    assert after_all.responses[0].partition_responses[0].error_message
