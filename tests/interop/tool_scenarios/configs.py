"""kafka-configs.sh on groups, on the share properties of brokers and on the share coordinator's topic."""

from __future__ import annotations

import re

from tests.interop.support.tool_session import Session
from tests.interop.support.transcript import only

PACKERS = ("--entity-type", "groups", "--entity-name", "packers")
STATE_TOPIC = ("--entity-type", "topics", "--entity-name", "__share_group_state")

GOOD = (
    "share.auto.offset.reset=earliest",
    "share.auto.offset.reset=by_duration:PT1H",
    "share.isolation.level=read_committed",
    "share.record.lock.duration.ms=20000",
    "share.delivery.count.limit=7",
    "share.partition.max.record.locks=500",
    "share.renew.acknowledge.enable=false",
    "share.heartbeat.interval.ms=6000",
    "share.session.timeout.ms=50000",
    "share.assignment.interval.ms=2000",
    "share.delivery.count.limit=8,share.record.lock.duration.ms=25000",
    "share.auto.offset.reset=[latest]",
)
BAD = (
    "share.auto.offset.reset=sometime",
    "share.auto.offset.reset=by_duration:-PT1H",
    "share.isolation.level=committed",
    "share.record.lock.duration.ms=1",
    "share.record.lock.duration.ms=999999999",
    "share.record.lock.duration.ms=abc",
    "share.delivery.count.limit=1",
    "share.delivery.count.limit=26",
    "share.partition.max.record.locks=1",
    "share.partition.max.record.locks=100000",
    "share.renew.acknowledge.enable=maybe",
    "share.heartbeat.interval.ms=0",
    "share.heartbeat.interval.ms=1",
    "share.heartbeat.interval.ms=99999",
    "share.session.timeout.ms=1",
    "share.session.timeout.ms=6000000",
    "share.assignment.interval.ms=-1",
    "share.assignment.interval.ms=99999999",
)
UNKNOWN = ("share.no.such=1", "retention.ms=1", "share.delivery.count.limit=9,share.no.such=1")
RENAMED = ("group.share.auto.offset.reset=earliest", "group.share.isolation.level=read_committed")


def of_groups(run: Session) -> None:
    """Set every property of share groups to good and bad values, and unknown names; describe and delete them."""
    run.configs("--describe", *PACKERS)
    run.configs("--describe", "--entity-type", "groups")
    run.configs("--describe", *PACKERS, "--all", differs="no streams groups")
    for config in GOOD:
        run.configs("--alter", *PACKERS, "--add-config", config)
    for config in BAD:
        run.configs("--alter", *PACKERS, "--add-config", config, differs="own words")
    for config in UNKNOWN:
        run.configs("--alter", *PACKERS, "--add-config", config)
    for config in RENAMED:
        run.configs("--alter", *PACKERS, "--add-config", config, differs="own words")
    run.configs("--alter", *PACKERS, "--add-config", "share.delivery.count.limit")
    run.configs("--describe", *PACKERS)
    run.configs("--describe", "--group", "packers")
    run.configs("--describe", "--entity-type", "groups")
    run.configs("--describe", *PACKERS, "--all", differs="no streams groups")
    run.configs("--alter", *PACKERS, "--delete-config", "share.isolation.level,share.assignment.interval.ms")
    run.configs("--alter", *PACKERS, "--delete-config", "share.isolation.level")
    run.configs("--alter", *PACKERS, "--delete-config", "share.no.such")
    both = ("--delete-config", "share.delivery.count.limit", "--add-config", "share.record.lock.duration.ms=26000")
    run.configs("--alter", "--group", "packers", *both)
    properties = run.file("group.properties", "share.delivery.count.limit=6\nshare.session.timeout.ms=51000\n")
    run.configs("--alter", *PACKERS, "--add-config-file", properties)
    settings = run.file("admin.properties", "client.id=an-admin\n")
    run.configs("--describe", *PACKERS, "--command-config", settings)
    for arguments in (("--alter", "--add-config", "share.delivery.count.limit=7"), ("--describe",)):
        run.configs(*arguments, "--entity-type", "groups", "--entity-default")
    run.configs("--alter", "--entity-type", "groups", "--add-config", "share.delivery.count.limit=7")
    run.configs("--alter", "--entity-type", "groups", "--entity-name", "", "--add-config", "share.isolation.level=x")
    # A member makes it a group; its properties outlive it.
    run.topic("orders")
    run.produce("orders", [(0, b"first")])
    run.read_from_start("packers")
    run.finish("packers", "orders", 1)
    run.share_groups("--delete", "--group", "packers")
    run.configs("--describe", *PACKERS)


