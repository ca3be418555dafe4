"""`make order-kills`: members of a group with order by key, while the broker is killed.

Exit code 1 if a record was delivered beside or after a later one of its key, was delivered after its end, or never
ended. With `--per-key`, also if it was delivered while as many records of its key were in hand as may be.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from devtools.clients.admin import configure_group
from devtools.clients.requests import create_topic, produce_request
from devtools.clients.wire import WireClient
from devtools.documents import add_write_option, show_and_write
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.compression import Compression
from tests.campaign.member import Member
from tests.campaign.node import Node
from tests.campaign.order_kills.judge import Judge

LIMIT: Final = 5
LOCK_MS: Final = 2_000
PARTITIONS: Final = 4
BATCH: Final = 100
TOPIC, GROUP = "ordered", "in-order"
QUIET_S: Final = 300.0  # no record ends for so long: it stands still
SETTINGS: Final = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": str(LOCK_MS),
    "group.share.delivery.count.limit": str(LIMIT),
    "share.coordinator.state.topic.num.partitions": "2",
}
BEGIN, END = "<!-- order kills: begin -->", "<!-- order kills: end -->"
BEGIN_SEVERAL, END_SEVERAL = "<!-- several of a key: begin -->", "<!-- several of a key: end -->"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.order_kills", description=__doc__)
    parser.add_argument("--records", type=int, default=100_000, help="in all (default 100,000)")
    parser.add_argument("--keys", type=int, default=50, help="of the records; one in ten has none (default 50)")
    parser.add_argument("--per-key", type=int, default=1, help="records of a key that may be in hand (default 1)")
    parser.add_argument(
        "--hot", type=int, default=0, metavar="PERCENT", help="of the records, have one key (default 0)"
    )
    parser.add_argument("--look-ahead", type=int, default=0, help="of windows, in records (default 0)")
    parser.add_argument("--members", type=int, default=12, help="of the group (default 12)")
    parser.add_argument("--kills", type=int, default=20, help="of the broker, evenly over the records (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="of keys, kills and members (default 1)")
    parser.add_argument("--planted", action="store_true", help="instead: a group without the config, to be found out")
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    marks = (BEGIN, END) if options.per_key == 1 else (BEGIN_SEVERAL, END_SEVERAL)
    folder = Path(tempfile.mkdtemp(prefix="shareq-order-"))
    node = Node(folder / "data", SETTINGS)
    began = time.monotonic()
    try:
        node.start()
        rng = random.Random(options.seed)
        topic_id, keys = _produced(node, options.records, options.keys, options.hot / 100, rng)
        properties = {
            "share.auto.offset.reset": "earliest",
            "shareq.order": "none" if options.planted else "key",
            "shareq.order.records.per.key": str(options.per_key),
            "shareq.order.look.ahead": str(options.look_ahead),
        }
        configure_group(f"127.0.0.1:{node.port}", GROUP, properties)
        judge = Judge(keys, LIMIT, options.per_key)
        failures, kills = _killed(node, topic_id, judge, options)
    finally:
        node.kill()
        shutil.rmtree(folder, ignore_errors=True)
    left, seen = judge.left(), judge.seen
    broken = judge.broken + judge.ends_out_of_order()
    lines = [
        f"{options.records:,} records, {options.keys} keys, {options.members} members, {kills} kills, seed "
        f"{options.seed}: {seen['deliveries']:,} deliveries, {seen['redeliveries']:,} of them again, "
        f"{seen['acknowledgements']:,} acknowledgements, {seen['acknowledgements refused']:,} refused, in "
        f"{time.monotonic() - began:,.0f} s. Out of order: {len(broken)}. Never ended: {len(left)}; "
        f"given up in an answer that was lost: {len(judge.unseen_ends()) - len(left)}."
    ]
    if options.per_key > 1:
        lines[0] += f" Of a key, {judge.most_in_hand} were in hand at most; {options.hot} % had one key."
    lines += [f"* {line}" for line in (*broken[:20], *(f"{place} never ended" for place in left[:5]), *failures)]
    show_and_write(lines, options.write, *marks)
    if options.planted:
        return 0 if broken else 1
    return 1 if broken or left or failures else 0


def _produced(
    node: Node, records: int, keys: int, hot: float, rng: random.Random
) -> tuple[bytes, dict[int, list[int | None]]]:
    """Produce the records; return the topic's id, and the key of each record by partition and offset."""
    with WireClient(node.address) as client:
        topic_id = create_topic(client, TOPIC, PARTITIONS)
        placed: dict[int, list[int | None]] = {partition: [] for partition in range(PARTITIONS)}
        left = records
        while left:
            size, partition = min(left, BATCH), rng.randrange(PARTITIONS)
            chosen = [None if rng.random() < 0.1 else rng.randrange(keys) for _ in range(size)]
            if hot:
                chosen = [0 if rng.random() < hot else key for key in chosen]
            rows = [RecordData(None if key is None else b"key %d" % key, b"value") for key in chosen]
            codec = rng.choice((Compression.NONE, Compression.LZ4, Compression.GZIP))
            data = build_batch(rows, timestamp_ms=int(time.time() * 1000), compression=codec)
            request = produce_request(bytes(data), topic=TOPIC, partition=partition)
            answer = client.call(request, 9, ProduceResponse)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE, answer
            placed[partition] += chosen
            left -= size
    return topic_id, placed


def _killed(node: Node, topic_id: bytes, judge: Judge, options: argparse.Namespace) -> tuple[list[str], int]:
    """Let the members work while the broker is killed. Return the faults, and the number of kills."""
    stop, rng = threading.Event(), random.Random(f"kills {options.seed}")
    topic = (TOPIC, topic_id, PARTITIONS)
    members = [
        Member(f"member-{number}", lambda: node.address, topic, GROUP, judge, LOCK_MS / 1000, options.seed, stop)
        for number in range(options.members)
    ]
    for member in members:
        member.start()
    began = moved_at = time.monotonic()
    kills = over = deliveries = 0
    while over < options.records and not all(member.failure for member in members):
        time.sleep(0.1)
        if judge.seen["deliveries"] > deliveries:
            deliveries, over, moved_at = judge.seen["deliveries"], judge.over, time.monotonic()
        quiet_s = time.monotonic() - moved_at
        if quiet_s > QUIET_S or (quiet_s > 3 * LOCK_MS / 1000 and kills == options.kills and not judge.left()):
            break
        if kills < options.kills and over >= options.records * (kills + 1) // (options.kills + 2):
            time.sleep(rng.uniform(0, 0.3))
            node.kill()
            judge.lost()
            node.start()
            kills += 1
            print(f"  kill {kills} with {over:,} records ended, {time.monotonic() - began:.0f} s", flush=True)
        elif kills == options.kills and over >= options.records * (kills + 1) // (kills + 2):
            for member in members:
                member.drain()
    time.sleep(2 * LOCK_MS / 1000)  # what may have ended and has not comes again
    stop.set()
    for member in members:
        member.join(2 * LOCK_MS / 1000 + 10)
    return [member.failure for member in members if member.failure], kills


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
