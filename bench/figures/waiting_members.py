"""Members of share groups that long-poll: many of one group, thousands without work, one with many partitions."""

from __future__ import annotations

from bench.figure import Row, Sample, Scale, Target
from bench.setup import create_topic, read_from_start
from bench.stage import Stage, run_client

MEMBERS, RATE = 500, 500
IDLE, GROUPS, IDLE_SETTLE_S = 5_000, 10, 12.0  # until each has its last epoch, by its second heartbeat
PARTITIONS = 10_000
SETTINGS = {"group.share.max.size": "1000", "group.share.max.share.sessions": "20000"}
REPEATED = False
ROWS = (
    Row("waiting_1_cpu", f"CPU at {RATE} records/s, 1 member that waits, % of a core", "{:.0f}"),
    Row(
        "waiting_cpu",
        f"CPU at {RATE} records/s, {MEMBERS} members of one group that wait, % of a core",
        "{:.0f}",
        Target("value", "<=", 35.0),
    ),
    Row(
        "waiting_p99_ms", "the same, a record's way to a member, 99 % within ms", "{:.1f}", Target("value", "<=", 10.0)
    ),
    Row(
        "idle_waiting_cpu",
        f"CPU with {IDLE:,} idle members that long-poll for 5 s, % of a core",
        "{:.0f}",
        Target("value", "<=", 10.0),
    ),
    Row(
        "many_partitions_ms",
        f"a record's way to a member with {PARTITIONS:,} partitions, median, ms",
        "{:.1f}",
        Target("value", "<=", 10.0),
    ),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    found: Sample = {}
    with stage.fresh(SETTINGS) as broker:
        broker.start()
        names = iter(range(100))

        def client(partitions: int, groups: int, **more: float) -> Sample:
            topic = f"waiting-{next(names)}"
            create_topic(broker.address, topic, partitions)
            joined = [f"{topic}-{at}" for at in range(groups)]
            read_from_start(broker.address, joined)
            arguments = {"topic": topic, "groups": joined, "partitions": partitions, "seconds": scale.idle_seconds}
            return run_client(broker, "waiting_members", arguments | more)

        found["waiting_1_cpu"] = client(1, 1, members=1, rate=RATE)["share_of_core"] * 100
        many = client(1, 1, members=MEMBERS, rate=RATE)
        found |= {"waiting_cpu": many["share_of_core"] * 100, "waiting_p99_ms": many["p99_ms"]}
        found["idle_waiting_cpu"] = (
            client(1, GROUPS, members=IDLE, max_wait_ms=5_000, settle_s=IDLE_SETTLE_S)["share_of_core"] * 100
        )
        found["many_partitions_ms"] = client(PARTITIONS, 1, members=1, rate=20, settle_s=20.0)["p50_ms"]
    return found
