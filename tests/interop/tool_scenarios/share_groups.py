from __future__ import annotations

from tests.interop.support.tool_session import Session
from tests.interop.support.transcript import in_any_order, masked
from tests.support.waiting import until

LISTS = (
    ("--list",),
    ("--list", "--state"),
    ("--list", "--state", "Empty"),
    ("--list", "--state", "stable"),
    ("--list", "--state", "Dead"),
    ("--list", "--state", "Empty,Stable"),
    ("--list", "--state", "Assigning"),
    ("--list", "--state", "Bogus"),
    ("--list", "--timeout", "20000"),
)
ACTIONS = ((), ("--offsets",), ("--members",), ("--state",))


def _states_in_any_order(lines: list[str]) -> list[str]:
    return in_any_order(masked(r"(?<=Valid states are: ).*", "<in the order of a set>")(lines))


def listing(run: Session) -> None:
    for arguments in LISTS[:3]:
        run.share_groups(*arguments)
    run.topic("orders")
    run.produce("orders", [(0, b"first")])
    run.read_from_start("packers", "drivers")
    run.finish("packers", "orders", 1)
    with run.member("drivers", "orders", "driver") as driver:
        until(lambda: bool(driver.poll()))
        for arguments in LISTS:
            run.share_groups(*arguments, view=_states_in_any_order)
    run.share_groups("--list", "--state", view=in_any_order)


def describing(run: Session) -> None:
    """Describe a group without members, one with two, a missing one, all."""
    run.topic("orders", 2)
    run.topic("returns")
    run.produce("orders", ((number % 2, b"%d" % number) for number in range(20)))
    run.read_from_start("packers")
    run.finish("packers", "orders", 20)
    run.produce("orders", ((0, b"%d" % number) for number in range(5)))
    run.share_groups("--reset-offsets", "--group", "packers", "--topic", "returns", "--to-latest", "--execute")
    for action in ACTIONS:
        for verbose in ((), ("--verbose",)):
            differs = "first assignment" if action == ("--state",) and verbose else None
            run.share_groups("--describe", "--group", "packers", *action, *verbose, differs=differs)
    run.share_groups("--describe", "--group", "packers", "--timeout", "20000")
    settings = run.file("admin.properties", "client.id=an-admin\n")
    run.share_groups("--describe", "--group", "packers", "--command-config", settings)
    for action in ACTIONS:
        run.share_groups("--describe", "--group", "nobody", *action)
    # Its share partitions are there before its members, so that the epochs do not depend on who is quicker.
    run.share_groups("--reset-offsets", "--group", "drivers", "--topic", "orders", "--to-latest", "--execute")
    with run.member("drivers", "orders", "driver") as one, run.member("drivers", "orders", "driver") as other:
        for member in (one, other):  # there is nothing for them; the heartbeats go on without further polls
            member.poll(100)
        until(lambda: run.partitions_of("drivers") == [1, 1])
        for action in ACTIONS:
            for verbose in ((), ("--verbose",)):
                run.share_groups("--describe", "--group", "drivers", *action, *verbose, view=in_any_order)
        for action in ACTIONS:
            run.share_groups("--describe", "--all-groups", *action, view=in_any_order)
    run.share_groups("--describe", "--group", "packers", "--group", "drivers", view=in_any_order)


DATES = (
    "2024-05-01T00:00:00.000",
    "2024-05-02T00:00:00.000Z",
    "2024-05-02T00:00:00.000+02:00",
    "2024-05-02T00:00:00.001",
    "2024-06-01T00:00:00.000",
    "yesterday",
)


