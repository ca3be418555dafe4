"""Batches that the broker itself writes to a topic with a `compression.type`, compressed in portions per turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.loop.effort import MOST_EFFORT, PACKING_EFFORT
from shareq.broker.log.admission import Admission
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from shareq.protocol.records.batch import Compression, read_header
from shareq.protocol.records.compression import STEP_BYTES
from tests.support.clients.share_client import REJECT
from tests.support.worlds.counted_work import Work, packed_bytes
from tests.support.worlds.dead_letters import QUEUE, DeadLetterWorld
from tests.support.worlds.redrives import TOPIC, RedriveWorld, counts_of, kept, letter

PACKED = [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD]
LARGE = 900_000
SMALL = 50_000  # in one turn, in gzip


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> Work:
    return packed_bytes(monkeypatch)


def queue_of(
    codec: str, partitions: int = 1, *, of_topic: Mapping[str, str] | None = None, keeps: bool = False
) -> DeadLetterWorld:
    world = DeadLetterWorld(partitions, shareq_dlq_keep=str(keeps).lower())
    of_queue = {"compression_type": codec, "errors_deadletterqueue_group_enable": "true", **(of_topic or {})}
    world.world.create_topic(QUEUE, partitions, **of_queue)
    return world


def a_large_one_dies(world: DeadLetterWorld, value: bytes = bytes(LARGE)) -> None:
    """Reject a large record, up to the point where its consequences begin."""
    world.produce(value)
    world.take()
    assert world.member.acknowledge(world.place, (0, 0, REJECT)) is ErrorCode.NONE


def codecs(batches: list[bytes]) -> set[Compression]:
    return {Compression(read_header(batch).compression) for batch in batches}


class Interrupted(Exception):
    """An exception that ends the action in a test."""


def interrupt(world: BrokerWorld, packed: Work, act: Callable[[], object]) -> None:
    with pytest.MonkeyPatch.context() as watched:
        packed.watch(world, watched)
        run_tick = world.clock.run_tick

        def counted() -> int:
            ready = run_tick()
            if packed.ticks[-1]:
                raise Interrupted
            return ready

        watched.setattr(world.clock, "run_tick", counted)
        with pytest.raises(Interrupted):
            act()


@pytest.mark.parametrize("codec", PACKED)
def test_a_large_letter_is_compressed_in_steps(
    codec: Compression, packed: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 MiB once took 80 ms of gzip."""
    world = queue_of(codec.name.lower())
    packed.watch(world.world, monkeypatch)
    a_large_one_dies(world)
    world.settle()
    assert max(packed.ticks) <= STEP_BYTES or codec is Compression.SNAPPY, "a turn's worth of snappy is 1 MiB"
    assert LARGE < sum(packed.ticks) < 2 * LARGE, "once"
    assert [each.value for each in world.letters()] == [bytes(LARGE)]
    assert codecs(world.batches()) == {codec}
    assert world.start_offset() == 1


def test_small_letters_of_many_partitions_are_compressed_so_many_in_a_turn(
    packed: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = queue_of("gzip", 20)
    for partition in range(20):
        world.produce(bytes(SMALL), partition=partition)
        world.take(partition=partition)
    packed.watch(world.world, monkeypatch)
    for partition in range(20):
        assert world.member.acknowledge((world.topic_id, partition), (0, 0, REJECT)) is ErrorCode.NONE
    world.settle()
    assert max(packed.ticks) * PACKING_EFFORT[Compression.GZIP] <= 2 * MOST_EFFORT
    assert sum(packed.ticks) >= 20 * SMALL
    assert [len(world.letters(partition=partition)) for partition in range(20)] == [1] * 20


@pytest.mark.parametrize("codec", PACKED)
def test_what_a_redrive_sends_back_is_compressed_in_steps(
    codec: Compression, packed: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = RedriveWorld(20, compression_type=codec.name.lower())
    for number in range(40):
        value = bytes(SMALL if number < 39 else LARGE)
        world.bury(letter(value, number, partition=number % 20), compression=Compression.ZSTD)
    packed.watch(world.world, monkeypatch)
    done = world.run()
    assert (done.state, counts_of(done)) == ("DONE", {"REDRIVEN": 40})
    assert max(packed.ticks) * PACKING_EFFORT[codec] <= 2 * MOST_EFFORT
    assert sum(packed.ticks) > LARGE + 39 * SMALL
    assert [len(world.records(partition=partition)) for partition in range(20)] == [2] * 20
    log = world.world.folder.logs.get(TOPIC, 0)
    assert log.size_bytes < SMALL


def test_a_crash_in_the_middle_loses_no_letter(packed: Work) -> None:
    world = queue_of("gzip")
    interrupt(world.world, packed, lambda: a_large_one_dies(world))
    assert world.letters() == []
    world.world.crash()
    world.member = type(world.member)(world.world)
    world.take()
    world.settle(60_000)
    assert [each.value for each in world.letters()] == [bytes(LARGE)]


def test_a_crash_in_the_middle_of_a_redrive_repeats_none(packed: Work) -> None:
    world = RedriveWorld(2, compression_type="gzip")
    world.bury(kept(b"small", 0), kept(bytes(LARGE // 2), 1, partition=1), compression=Compression.ZSTD)  # type: ignore[arg-type]
    interrupt(world.world, packed, world.run)
    world.world.crash()
    assert counts_of(world.finish()) == {"REDRIVEN": 2}
    assert (world.values(), world.values(partition=1)) == ([b"small"], [bytes(LARGE // 2)])


def test_a_letter_that_compression_makes_too_large_goes_without_content() -> None:
    value = Random(1).randbytes(LARGE)
    sizes = queue_of("uncompressed", keeps=True)
    a_large_one_dies(sizes, value)
    sizes.settle()
    (batch,) = sizes.batches()
    world = queue_of("zstd", of_topic={"max_message_bytes": str(len(batch))}, keeps=True)
    a_large_one_dies(world, value)
    world.settle()
    assert [each.value for each in world.letters()] == [None]


def test_a_queue_that_is_deleted_meanwhile_gets_its_letter_when_it_is_there_again(packed: Work) -> None:
    world = queue_of("gzip", keeps=True)
    interrupt(world.world, packed, lambda: a_large_one_dies(world))
    deleted = world.world.connect().call(DeleteTopicsRequest(topic_names=[QUEUE]), 5, DeleteTopicsResponse)
    assert [each.error_code for each in deleted.responses] == [ErrorCode.NONE]
    world.settle(60_000)
    assert [each.value for each in world.letters()] == [bytes(LARGE)]
    assert codecs(world.batches()) == {Compression.NONE}, "the broker has created it, with its defaults"


def test_a_turn_that_fails_by_a_fault_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = queue_of("gzip", keeps=True)
    with monkeypatch.context() as broken:
        broken.setattr(Admission, "check_large", lambda *_: 1 // 0)
        a_large_one_dies(world)
        world.settle()
    assert "ZeroDivisionError" in caplog.text
    assert world.letters() == []
    world.settle(60_000)
    assert [each.value for each in world.letters()] == [bytes(LARGE)]