DYNAMIC = "group.share.assignment.interval.ms,share.coordinator.cached.buffer.max.bytes"


def of_brokers(run: Session) -> None:
    one, all_of_them = (
        ("--entity-type", "brokers", "--entity-name", "1"),
        ("--entity-type", "brokers", "--entity-default"),
    )
    run.configs("--describe", *one)
    run.configs("--describe", *all_of_them, differs="no eligible leader replicas")
    run.configs("--describe", *one, "--all", view=only(r"^  (group\.share|share)\."), differs="broker properties")
    for broker in (one, all_of_them):
        run.configs("--alter", *broker, "--add-config", "group.share.assignment.interval.ms=3000")
        run.configs("--alter", *broker, "--add-config", "share.coordinator.cached.buffer.max.bytes=600000")
        for config in (
            "group.share.assignment.interval.ms=-5",
            "share.coordinator.cached.buffer.max.bytes=1",
            "group.share.delivery.count.limit=6",
        ):
            run.configs("--alter", *broker, "--add-config", config, differs="own words")
    run.configs("--alter", *one, "--add-config", "group.share.assignment.interval.ms=99999", differs="own words")
    run.configs("--describe", *one)
    run.configs("--describe", *all_of_them, differs="no eligible leader replicas")
    run.configs("--describe", "--entity-type", "brokers", differs="no eligible leader replicas")
    run.configs("--describe", *PACKERS, "--all", view=only(r"share\.assignment"))
    for broker in (one, all_of_them):
        run.configs("--alter", *broker, "--delete-config", DYNAMIC)
    run.configs("--describe", *one)
    run.configs("--describe", *all_of_them, differs="no eligible leader replicas")
    run.configs("--describe", "--entity-type", "brokers", "--entity-name", "7")
    for broker in (one, all_of_them):
        config = "group.share.no.such=1"
        run.configs("--alter", *broker, "--add-config", config, differs="unknown broker properties")


def _configs_sorted(lines: list[str]) -> list[str]:
    def in_order(found: re.Match[str]) -> str:
        return "Configs: " + ",".join(sorted(found[1].split(",")))

    return [re.sub(r"Configs: (\S+)", in_order, line) for line in lines]


def of_the_state_topic(run: Session) -> None:
    run.configs("--describe", *STATE_TOPIC)
    run.configs("--alter", *STATE_TOPIC, "--add-config", "segment.bytes=2000000")
    run.topic("orders")
    run.produce("orders", [(0, b"first")])
    run.read_from_start("packers")
    run.finish("packers", "orders", 1)
    run.configs("--describe", *STATE_TOPIC, differs="state topic")
    run.configs("--describe", *STATE_TOPIC, "--all", differs="state topic")
    run.configs("--alter", *STATE_TOPIC, "--add-config", "segment.bytes=2000000")
    run.configs("--describe", *STATE_TOPIC, differs="state topic")
    run.configs("--alter", *STATE_TOPIC, "--add-config", "cleanup.policy=delete", differs="policy of the state topic")
    run.configs("--describe", "--entity-type", "topics", "--entity-name", "__consumer_offsets")
    describe = ("kafka-topics.sh", "--describe", "--topic")
    run.run(*describe, "__share_group_state", view=_configs_sorted, differs="state topic")
    run.run(*describe, "__consumer_offsets", view=_configs_sorted, differs="no eligible leader replicas")
    run.run("kafka-topics.sh", "--list")
    run.run("kafka-topics.sh", "--list", "--exclude-internal")
    run.run("kafka-get-offsets.sh", "--topic", "orders")
    run.run("kafka-get-offsets.sh", "--topic", "orders", "--time", "earliest")
    run.run("kafka-get-offsets.sh", "--topic-partitions", "orders:0", "--time", "max-timestamp")
    run.run("kafka-get-offsets.sh", "--topic", "missing")
