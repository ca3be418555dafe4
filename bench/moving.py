"""The rate at which `shareq migrate` moves a topic, compared with the rates at which clients produce and fetch it, and
its memory.

    python -m bench.moving [--gb 10] [--record-bytes 1000] [--batch-bytes 1000000] [--partitions 4] [--dir DIR]

librdkafka fills a topic at a broker, and fetches it again, which gives the rates to compare with. A consumer group and
a share group have positions in the middle of it. The command then moves the data folder to another broker, with its
defaults: each record is copied, read back and compared; a second run cuts over. Needs twice the topic's size on disk.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from bench.brokers import compile_modules
from bench.proc import largest_resident_mb, load_average, machine
from bench.setup import create_topic, read_from_start
from shareq.testing import Broker

TOPIC, READERS, PACKERS = "moved", "readers", "packers"
LEAST_RATIO: Final = 0.6
MOST_MB: Final = 200.0
PATIENCE_S: Final = 3600.0
AT_ONCE: Final = 10_000
POLL_S: Final = 0.05
_POOL_BYTES: Final = 8 << 20


class Moved(NamedTuple):
    """A run of the command: its duration, its last output, and the most memory of it, and of its folder's broker."""

    seconds: float
    said: str
    mb: float
    broker_mb: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gb", type=float, default=10.0, help="10^9 bytes of record values (default 10)")
    parser.add_argument("--record-bytes", type=int, default=1000)
    parser.add_argument("--batch-bytes", type=int, default=1_000_000, help="librdkafka's batch.size (default 1000000)")
    parser.add_argument("--compression", default="none", help="librdkafka's compression.type (default none)")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--dir", type=Path, help="where the two folders are made, and removed (default: temporary)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # brokers and folders go, too
    compile_modules()
    folder = Path(tempfile.mkdtemp(prefix="shareq-bench-moving-", dir=options.dir))
    try:
        return run(folder, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: Path, options: argparse.Namespace) -> int:
    """Print a line for each figure; return the exit code: 1 if the rate or the memory breaks its bound."""
    records = int(options.gb * 1e9 / options.record_bytes)
    size = records * options.record_bytes
    print(f"{machine()}, load {load_average():.1f}", flush=True)
    with Broker(data_dir=folder / "old", mode="command") as old:
        create_topic(old.bootstrap, TOPIC, options.partitions)
        produce_s = timed(lambda: produce(old.bootstrap, records, options))
        print(f"produced  {size / 1e6:,.0f} MB in {produce_s:.1f} s: {size / produce_s / 1e6:,.0f} MB/s", flush=True)
        fetch_s = timed(lambda: fetch(old.bootstrap, records, options.partitions))
        print(f"fetched   {size / 1e6:,.0f} MB in {fetch_s:.1f} s: {size / fetch_s / 1e6:,.0f} MB/s", flush=True)
        have_groups(old.bootstrap, records // options.partitions // 2, options.partitions)
    with Broker(data_dir=folder / "new", mode="command") as new:
        copied = migrate(str(folder / "old"), new.bootstrap)
        print(f"moved     {size / 1e6:,.0f} MB in {copied.seconds:.1f} s: {size / copied.seconds / 1e6:,.0f} MB/s")
        last = migrate(str(folder / "old"), new.bootstrap, "--cut-over")
        print(f"cut over  in {last.seconds:.1f} s, {last.said}")
    ratio = max(produce_s, fetch_s) / copied.seconds
    most = max(copied.mb, last.mb)
    print(f"rate      {ratio:.0%} of the slower one of producing and fetching (at least {LEAST_RATIO:.0%})")
    print(
        f"memory    {most:.0f} MB at most (no more than {MOST_MB:.0f}); the folder's broker {copied.broker_mb:.0f} MB"
    )
    return 0 if ratio >= LEAST_RATIO and most <= MOST_MB else 1


def timed(work: Callable[[], None]) -> float:
    """Do the work, and return the seconds that it took."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def produce(bootstrap: str, records: int, options: argparse.Namespace) -> None:
    """Produce records of random bytes, and wait until all are confirmed. Raises RuntimeError if not."""
    settings: Mapping[str, str | int | float | bool] = {
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "linger.ms": 20,
        "batch.size": options.batch_bytes,
        "batch.num.messages": 1_000_000,
        "compression.type": options.compression,
        "queue.buffering.max.kbytes": 65_536,
    }
    producer = Producer(dict(settings))
    pool = Random(1).randbytes(_POOL_BYTES)
    size, step = options.record_bytes, 7919
    at = 0
    for number in range(records):
        at = (at + step) % (_POOL_BYTES - size)
        value = pool[at : at + size]
        while True:
            try:
                producer.produce(TOPIC, value, partition=number // 100 % options.partitions)
                break
            except BufferError:
                producer.poll(0.01)
    if producer.flush(PATIENCE_S):
        raise RuntimeError("records were not confirmed")


def fetch(bootstrap: str, records: int, partitions: int) -> None:
    """Fetch all records."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "fetch", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, each, 0) for each in range(partitions)])
    left, by = records, time.monotonic() + PATIENCE_S
    while left:
        found = consumer.consume(AT_ONCE, 1.0)
        for error in (each.error() for each in found):
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise RuntimeError(str(error))
        left -= len(found)
        if time.monotonic() > by:
            raise RuntimeError(f"{left} records did not come")
    consumer.close()


def have_groups(bootstrap: str, middle: int, partitions: int) -> None:
    """Give a consumer group and a share group some progress in each partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": READERS, "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(TOPIC, each, middle) for each in range(partitions)], asynchronous=False)
    consumer.close()
    read_from_start(bootstrap, [PACKERS])
    words = (*shareq("share", "consume", PACKERS), "-b", bootstrap, "--topic", TOPIC, "-n", "1000")
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def migrate(source: str, target: str, *words: str) -> Moved:
    """Run the command. Raise RuntimeError if it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(
        shareq("migrate", source, target, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    most: dict[int, float] = {}
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(process.pid, most, ended))
    watch.start()
    try:
        out, said = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        ended.set()
        watch.join()
    seconds = time.perf_counter() - began
    if process.returncode:
        raise RuntimeError(f"shareq migrate: {process.returncode}: {said or out}")
    of_brokers = [mb for pid, mb in most.items() if pid != process.pid]
    return Moved(seconds, said.strip().rpartition("\n")[2], most[process.pid], max(of_brokers, default=0.0))


def _watch(pid: int, most: dict[int, float], ended: threading.Event) -> None:
    """Note the most memory of a process, and of each of its children, until it has ended."""
    while not ended.wait(POLL_S):
        for each in (pid, *_children(pid)):
            try:
                most[each] = largest_resident_mb(each)
            except (OSError, RuntimeError):  # it has ended
                continue


def _children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def shareq(*words: str) -> tuple[str, ...]:
    return sys.executable, "-P", "-m", "shareq", *words


if __name__ == "__main__":
    sys.exit(main())
