"""`make exactly-once`: a job with exactly-once, and a broker that is killed under it. Exit code 1 when a
record was lost or doubled, or the job could not go on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from devtools.documents import add_write_option, show_and_write
from devtools.kafka.apache_kafka import KAFKA_VERSION
from tests.campaign.exactly_once.campaign import SETTINGS, Campaign, HangingTransaction, Result
from tests.campaign.exactly_once.jobs import CLIENTS, Client
from tests.campaign.exactly_once.report import BEGIN, END, Report
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind, why_unavailable_here

BROKERS: dict[Kind, str] = {"ours": "shareq", "apache": f"Apache Kafka {KAFKA_VERSION}"}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.exactly_once", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of each client's broker (default 20)")
    parser.add_argument(
        "--records", type=int, metavar="N", help="to be copied (default 2,000 for each kill and one more)"
    )
    parser.add_argument("--client", choices=[one.name for one in CLIENTS], action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the kills (default 1)")
    parser.add_argument("--broker", choices=list(BROKERS), default="ours", help="who is killed (default ours)")
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    clients = [one for one in CLIENTS if options.client is None or one.name in options.client]
    missing = [why for why in (why_unavailable_here(options.broker), *(one.why_not_here() for one in clients)) if why]
    if missing:
        print(f"skipped: {missing[0]}")
        return 0
    records = options.records or 2_000 * (options.kills + 1)
    try:
        results = [_run(options.broker, client, records, options.kills, options.seed) for client in clients]
    except HangingTransaction as hanging:
        print(hanging)
        return 1
    lines = Report(results, BROKERS[options.broker], options.seed).markdown()
    show_and_write(lines, options.write, BEGIN, END)
    return 0 if all(one.exactly_once for one in results) else 1


def _run(kind: Kind, client: Client, records: int, kills: int, seed: int) -> Result:
    print(f"{client.name}: {records:,} records, {kills} kills, seed {seed}", flush=True)
    broker = BrokerUnderTest(kind, SETTINGS)
    try:
        broker.start()
        result = Campaign(broker, client, records, lambda line: print(f"  {line}", flush=True)).run("job", kills, seed)
    finally:
        broker.remove()
    print(
        f"  lost {len(result.lost)} {result.lost[:5]}, doubled {len(result.doubled)} {result.doubled[:5]}", flush=True
    )
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