def resetting(run: Session) -> None:
    """Reset offsets to every target, as a dry run and for real, of topics, partitions and all; try invalid resets."""
    run.topic("orders", 2, retention_ms="-1")
    run.topic("returns", retention_ms="-1")
    for day, time_ms in enumerate((1714521600000, 1714608000000, 1714694400000)):  # May 1st to 3rd, 2024, UTC
        run.produce("orders", ((p, b"day %d, %d" % (day, n)) for p in range(2) for n in range(5)), time_ms=time_ms)
    run.read_from_start("packers")
    run.finish("packers", "orders", 30)
    reset = ("--reset-offsets", "--group", "packers")
    for target in (("--to-earliest",), ("--to-latest",), *(("--to-datetime", date) for date in DATES)):
        run.share_groups(*reset, "--all-topics", *target, "--dry-run")
    run.share_groups("--describe", "--group", "packers")
    for topics in (
        ("orders:0",),
        ("orders:0,1",),
        ("orders",),
        ("returns",),
        ("orders", "returns"),
        ("orders:1", "returns:0"),
    ):
        names = [word for topic in topics for word in ("--topic", topic)]
        run.share_groups(*reset, *names, "--to-earliest", "--execute")
        run.share_groups("--describe", "--group", "packers")
    run.share_groups(*reset, "--all-topics", "--to-latest", "--execute")
    run.share_groups(*reset, "--topic", "orders", "--to-datetime", DATES[1], "--execute")
    run.share_groups("--describe", "--group", "packers", "--verbose")
    for topic in ("orders:7", "orders:x", "orders:0:1", "missing", "missing:0", "bad name", "orders:"):
        run.share_groups(*reset, "--topic", topic, "--to-earliest", "--execute")
    run.share_groups("--reset-offsets", "--group", "newborn", "--topic", "orders", "--to-latest", "--execute")
    run.share_groups("--describe", "--group", "newborn", "--verbose")
    run.share_groups("--describe", "--group", "newborn", "--state", "--verbose")
    run.share_groups("--reset-offsets", "--group", "newborn", "--all-topics", "--to-earliest", "--execute")
    for execute in ("--dry-run", "--execute"):
        run.share_groups("--reset-offsets", "--group", "nobody", "--all-topics", "--to-latest", execute)
    run.share_groups("--list")
    run.produce("orders", [(0, b"more")])
    with run.member("newborn", "orders", "first") as member:
        until(lambda: bool(member.poll()))
        for execute in ("--dry-run", "--execute"):
            run.share_groups("--reset-offsets", "--group", "newborn", "--all-topics", "--to-latest", execute)
    run.share_groups("--describe", "--group", "newborn")


def deleting_offsets(run: Session) -> None:
    run.topic("orders", 2)
    run.topic("returns")
    run.topic("untouched")
    run.produce("orders", ((number % 2, b"%d" % number) for number in range(4)))
    run.read_from_start("packers")
    run.finish("packers", "orders", 4)
    run.share_groups("--reset-offsets", "--group", "packers", "--topic", "returns", "--to-latest", "--execute")
    delete = ("--delete-offsets", "--group", "packers")
    run.share_groups(*delete, "--topic", "untouched", differs="own words")
    run.share_groups(*delete, "--topic", "missing", differs="own words")
    with run.member("packers", "orders", "first") as member:
        member.poll()
        until(lambda: run.partitions_of("packers") == [2])
        run.share_groups(*delete, "--topic", "orders", differs="own words")
    run.share_groups(*delete, "--topic", "orders")
    run.share_groups("--describe", "--group", "packers")
    run.share_groups(*delete, "--topic", "orders", differs="own words")
    run.share_groups(*delete, "--topic", "missing", "--topic", "returns", "--topic", "orders", differs="own words")
    run.share_groups("--describe", "--group", "packers")
    run.share_groups("--delete-offsets", "--group", "nobody", "--topic", "orders")
    run.share_groups("--delete-offsets", "--group", "", "--topic", "orders", differs="own words")
    run.share_groups("--list", "--state")


