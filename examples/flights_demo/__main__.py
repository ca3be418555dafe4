"""336,776 flights through one share group, with the broker killed half way: `python -m examples.flights_demo`.

Four librdkafka share consumers, each a process of its own, acknowledge every record by itself: most are accepted, some
released once, some rejected. Half way the broker gets SIGKILL and is started again on the same data. At the end the
journals of the consumers are joined: no record may be lost, and none may be delivered again after its ack was
confirmed.

Exit code 0 if both hold, otherwise 1.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from examples.flights_demo import flights, load
from examples.flights_demo.broker import DemoBroker, Shareq
from examples.flights_demo.consumer import WORK_S_PER_RECORD
from examples.flights_demo.consumers import COUNT, Consumers
from examples.flights_demo.ledger import Ledger, Totals
from examples.flights_demo.progress import Progress

TOPIC, GROUP, PARTITIONS = "flights", "departures", 4
DEADLINE_S = 100.0
QUIET_S = 1.5  # everything is settled and nothing came for this long: nothing comes any more


@dataclass(frozen=True, slots=True)
class Outcome:
    """The joined journals, the seconds from the first delivery to the last ack, the seconds the restart took."""

    totals: Totals
    produced: int
    drain_s: float
    restart_s: float


def main() -> int:
    options = _options()
    progress = Progress()
    folder = Path(tempfile.mkdtemp(prefix="shareq-demo-"))
    broker = _broker(options.broker, folder)
    consumers = Consumers(folder)
    try:
        outcome = _run(broker, consumers, progress)
    except (flights.FlightsUnavailable, RuntimeError) as error:
        progress.end()
        print(f"demo: {error}\ndemo: logs are in {folder}", file=sys.stderr)
        return 1
    finally:
        consumers.end()
        broker.stop()
    print(_table(outcome))
    if outcome.totals.lost or outcome.totals.again_after_confirmed:
        print(f"demo: FAILED; journals and logs are in {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


def _run(broker: DemoBroker, consumers: Consumers, progress: Progress) -> Outcome:
    progress.step("getting the flights")
    flights.download()
    progress.step("starting the broker")
    progress.step(f"the broker listens at {broker.address} after {broker.start() * 1000:.0f} ms")
    load.create_topic(broker.address, TOPIC, PARTITIONS)
    load.read_from_start(broker.address, GROUP)
    produced = load.produce(broker.address, TOPIC, progress)
    progress.step(f"{produced:,} flights produced; {COUNT} consumers join group {GROUP}")
    ledger = Ledger(consumers.start(broker.address, GROUP, TOPIC), produced)
    deadline = time.monotonic() + DEADLINE_S

    def watch(done: Callable[[], bool]) -> None:
        consumers.watch(ledger, progress, done, deadline)

    watch(lambda: ledger.confirmed >= produced // 2)
    broker.kill()
    progress.step(f"half way: broker killed with SIGKILL after {ledger.confirmed:,} confirmed acks")
    restart_s = broker.start()
    progress.step(f"broker started again on the same data in {restart_s * 1000:.0f} ms")
    watch(lambda: ledger.settled == produced and time.monotonic_ns() - ledger.last_event_ns > QUIET_S * 1e9)
    progress.end()
    consumers.end()
    ledger.read()
    drain_s = (ledger.last_event_ns - ledger.first_event_ns) / 1e9
    return Outcome(ledger.totals(), produced, drain_s, restart_s)


def _table(outcome: Outcome) -> str:
    totals = outcome.totals
    rate = totals.delivered / outcome.drain_s if outcome.drain_s else 0.0
    lines: list[tuple[str, str]] = [
        ("flights produced", f"{outcome.produced:,}"),
        ("records delivered", f"{totals.delivered:,}"),
        ("  of these redelivered", f"{totals.redelivered:,}"),
        ("accepted (confirmed)", f"{totals.accepted:,}"),
        ("rejected (confirmed)", f"{totals.rejected:,}"),
        ("released once (confirmed)", f"{totals.released:,}"),
        ("acks cut off by the kill (unknown)", f"{totals.unknown:,}"),
        ("  of these delivered again", f"{totals.unknown_back:,}"),
        (f"deliveries per second with {WORK_S_PER_RECORD * 1e6:.0f} µs of work for each", f"{rate:,.0f}"),
        ("broker back after", f"{outcome.restart_s * 1000:,.0f} ms"),
        ("lost", f"{totals.lost:,}"),
        ("delivered again after a confirmed ack", f"{totals.again_after_confirmed:,}"),
    ]
    width = max(len(label) for label, _ in lines)
    return "\n".join(["", *(f"  {label:<{width}}  {value:>10}" for label, value in lines), ""])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="flights_demo", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--broker", choices=["shareq", "apache"], default="shareq", help=argparse.SUPPRESS)
    return parser.parse_args()


def _broker(kind: str, folder: Path) -> DemoBroker:
    if kind == "apache":  # to compare with
        from devtools.kafka.apache_kafka import ApacheKafka

        return ApacheKafka(folder)
    return Shareq(folder)


if __name__ == "__main__":
    sys.exit(main())
