"""The size of the log of share state under the hardest load: one acknowledgement a record, no two alike in a row.

    python -m bench.compaction [--acks N] [--segment-bytes N] [--without-cleaner]

A broker process of its own, segments of 1 MiB, and one member of a share group that acknowledges the records of one
partition one by one, each in a request of its own: accept, release and reject in turn, a released record is accepted
when it comes back. Meanwhile the folder of the state's partition is looked at every two milliseconds. At the end the
broker is killed and started, then stopped and started, and must report the same state. Exits with 1 if there were ever
more than four segments, or if the state differs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TypeVar, cast

from bench.brokers import SCRATCH, Shareq
from bench.proc import cpu_seconds, load_average, machine, resident_mb
from bench.setup import create_topic, read_from_start
from devtools.clients.ack_storm import AckStorm
from devtools.clients.requests import produce
from devtools.clients.state_rpcs import StateCaller, Stored
from devtools.clients.wire import WireClient
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, build_batch

R = TypeVar("R", bound=Message)

ROOT = Path(__file__).resolve().parents[1]
TOPIC = "storm"
GROUP = "stormers"
MOST_SEGMENTS = 4
LOOK_EVERY_S = 0.002
HEARTBEAT_EVERY_S = 5.0
RECORDS_PER_ACK = 0.75  # every third record is acknowledged twice


class Pipe(WireClient):
    """A connection for `AckStorm`."""

    def receive(self, response_class: type[R] | None = None) -> R:
        return cast(R, super().receive())


class Watcher(threading.Thread):
    """A thread that watches a log's folder until `stop` is called."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self._stopped = threading.Event()
        self.looks = 0
        self.most_segments = 0
        self.most_bytes = 0

    def run(self) -> None:
        while not self._stopped.wait(LOOK_EVERY_S):
            sizes = segment_sizes(self._folder)
            self.looks += 1
            self.most_segments = max(self.most_segments, len(sizes))
            self.most_bytes = max(self.most_bytes, sum(sizes))

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def segment_sizes(folder: Path) -> list[int]:
    """Return the sizes of the existing segments."""
    sizes = []
    for path in folder.glob("*.log"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:  # replaced between the two calls: it counts all the same
            sizes.append(0)
    return sizes


def connect(broker: Shareq) -> Pipe:
    return Pipe(("127.0.0.1", broker.port), timeout_s=60)


def topic_id(client: Pipe) -> bytes:
    answer = client.call(MetadataRequest([MetadataRequestTopic(name=TOPIC)]), 12, MetadataResponse)
    return answer.topics[0].topic_id


def fill(client: Pipe, records: int) -> None:
    batch = bytes(build_batch([RecordData(None, b"v")] * 5_000, timestamp_ms=int(time.time() * 1000)))
    for _ in range(records // 5_000 + 1):
        answer = produce(client, TOPIC, batch)
        assert answer.error_code == 0, answer


def storm(broker: Shareq, folder: Path, acks: int) -> tuple[dict[str, str], Stored, int]:
    """Run the storm; return the observations, the final state, and the most segments."""
    create_topic(broker.address, TOPIC, 1)
    read_from_start(broker.address, [GROUP])
    client = connect(broker)
    fill(client, int(acks * RECORDS_PER_ACK) + 2_000)
    storm = AckStorm(client, TOPIC, topic_id(client), GROUP)
    beaten = time.monotonic()

    def keep_alive() -> None:
        nonlocal beaten
        if time.monotonic() - beaten > HEARTBEAT_EVERY_S:
            beaten = time.monotonic()
            storm.heartbeat()
            so_far = f"{storm.acks:,} acknowledgements, {watcher.most_segments} segments at most"
            print(f"compaction: {so_far}", file=sys.stderr, flush=True)

    watcher = Watcher(folder)
    watcher.start()
    cpu, began = cpu_seconds(broker.pid), time.monotonic()
    storm.run(acks, keep_alive)
    elapsed, cpu = time.monotonic() - began, cpu_seconds(broker.pid) - cpu
    watcher.stop()
    state = StateCaller(client, GROUP, topic_id(client)).read()
    client.close()
    seen = {
        "acknowledgements, one a request": f"{storm.acks:,}",
        "duration": f"{elapsed:.0f} s, {storm.acks / elapsed:,.0f}/s",
        "broker CPU per acknowledgement": f"{cpu / storm.acks * 1e6:.1f} µs",
        "most segments of the state's partition": f"{watcher.most_segments} ({watcher.looks:,} looks)",
        "most bytes of them": f"{watcher.most_bytes / 2**20:.1f} MiB",
        "bytes at the end": f"{sum(segment_sizes(folder)) / 2**20:.1f} MiB",
        "memory of the broker": f"{resident_mb(broker.pid):.0f} MB",
    }
    return seen, state, watcher.most_segments


def restarts(broker: Shareq, state: Stored) -> dict[str, str]:
    """Kill and start the broker, then stop and start it. Raise AssertionError if the state changes."""
    seen = {}
    for how, end in (("kill -9", broker.kill), ("stop", broker.stop)):
        end()
        took = broker.start()
        with connect(broker) as client:
            after = StateCaller(client, GROUP, topic_id(client)).read()
        assert after == state, f"after {how}: {after}, before: {state}"
        seen[f"start after {how}, the state is the same"] = f"{took * 1000:.0f} ms"
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.compaction", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--acks", type=int, default=1_000_000, help="how many (default 1,000,000: four minutes)")
    parser.add_argument("--segment-bytes", type=int, default=1 << 20, help="of the log of share state (default 1 MiB)")
    parser.add_argument("--without-cleaner", action="store_true", help="to compare with: what the cleaner costs")
    options = parser.parse_args()
    properties = [
        "share.coordinator.state.topic.num.partitions=1",
        f"share.coordinator.state.topic.segment.bytes={options.segment_bytes}",
        f"log.cleaner.enable={'false' if options.without_cleaner else 'true'}",
    ]
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="compaction-", dir=SCRATCH) as scratch:
        broker = Shareq(Path(scratch), tuple(properties))
        broker.start()
        try:
            folder = Path(scratch) / "data" / "__share_group_state-0"
            seen, state, most = storm(broker, folder, options.acks)
            seen |= restarts(broker, state)
        finally:
            broker.stop()
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, check=False, capture_output=True, text=True
    ).stdout.strip()
    seen |= {"segment size": f"{options.segment_bytes / 2**20:g} MiB", "commit": commit or "unknown"}
    seen |= {"machine": machine(), "date, load average": f"{time.strftime('%Y-%m-%d')}, {load_average():.1f}"}
    for name, value in seen.items():
        print(f"| {name} | {value} |")
    return 0 if options.without_cleaner or most <= MOST_SEGMENTS else 1


if __name__ == "__main__":
    sys.exit(main())
