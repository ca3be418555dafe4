"""A log whose files are damaged between restarts."""

from __future__ import annotations

from collections.abc import Sequence

from devtools.in_memory.mem_fs import CrashModel
from shareq.broker.log.partition_log import BatchSpan
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.settings import LogSettings
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld, batch_of

FOLDER = f"{DATA}/{TOPIC}-0"
SIZE = len(batch_of(b"0"))
FIRST_LOG = f"{FOLDER}/00000000000000000000.log"
MANIFEST = f"{DATA}/log-manifest"


def world_of(count: int, settings: LogSettings | None = None) -> LogWorld:
    world = LogWorld(settings or LogSettings(segment_bytes=4 * SIZE))
    for at in range(count):
        world.produce(b"%d" % (at % 10))
    return world


def killed(world: LogWorld) -> LogWorld:
    world.crash(CrashModel.PROCESS_KILL)
    return world


def nothing_known(world: LogWorld) -> LogWorld:
    """Return the world without a manifest, as with a folder of format 1 or after its loss."""
    world.fs.remove(f"{DATA}/log-manifest")
    return world


def put(world: LogWorld, path: str, content: bytes) -> None:
    file = world.fs.open(path, create=True)
    file.append([content])
    file.close()


def batches_from(world: LogWorld, offset: int) -> Sequence[BatchSpan]:
    result = world.log.read(offset, 1 << 20, upto=world.log.high_watermark)
    assert isinstance(result, ReadResult)
    return result.batches


def idempotent(value: bytes, sequence: int, *, transactional: bool = False) -> bytearray:
    return batch_of(value, producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=transactional)
