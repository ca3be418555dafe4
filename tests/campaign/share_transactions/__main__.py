"""`python -m tests.campaign.share_transactions`: records of a share group are copied in transactions that acknowledge
them, while the broker and the workers are killed.

Exit code 1 if a reader of committed records finds a record twice or never.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from devtools.clients.admin import configure_group, create_topic
from shareq.client.admin import Admin
from shareq.client.bulk import BulkWriter
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError
from shareq.client.network import Network
from shareq.client.reader import Reader
from shareq.protocol.records.record_codec import RecordData
from tests.campaign.node import Node
from tests.campaign.share_transactions.worker import GROUP, SOURCE, TARGET

PARTITIONS: Final = 2
SETTINGS: Final = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "3000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
CONFIGS: Final = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": "10"}
QUIET_S: Final = 120.0


class Worker:
    """One worker process, which is killed and started again; `seen` counts what all of them report."""

    def __init__(self, bootstrap: str, name: str, seen: Counter[str]) -> None:
        self._command = [sys.executable, "-m", "tests.campaign.share_transactions.worker", bootstrap, name]
        self._seen = seen
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, args=(self._process,))
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            count, _, error = line.partition(" ")
            if count.strip().isdecimal():
                self._seen["committed" if int(count) else "failed" if error else "aborted on purpose"] += 1

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()


def config_of(node: Node) -> ClientConfig:
    return ClientConfig.from_properties({"bootstrap.servers": f"127.0.0.1:{node.port}"})


def prepare(node: Node, count: int) -> None:
    """Switch the feature on, and write the records."""
    bootstrap = f"127.0.0.1:{node.port}"
    for topic in (SOURCE, TARGET):
        create_topic(bootstrap, topic, PARTITIONS)
    configure_group(bootstrap, GROUP, CONFIGS)
    network = Network(config_of(node))
    Admin(network).cluster.set_features({"shareq.share.transactions": 1})
    writer = BulkWriter(network)
    for at in range(count):
        writer.add(SOURCE, RecordData(None, b"%d" % at, timestamp_ms=0), at % PARTITIONS)
    writer.flush()
    network.close()


class Outcome:
    """The records that a reader of committed records finds."""

    def __init__(self, node: Node) -> None:
        self._network = Network(config_of(node))
        self._reader = Reader(self._network, {(TARGET, each): 0 for each in range(PARTITIONS)}, committed_only=True)
        self.found: dict[bytes, list[str]] = {}

    def read(self) -> None:
        try:
            for each in self._reader.read(500):
                copies = self.found.setdefault(each.record.value or b"", [])
                copies.append(f"offset {each.record.offset} {each.record.headers}")
        except ClientError:
            time.sleep(0.5)

    def close(self) -> None:
        self._network.close()


def run(node: Node, seen: Counter[str], options: argparse.Namespace) -> Outcome:
    rng = random.Random(options.seed)
    prepare(node, options.records)
    workers = [Worker(f"127.0.0.1:{node.port}", f"copier-{each}", seen) for each in range(options.workers)]
    try:
        for at in range(options.kills):
            time.sleep(rng.uniform(1, 3))
            node.kill()
            if at % 2:
                worker = rng.choice(workers)
                worker.kill()
                worker.start()
            node.start()
        outcome = Outcome(node)
        until, before = time.monotonic() + QUIET_S, -1
        while len(outcome.found) < options.records and time.monotonic() < until:
            outcome.read()
            if len(outcome.found) > before:
                until, before = time.monotonic() + QUIET_S, len(outcome.found)
        time.sleep(8)  # what is open then is aborted, and delivered again
        for _ in range(4):
            outcome.read()
    finally:
        for worker in workers:
            worker.kill()
    outcome.close()
    return outcome


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.share_transactions", description=__doc__)
    parser.add_argument("--records", type=int, default=12_000, help="in all (default 12,000)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--kills", type=int, default=20, help="of the broker, half of them with a worker (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="of the kills (default 1)")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="shareq-transactions-"))
    node, seen, began = Node(folder / "data", SETTINGS), Counter[str](), time.monotonic()
    try:
        node.start()
        found = run(node, seen, options).found
    finally:
        node.kill()
        shutil.rmtree(folder, ignore_errors=True)
    lost = [at for at in range(options.records) if b"%d" % at not in found]
    twice = {value.decode(): copies for value, copies in found.items() if len(copies) > 1}
    print(
        f"{options.records:,} records, {options.kills} kills, seed {options.seed}: transactions "
        f"{', '.join(f'{count:,} {what}' for what, count in sorted(seen.items()))}, in "
        f"{time.monotonic() - began:,.0f} s. Lost: {len(lost)}. Twice: {len(twice)}."
    )
    if lost or twice:
        print(f"lost: {lost[:20]}", *list(twice.items())[:20], sep="\n")
    return int(bool(lost or twice))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
