from __future__ import annotations

from tests.interop.support.tool_session import Session
from tests.interop.support.transcript import in_any_order
from tests.support.waiting import until

FILTERS = (
    (),
    ("--share",),
    ("--consumer",),
    ("--streams",),
    ("--group-type", "share"),
    ("--group-type", "Share"),
    ("--group-type", "classic"),
    ("--group-type", "consumer"),
    ("--protocol", "share"),
    ("--protocol", "consumer"),
    ("--group-type", "share", "--protocol", "share"),
    ("--group-type", "share", "--protocol", "consumer"),
    ("--group-type", "bogus"),
    ("--share", "--consumer"),
)


def filters(run: Session) -> None:
    run.run("kafka-groups.sh", "--list")
    run.topic("orders")
    run.produce("orders", [(0, b"first")])
    run.read_from_start("packers", "drivers")
    run.finish("packers", "orders", 1)
    with run.member("drivers", "orders", "driver") as driver:
        until(lambda: bool(driver.poll()))
        for arguments in FILTERS:
            run.run("kafka-groups.sh", "--list", *arguments, view=in_any_order)
    settings = run.file("admin.properties", "client.id=an-admin\n")
    run.run("kafka-groups.sh", "--list", "--command-config", settings, view=in_any_order)
    run.run("kafka-groups.sh")
