"""kafka-consumer-groups.sh on groups without members: show, move and delete their committed offsets (KIP-88)."""

from __future__ import annotations

from confluent_kafka import Consumer

from devtools.clients.admin import QUIET
from devtools.clients.offsets_client import At, OffsetsClient, Row
from devtools.clients.wire import WireClient
from shareq.coordinator.routing import group_partition_for
from shareq.protocol.errors import ErrorCode
from tests.interop.support.internal_topics import GROUPS, from_files
from tests.interop.support.tool_session import Session
from tests.interop.support.transcript import in_any_order, masked
from tests.support.waiting import until

TOOL = "kafka-consumer-groups.sh"
RESET = ("--reset-offsets", "--group", "readers")


def one_a_line(lines: list[str]) -> list[str]:
    """Split the formatter's JSON objects, which have no separator, into lines, by partition."""
    return sorted(line for all_of_them in lines for line in all_of_them.replace("}{", "}\n{").splitlines())


def committed(run: Session, offsets: dict[At, int | Row], group: str) -> None:
    with WireClient(("127.0.0.1", run.broker.port)) as client:
        run.unrecorded(TOOL, "--describe", "--group", group)  # has the coordinator found
        until(lambda: set(OffsetsClient(client, {}).commit(offsets, group=group).values()) == {ErrorCode.NONE})


def prepared(run: Session) -> None:
    """Create topics orders (two partitions, 3 and 1 records) and bills (one record); groups readers and auditors."""
    run.topic("orders", 2)
    run.topic("bills")
    run.produce("orders", [(0, b"a"), (0, b"b"), (0, b"c"), (1, b"d")], time_ms=1_700_000_000_000)
    run.produce("bills", [(0, b"e")])
    committed(run, {("orders", 0): 1, ("orders", 1): Row(1, metadata="note"), ("bills", 0): 0}, "readers")
    committed(run, {("bills", 0): 1}, "auditors")


def describing(run: Session) -> None:
    run.run(TOOL, "--describe", "--group", "readers")
    run.run(TOOL, "--describe", "--all-groups")
    prepared(run)
    run.run(TOOL, "--list", view=in_any_order)
    run.run(TOOL, "--list", "--state", view=in_any_order)
    run.run(TOOL, "--list", "--type", view=in_any_order)
    run.run(TOOL, "--list", "--state", "stable")
    for group in ("readers", "nobody"):
        run.run(TOOL, "--describe", "--group", group, view=in_any_order)
        run.run(TOOL, "--describe", "--group", group, "--offsets", view=in_any_order)
        run.run(TOOL, "--describe", "--group", group, "--offsets", "--verbose", view=in_any_order)
        run.run(TOOL, "--describe", "--group", group, "--members")
        run.run(TOOL, "--describe", "--group", group, "--members", "--verbose")
        run.run(TOOL, "--describe", "--group", group, "--state")
    run.run(TOOL, "--describe", "--all-groups", view=in_any_order)
    run.run(TOOL, "--describe", "--all-groups", "--members", view=in_any_order)
    run.run(TOOL, "--describe", "--all-groups", "--state", view=in_any_order)
    run.run("kafka-groups.sh", "--list", view=in_any_order)


def after_a_consumer(run: Session) -> None:
    prepared(run)
    arguments = ("--topic", "orders", "--group", "group1", "--from-beginning", "--max-messages", "4")
    read = run.unrecorded("kafka-console-consumer.sh", *arguments, "--timeout-ms", "20000")
    assert "Processed a total of 4 messages" in read.err, read
    run.run(TOOL, "--describe", "--group", "group1", view=in_any_order)
    run.run(TOOL, "--describe", "--group", "group1", "--state")
    run.run(TOOL, "--list", "--state", view=in_any_order)
    run.run(TOOL, "--list", "--type", view=in_any_order)
    run.run("kafka-groups.sh", "--list", view=in_any_order)
    run.run(TOOL, "--delete", "--group", "group1")
    run.run(TOOL, "--describe", "--group", "group1")


