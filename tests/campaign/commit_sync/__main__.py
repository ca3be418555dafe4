"""The waits of librdkafka's `commit_sync` before three brokers of Apache Kafka with share groups of their own, while
the leader of most partitions is killed or stopped: `KAFKA_VERSION=4.3.1 python -m tests.campaign.commit_sync`.

Exit code 1 when a call did not come back by its own timeout. No broker or node of ours takes part.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devtools.clients.admin import QUIET, read_from_start
from devtools.kafka.apache_kafka import ApacheKafka
from devtools.kafka.certificates import Authority
from devtools.kafka.kafka_cluster import NODES, KafkaCluster
from tests.campaign.cluster_kills.consumer import COMMIT_S, HANGS_S
from tests.campaign.cluster_kills.processes import stop
from tests.campaign.command import show
from tests.campaign.commit_sync.calls import Call, calls

TOPIC, GROUP, PARTITIONS, CONSUMERS = "work", "campaign", 4, 4
LATE_S: Final = 1.0
"""The seconds by which a call may exceed its timeout."""
STOPPED_S: Final = 12.0
AWAY_S: Final = (3.0, 14.0)
"""The time for which a killed broker is away."""
SETTLES_S: Final = 8.0


class Scene:
    """The brokers, a producer and consumers. `hung` counts consumer processes ended by a watchdog."""

    def __init__(self, folder: Path, rate: int) -> None:
        self.hung = 0
        self._folder = folder
        self._rate = rate
        self._cluster = KafkaCluster(folder / "cluster", Authority(folder))
        self._consumers: list[subprocess.Popen[bytes]] = []
        self._goes_on = True
        self._threads = [threading.Thread(target=work) for work in (self._produce, self._revive)]

    def __enter__(self) -> Scene:
        self._cluster.__enter__()
        admin = self._admin()
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, len(NODES))])[TOPIC].result(60)
        read_from_start(self._cluster.plain_bootstrap, GROUP)
        self._consumers = [self._consumer(number) for number in range(CONSUMERS)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._goes_on = False
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        for consumer in self._consumers:
            consumer.kill()
            consumer.wait()
        for node in self._cluster.nodes.values():
            if node.process is not None and node.process.poll() is None:
                node.process.send_signal(signal.SIGCONT)
        self._cluster.close()

    def journals(self) -> list[str]:
        return [path.read_text() for path in sorted(self._folder.glob("journal-*.txt"))]

    def leader(self) -> ApacheKafka:
        partitions = self._admin().list_topics(TOPIC, timeout=20).topics[TOPIC].partitions.values()
        return self._cluster.nodes[Counter(each.leader for each in partitions).most_common(1)[0][0]]

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._cluster.plain_bootstrap, **QUIET})

    def _consumer(self, number: int) -> subprocess.Popen[bytes]:
        module, journal = "tests.campaign.cluster_kills.consumer", self._folder / f"journal-{number}.txt"
        command = [sys.executable, "-m", module, self._cluster.plain_bootstrap, GROUP, TOPIC, str(journal)]
        with (self._folder / f"consumer-{number}.log").open("ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _revive(self) -> None:
        while self._goes_on:
            for number, consumer in enumerate(self._consumers):
                if consumer.poll() is not None:
                    self.hung += 1
                    self._consumers[number] = self._consumer(number)
            time.sleep(0.2)

    def _produce(self) -> None:
        producer = Producer({"bootstrap.servers": self._cluster.plain_bootstrap, "linger.ms": 2, **QUIET})
        while self._goes_on:
            for _ in range(self._rate // 100):
                try:
                    producer.produce(TOPIC, b"work")
                except BufferError:  # the brokers stand still
                    break
            producer.poll(0)
            time.sleep(0.01)
        producer.purge()


def disturb(scene: Scene, how: str, rng: random.Random) -> None:
    node = scene.leader()
    if how == "kill":
        node.kill()
        time.sleep(rng.uniform(*AWAY_S))
        node.start(120)
        return
    stop(node.process)
    time.sleep(STOPPED_S)
    assert node.process is not None
    node.process.send_signal(signal.SIGCONT)


def line_of(how: str, rounds: int, seen: Sequence[Call], hung: int) -> str:
    """Return a row of the table: calls, those that waited, those that never returned."""
    ended = [call for call in seen if call.took_s is not None]
    longest = max((call.took_s for call in ended if call.took_s is not None), default=0.0)
    errors = Counter(call.error for call in ended if call.error)
    slow = sum(1 for call in ended if call.took_s is not None and call.took_s > 1)
    text = ", ".join(f"{error} {number}" for error, number in errors.most_common()) or "none"
    return f"| {how} | {rounds} | {len(seen):,} | {slow} | {longest:.1f} | {text} | {hung} |"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.commit_sync", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="of each (default 10)")
    parser.add_argument("--how", action="append", choices=("kill", "stop"), help="only this; default: both")
    parser.add_argument("--rate", type=int, default=2500, help="records a second (default 2500)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default 1)")
    options = parser.parse_args(arguments)
    show("| leader | rounds | calls | longer than 1 s | longest s | errors | ended by the watchdog |")
    show("| --- | --: | --: | --: | --: | --- | --: |")
    late = False
    for how in options.how or ("kill", "stop"):
        with tempfile.TemporaryDirectory(prefix="shareq-commit-sync-") as name:
            rng = random.Random(options.seed)
            with Scene(Path(name), options.rate) as scene:
                time.sleep(SETTLES_S)
                for _ in range(options.rounds):
                    time.sleep(rng.uniform(2, 4))
                    disturb(scene, how, rng)
                    time.sleep(SETTLES_S)
                time.sleep(HANGS_S)
            seen = calls(scene.journals())
            show(line_of(how, options.rounds, seen, scene.hung))
            late = late or scene.hung > 0 or any((call.took_s or 0) > COMMIT_S + LATE_S for call in seen)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