def deleting_groups(run: Session) -> None:
    run.topic("orders")
    run.produce("orders", [(0, b"first")])
    groups = ["one", "two", "three", "four", "live"]
    run.read_from_start(*groups)
    for group in groups[:4]:
        run.finish(group, "orders", 1)
    with run.member("live", "orders", "first") as member:
        until(lambda: bool(member.poll()))
        run.share_groups("--delete", "--group", "one")
        run.share_groups("--delete", "--group", "one")
        run.share_groups("--delete", "--group", "live")
        run.share_groups("--delete", "--group", "nobody")
        run.share_groups("--delete", "--group", "two", "--group", "live", "--group", "nobody", view=in_any_order)
        run.share_groups("--delete", "--group", "three", "--timeout", "20000")
        run.share_groups("--list", view=in_any_order)
        run.share_groups("--delete", "--all-groups")
        run.share_groups("--list", "--state")
    run.share_groups("--delete", "--all-groups")
    run.share_groups("--list", "--state")
    run.share_groups("--delete", "--all-groups")
    run.share_groups("--describe", "--group", "one")


def lasting(run: Session) -> None:
    """Show groups after their topics grew or were deleted, and after the broker was stopped or killed."""
    run.topic("orders", 2)
    run.topic("returns")
    for topic in ("orders", "returns"):
        run.produce(topic, ((0, b"%d" % number) for number in range(10)))
        reset = ("--reset-offsets", "--group", "packers", "--topic", topic, "--to-earliest", "--execute")
        run.share_groups(*reset)
    run.finish("packers", "orders", 10)
    describe = ("--describe", "--group", "packers")
    for kill in (False, True):
        run.broker.restart(kill=kill)
        # Describing waits until the group is loaded; Apache Kafka lists what it has so far.
        for arguments in (describe, (*describe, "--state", "--verbose"), ("--list", "--state")):
            run.share_groups(*arguments)
    run.run("kafka-topics.sh", "--alter", "--topic", "orders", "--partitions", "3")
    run.share_groups(*describe)
    run.run("kafka-topics.sh", "--delete", "--topic", "returns")
    run.share_groups(*describe)
    run.share_groups("--reset-offsets", "--group", "packers", "--all-topics", "--to-latest", "--dry-run")
    run.share_groups("--delete-offsets", "--group", "packers", "--topic", "returns", differs="own words")
    run.topic("returns")
    run.share_groups(*describe)
    run.share_groups("--delete", "--group", "packers")
    run.broker.restart(kill=True)
    run.share_groups(*describe)
    run.share_groups("--list")


WRONG = (
    (),
    ("--list", "--describe"),
    ("--list", "--members"),
    ("--list", "--group", "packers"),
    ("--describe",),
    ("--describe", "--group", "packers", "--members", "--state"),
    ("--describe", "--group", "packers", "--state", "Empty"),
    ("--describe", "--group", "packers", "--all-groups"),
    ("--describe", "--all-groups", "--topic", "orders"),
    ("--delete",),
    ("--delete", "--group", "packers", "--all-groups"),
    ("--delete", "--group", "packers", "--topic", "orders"),
    ("--delete-offsets", "--group", "packers"),
    ("--delete-offsets", "--topic", "orders"),
    ("--reset-offsets", "--group", "packers", "--all-topics", "--to-earliest"),
    ("--reset-offsets", "--group", "packers", "--all-topics", "--to-earliest", "--dry-run", "--execute"),
    ("--reset-offsets", "--group", "packers", "--all-topics", "--dry-run"),
    ("--reset-offsets", "--group", "packers", "--to-earliest", "--dry-run"),
    ("--reset-offsets", "--all-topics", "--to-earliest", "--dry-run"),
    ("--reset-offsets", "--group", "packers", "--all-topics", "--to-earliest", "--to-latest", "--dry-run"),
    ("--no-such-option",),
    ("--version",),
)


def wrong_arguments(run: Session) -> None:
    for arguments in WRONG:
        run.share_groups(*arguments)
