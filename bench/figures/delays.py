"""Records with delivery times: how late they are delivered, and what waiting ones cost.

Also the cost of delays, and of a time to live, for a group whose records have no times. Only shareq has them.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from bench.client.waiting_members import SETTLE_S
from bench.figure import Row, Sample, Scale, Target
from bench.setup import create_topic, read_from_start, with_delays, with_time_to_live
from bench.stage import Stage, run_client

OTHERS: Final = 100_000
REFUSED: Final = 9_000
DELAYS: Final = 200
FAR_S: Final = 120.0
"""The seconds after which waiting records are due: the broker is killed and started again before that."""
LOAD: Final = 500
PARTITIONS: Final = 4
SETTINGS: Final = {"group.share.max.partition.max.record.locks": "300000"}
WINDOW: Final = {"share.partition.max.record.locks": "300000"}
REPEATED = False
ROWS = (
    Row(
        "late_p50_ms",
        f"a dated record's lateness beside {OTHERS:,} that wait, {REFUSED:,} refused and {LOAD} records/s, median, ms",
        "{:.1f}",
        Target("value", "<=", 5.0),
    ),
    Row("late_p99_ms", "the same, 99 % within ms", "{:.1f}"),
    Row("dated_mb", f"memory for {OTHERS:,} records that wait, MB", "{:.0f}", Target("value", "<=", 40.0)),
    Row("dated_kept", "of them came in time behind a kill, %", "{:.0f}", Target("value", ">=", 100.0)),
    Row("undated_cpu_us", "broker CPU per record share-fetched and acked, µs", "{:.3f}", on_page=False),
    Row("with_delays_cpu_us", "the same in a group with delays, µs", "{:.3f}", on_page=False),
    Row("with_ttl_cpu_us", "the same in a group with a time to live and a header, µs", "{:.3f}", on_page=False),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    if stage.kind != "shareq":
        return {}
    found: Sample = {}
    with stage.fresh(SETTINGS) as broker, ThreadPoolExecutor(1) as beside:
        broker.start()
        for topic in ("dated", "load"):
            create_topic(broker.address, topic, 1)
            read_from_start(broker.address, [topic])
        with_delays(broker.address, "dated", WINDOW)
        at_work = {"topic": "load", "groups": ["load"], "members": 5, "rate": LOAD, "seconds": FAR_S / 3 - SETTLE_S}
        load = beside.submit(run_client, broker, "waiting_members", at_work)
        known = {"topic": "dated", "group": "dated", "others": OTHERS}
        late = run_client(broker, "dated", known | {"refused": REFUSED, "delays": DELAYS, "far_s": FAR_S})
        load.result()
        os.kill(broker.pid, signal.SIGKILL)
        broker.stop()
        broker.start()
        found["dated_kept"] = run_client(broker, "dated", known)["again"] / OTHERS * 100
    found |= {"late_p50_ms": late["late_p50_ms"], "late_p99_ms": late["late_p99_ms"], "dated_mb": late["more_mb"]}
    topic = stage.topic(PARTITIONS)
    sizes = {"topic": topic, "records": scale.records}
    stage.client("produce", partitions=PARTITIONS, **sizes)
    found["undated_cpu_us"] = stage.client("share", group=stage.group(), **sizes)["cpu_us"]
    group = stage.group()
    with_delays(stage.broker.address, group)
    found["with_delays_cpu_us"] = stage.client("share", group=group, **sizes)["cpu_us"]
    group = stage.group()
    with_time_to_live(stage.broker.address, group)
    found["with_ttl_cpu_us"] = stage.client("share", group=group, **sizes)["cpu_us"]
    return found
