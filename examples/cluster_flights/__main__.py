"""The flights through share groups of a cluster that has none: `python -m examples.cluster_flights`.

Three Apache Kafka brokers keep everything, two nodes (`shareq serve --cluster`) give them share groups. Four librdkafka
share consumers, each a process of its own, acknowledge every record by itself. The node that is at work gets SIGKILL,
later a broker does. At the end the journals of the consumers are joined, and the cluster is asked what is still open:
no record may be lost, and none may be delivered again after its acknowledgement was confirmed.

Exit code 0 when both hold, 1 when not or when something broke.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from examples.cluster_flights.cluster import OURS, Cluster, cluster_of, why_unavailable
from examples.cluster_flights.nodes import Nodes
from examples.cluster_flights.picture import Kill, picture
from examples.flights_demo import flights, load
from examples.flights_demo.consumers import COUNT, Consumers
from examples.flights_demo.ledger import Ledger, Totals
from examples.flights_demo.progress import Progress
from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError
from shareq.client.network import Network

TOPIC, GROUP, PARTITIONS = "flights", "departures", 4
WITHIN_S: Final = 55.0
"""The time allowed from the first consumer's start; records not done by then count as lost."""
QUIET_S: Final = 1.5
"""The time without an unfinished or a new record after which no more records are expected."""
LOOK_S: Final = 0.5
PICTURE: Final = Path(__file__).resolve().parents[2] / ".cache" / "demo-cluster.svg"


@dataclass(frozen=True, slots=True)
class Books:
    """The flights, and how each ended. `open_`: records that are not finished in the state that the cluster has."""

    produced: int
    totals: Totals
    open_: int
    kills: Sequence[Kill]
    times_s: Sequence[float]

    @property
    def are_right(self) -> bool:
        return not (self.open_ or self.totals.lost or self.totals.again_after_confirmed)