def beside_a_member(run: Session) -> None:
    prepared(run)
    settings = {"bootstrap.servers": run.broker.bootstrap, "group.id": "readers", "client.id": "reader", **QUIET}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    try:
        consumer.subscribe(["bills"])
        until(lambda: bool(consumer.poll(0.1) or consumer.assignment()))
        until(lambda: "Stable" in run.unrecorded(TOOL, "--describe", "--group", "readers", "--state").out)
        member = masked(r"reader-[0-9a-f-]{36}", "<member>")
        run.run(TOOL, "--describe", "--group", "readers", view=lambda lines: in_any_order(member(lines)))
        run.run(TOOL, "--list", "--state", view=in_any_order)
        run.run(TOOL, "--reset-offsets", "--group", "readers", "--to-earliest", "--all-topics", "--execute")
        delete = ("--delete-offsets", "--group", "readers")
        run.run(TOOL, *delete, "--topic", "orders", "--topic", "bills", view=in_any_order)
        run.run(TOOL, "--delete", "--group", "readers")
    finally:
        consumer.close()


def on_disk(run: Session) -> None:
    prepared(run)
    run.run(TOOL, "--delete-offsets", "--group", "readers", "--topic", "orders:1")
    run.run(TOOL, "--delete", "--group", "auditors")
    from_files(run, GROUPS)
    formatter = ("--formatter", "org.apache.kafka.tools.consumer.OffsetsMessageFormatter")
    place = ("--partition", str(group_partition_for("readers", 4)), "--offset", "earliest", "--max-messages", "4")
    run.run("kafka-console-consumer.sh", "--topic", GROUPS, *formatter, *place, view=one_a_line)


def resetting(run: Session) -> None:
    prepared(run)
    plan = run.file("plan.csv", '"orders",0,2\n"bills",0,1\n')
    for arguments in (
        ("--to-earliest", "--all-topics", "--dry-run"),
        ("--to-latest", "--topic", "orders"),
        ("--to-latest", "--topic", "orders:1", "--execute"),
        ("--to-offset", "2", "--topic", "orders:0", "--execute"),
        ("--shift-by", "-1", "--topic", "orders:0,1", "--execute"),
        ("--shift-by", "100", "--topic", "orders:0", "--execute"),
        ("--to-current", "--all-topics"),
        ("--to-datetime", "2023-11-14T00:00:00.000", "--topic", "orders", "--execute"),
        ("--by-duration", "PT1H", "--topic", "orders", "--execute"),
        ("--to-current", "--all-topics", "--export"),
        ("--from-file", plan, "--execute"),
        ("--to-earliest", "--topic", "nowhere", "--execute"),
        ("--to-earliest", "--topic", "orders:7", "--execute"),
    ):
        run.run(TOOL, *RESET, *arguments, view=in_any_order)
    run.run(TOOL, "--describe", "--group", "readers", view=in_any_order)
    run.run(
        TOOL,
        "--reset-offsets",
        "--group",
        "newcomers",
        "--to-earliest",
        "--topic",
        "orders",
        "--execute",
        view=in_any_order,
    )
    run.run(TOOL, "--describe", "--group", "newcomers", view=in_any_order)
    run.run(TOOL, "--reset-offsets", "--all-groups", "--to-latest", "--topic", "bills", "--execute", view=in_any_order)
    run.run(TOOL, "--describe", "--all-groups", "--offsets", view=in_any_order)


def deleting(run: Session) -> None:
    run.run(TOOL, "--delete-offsets", "--group", "readers", "--topic", "orders")
    run.run(TOOL, "--delete", "--group", "readers")
    prepared(run)
    delete = ("--delete-offsets", "--group", "readers")
    run.run(TOOL, *delete, "--topic", "orders:1", view=in_any_order)
    run.run(TOOL, *delete, "--topic", "orders:1", view=in_any_order)
    run.run(TOOL, *delete, "--topic", "orders:9", view=in_any_order)
    run.run(TOOL, *delete, "--topic", "nowhere", view=in_any_order)
    run.run(TOOL, "--describe", "--group", "readers", view=in_any_order)
    run.run(TOOL, *delete, "--topic", "orders", "--topic", "bills", view=in_any_order)
    run.run(TOOL, "--describe", "--group", "readers")
    run.run(TOOL, "--describe", "--group", "readers", "--state")
    run.run(TOOL, "--delete", "--group", "readers", "--group", "nobody", view=in_any_order)
    run.run(TOOL, "--list")
    run.run(TOOL, "--delete", "--all-groups")
    run.run(TOOL, "--list")
