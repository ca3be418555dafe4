"""The whole internal topics: every kind of record that share groups write, read by both kinds of tools."""

from __future__ import annotations

from tests.interop.support.internal_topics import GROUPS, STATE, from_files, over_the_wire
from tests.interop.support.java_driver import JavaShareConsumer
from tests.interop.support.tool_session import Session

KINDS = ("ACCEPT", "RELEASE", "REJECT")


def _settle(consumer: JavaShareConsumer, records: int) -> None:
    """Accept, release and reject in turn; accept redeliveries. Each partition's records come at once."""
    finished = 0
    while finished < records:
        got = consumer.poll()
        kinds = ["ACCEPT" if one.delivery_count > 1 else KINDS[one.offset % 3] for one in got]
        consumer.acknowledge((one.partition, one.offset, kind) for one, kind in zip(got, kinds, strict=True))
        consumer.commit_sync()
        finished += sum(kind != "RELEASE" for kind in kinds)


def _both_topics(run: Session, differs: str | None = None) -> None:
    for topic in (STATE, GROUPS):
        over_the_wire(run, topic, differs)
        from_files(run, topic, differs)


def prepared_group(run: Session) -> None:
    """Alter the offsets of a group before it has members; then use two members and snapshots, and delete everything."""
    run.topic("orders", 2)
    run.produce("orders", ((number % 2, b"%d" % number) for number in range(12)))
    run.share_groups("--reset-offsets", "--group", "packers", "--topic", "orders", "--to-earliest", "--execute")
    with run.member("packers", "orders", "first") as first:
        _settle(first, 12)
        for _ in range(2):
            run.produce("orders", ((number % 2, b"%d" % number) for number in range(6)))
            _settle(first, 6)
    with run.member("packers", "orders", "second") as second:
        second.poll()
        run.until_members("packers", 2)
    run.share_groups("--reset-offsets", "--group", "packers", "--topic", "orders:0", "--to-latest", "--execute")
    _both_topics(run)
    run.share_groups("--delete-offsets", "--group", "packers", "--topic", "orders")
    run.share_groups("--reset-offsets", "--group", "packers", "--topic", "orders", "--to-latest", "--execute")
    run.share_groups("--delete", "--group", "packers")
    _both_topics(run)


def fresh_group(run: Session) -> None:
    run.topic("orders", 2)
    run.produce("orders", ((number % 2, b"%d" % number) for number in range(12)))
    run.read_from_start("packers")
    with run.member("packers", "orders", "first") as first:
        _settle(first, 12)
        run.run("kafka-topics.sh", "--alter", "--topic", "orders", "--partitions", "3")
        run.until_members("packers", 3)
    _both_topics(run, differs="records of a fresh group")