class Demo:
    """The demo: all its processes, and their records in files of `folder`."""

    def __init__(
        self, cluster: Cluster, folder: Path, count: int | None, progress: Progress, within_s: float = WITHIN_S
    ) -> None:
        self._cluster = cluster
        self._nodes = Nodes(folder, cluster)
        self._count = count
        self._progress = progress
        self._consumers = Consumers(folder)
        self._within_s = within_s
        self._by = 0.0
        self._kills: list[tuple[str, int]] = []

    def run(self) -> Books:
        """Start everything, have the flights drained with two kills on the way, and count."""
        step = self._progress.step
        step("getting the flights")
        flights.download()
        step(f"starting {self._cluster.name}")
        self._cluster.start()
        step(f"the cluster listens at {self._cluster.bootstrap}")
        self._nodes.start()
        load.create_topic(self._nodes.bootstrap, TOPIC, PARTITIONS, replicas=self._cluster.replicas)
        load.read_from_start(self._nodes.bootstrap, GROUP)
        owner = self._nodes.wait_for_owner(TOPIC)
        step(f"two nodes listen at {self._nodes.bootstrap}; node {owner} has the share groups, the other one waits")
        produced = load.produce(self._nodes.bootstrap, TOPIC, self._progress, limit=self._count)
        step(f"{produced:,} flights produced by way of the nodes; {COUNT} consumers join group {GROUP}")
        self._by = time.monotonic() + self._within_s
        ledger = Ledger(self._consumers.start(self._nodes.bootstrap, GROUP, TOPIC), produced)
        self._watch(ledger, lambda: ledger.confirmed >= produced // 3)
        self._kill("node", lambda: self._nodes.kill_owner(TOPIC), ledger)
        self._watch(ledger, lambda: ledger.confirmed >= produced * 2 // 3)
        self._kill("broker", lambda: self._cluster.kill_broker(TOPIC), ledger)
        open_ = self._drain(ledger)
        self._progress.end()
        self._consumers.end()
        ledger.read()
        start_ns = ledger.first_event_ns
        times_s = [(each - start_ns) / 1e9 for each in ledger.confirmations()]
        kills = Kill.all_of([(what, (when_ns - start_ns) / 1e9) for what, when_ns in self._kills], times_s)
        return Books(produced, ledger.totals(), open_, kills, times_s)

    def end(self) -> None:
        """End all processes."""
        self._consumers.end()
        self._nodes.stop()
        self._cluster.stop()

    def _kill(self, what: str, kill: Callable[[], str], ledger: Ledger) -> None:
        when_ns = time.monotonic_ns()
        said = kill()
        self._kills.append((what, when_ns))
        self._progress.step(f"{said} after {ledger.confirmed:,} confirmed acknowledgements")

    def _drain(self, ledger: Ledger) -> int:
        """Wait until all records are finished in the cluster's state; return the number that are not."""
        open_, looked = ledger.rows, 0.0

        def done() -> bool:
            nonlocal open_, looked
            if ledger.settled < ledger.rows or time.monotonic_ns() - ledger.last_event_ns < QUIET_S * 1e9:
                return False
            if time.monotonic() - looked > LOOK_S:
                open_, looked = self._open(ledger.rows), time.monotonic()
            return open_ == 0

        self._watch(ledger, done)
        return open_

    def _open(self, rows: int) -> int:
        """Return the number of unfinished records from the node that has their state; all if no node answers."""
        network = Network(ClientConfig.from_properties({"bootstrap.servers": self._nodes.bootstrap}))
        try:
            offsets = Admin(network).share_groups.all_offsets(GROUP, {TOPIC: range(PARTITIONS)})
            lags = [offsets[TOPIC, number].lag for number in range(PARTITIONS)]
        except (ClientError, KeyError):
            return rows
        finally:
            network.close()
        return sum(rows if lag is None else lag for lag in lags)

    def _watch(self, ledger: Ledger, done: Callable[[], bool]) -> None:
        self._consumers.watch(ledger, self._progress, done, self._by)


def table(books: Books) -> str:
    """Return the books as lines for people."""
    totals = books.totals
    lines = [
        ("flights produced", f"{books.produced:,}"),
        ("records delivered", f"{totals.delivered:,}"),
        ("  of these redelivered", f"{totals.redelivered:,}"),
        ("accepted (confirmed)", f"{totals.accepted:,}"),
        ("rejected (confirmed)", f"{totals.rejected:,}"),
        ("released once (confirmed)", f"{totals.released:,}"),
        ("acks cut off by the kills (unknown)", f"{totals.unknown:,}"),
        ("  of these delivered again", f"{totals.unknown_back:,}"),
        *((f"longest pause after the {kill.what} was killed", f"{kill.pause_s:.1f} s") for kill in books.kills),
        ("open, as the cluster has it", f"{books.open_:,}"),
        ("lost", f"{totals.lost:,}"),
        ("delivered again after a confirmed ack", f"{totals.again_after_confirmed:,}"),
    ]
    width = max(len(label) for label, _ in lines)
    return "\n".join(["", *(f"  {label:<{width}}  {value:>10}" for label, value in lines), ""])


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    missing = why_unavailable(options.cluster)
    if missing is not None:
        print(f"demo: {missing}; `make demo-cluster ARGS=--cluster={OURS}` needs none", file=sys.stderr)
        return 1
    progress = Progress()
    folder = Path(tempfile.mkdtemp(prefix="shareq-demo-cluster-"))
    demo = Demo(cluster_of(options.cluster, folder), folder, options.flights, progress, options.within)
    try:
        books = demo.run()
    except (flights.FlightsUnavailable, RuntimeError) as error:
        progress.end()
        print(f"demo: {error}\ndemo: logs are in {folder}", file=sys.stderr)
        return 1
    finally:
        demo.end()
    print(table(books))
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(picture(books.times_s, books.produced, books.kills))
    print(f"  picture: {options.picture}\n")
    if not books.are_right:
        print(f"demo: FAILED; journals and logs are in {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cluster_flights", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--cluster",
        default="3.9.1",
        metavar="VERSION",
        help=f"Apache Kafka of this version, three brokers (default 3.9.1), or {OURS}: shareq itself, without Java",
    )
    parser.add_argument("--flights", type=int, metavar="N", help="only the first N (default: all)")
    parser.add_argument(
        "--within", type=float, default=WITHIN_S, metavar="S", help=f"lost is what takes longer (default {WITHIN_S:g})"
    )
    parser.add_argument("--picture", type=Path, default=PICTURE, metavar="FILE", help=f"default {PICTURE}")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
