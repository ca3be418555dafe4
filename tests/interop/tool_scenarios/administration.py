"""The tools that administer the cluster: deleted records, folders, the quorum, elections, reassignments."""

from __future__ import annotations

import json
import re

from tests.interop.support.tool_session import Session
from tests.interop.support.transcript import in_any_order, only


def _file(run: Session, name: str, **content: object) -> str:
    return run.file(name, json.dumps({**content, "version": 1}))


def _offsets(run: Session, *rows: tuple[str, int, int]) -> str:
    partitions = [{"topic": topic, "partition": partition, "offset": offset} for topic, partition, offset in rows]
    return _file(run, "offsets.json", partitions=partitions)


def _rows_sorted(lines: list[str]) -> list[str]:
    """Sort the rows after two text lines by partition: Java prints them in hash order."""
    return lines[:2] + sorted(lines[2:])


def deleting_records(run: Session) -> None:
    """Run kafka-delete-records.sh, and show the result by kafka-get-offsets.sh and a share group."""
    run.topic("orders", 2)
    run.topic("latest", cleanup_policy="compact")
    run.topic("both", cleanup_policy="compact,delete")
    run.produce("orders", ((number % 2, b"%d" % number) for number in range(20)))
    for topic in ("latest", "both"):
        run.produce(topic, [(0, b"first"), (0, b"second")])
    run.read_from_start("packers")

    def delete(*rows: tuple[str, int, int], differs: str | None = None) -> None:
        arguments = ("--offset-json-file", _offsets(run, *rows))
        run.run("kafka-delete-records.sh", *arguments, view=_rows_sorted, differs=differs)
        for time in ("earliest", "latest"):
            run.run("kafka-get-offsets.sh", "--topic", "orders", "--time", time)

    delete(("orders", 0, 4), ("orders", 1, 0))
    delete(("orders", 0, 2), ("orders", 1, 7))
    delete(("orders", 0, 11))
    delete(("orders", 0, -2))
    delete(("latest", 0, 1), ("both", 0, 1))
    run.run("kafka-get-offsets.sh", "--topic-partitions", "both:0,latest:0", "--time", "earliest")
    run.finish("packers", "orders", 9)
    run.share_groups("--describe", "--group", "packers")
    delete(("orders", 0, -1), ("orders", 1, -1))
    run.produce("orders", [(0, b"next")])
    run.finish("packers", "orders", 1)
    run.share_groups("--describe", "--group", "packers")
    run.run("kafka-get-offsets.sh", "--topic", "orders", "--time", "earliest")
    run.run("kafka-delete-records.sh", "--offset-json-file", run.file("bad.json", "{}"))
    run.run("kafka-delete-records.sh")


def _quorum(lines: list[str]) -> list[str]:
    """Mask the values of Apache Kafka's own controller: offsets, epochs, times, listener."""
    lines = [re.sub(r"^((?:LeaderEpoch|HighWatermark): +)\d+", r"\1N", line) for line in lines]
    lines = [re.sub(r'"endpoints": \[.*?\]', '"endpoints": [...]', line) for line in lines]
    lines = [re.sub(r"^(MaxFollowerLagTimeMs: +)\d+", r"\1N", line) for line in lines]
    return [
        re.sub(r"^(\d+\s+\S+)\s+\d+\s+(0)\s+\S+( ms ago)?\s+\S+( ms ago)?\s+", r"\1 N \2 T T ", line) for line in lines
    ]


def _folders(lines: list[str]) -> list[str]:
    return [_partitions_sorted(line) if line.startswith("{") else line for line in lines]


def _partitions_sorted(line: str) -> str:
    reported = json.loads(line)
    for broker in reported["brokers"]:
        for folder in broker["logDirs"]:
            folder["partitions"].sort(key=lambda row: row["partition"])
    return json.dumps(reported, sort_keys=True)


def cluster(run: Session) -> None:
    """Show log folders, the quorum, elections and reassignments on one broker."""
    run.topic("orders", 2)
    run.topic("wide", 3)
    run.produce("orders", ((number % 2, b"%d" % number) for number in range(20)))
    run.run("kafka-log-dirs.sh", "--describe", view=_folders)
    run.run("kafka-log-dirs.sh", "--describe", "--topic-list", "orders", "--broker-list", "1", view=_folders)
    run.run("kafka-log-dirs.sh", "--describe", "--topic-list", "missing", view=_folders)
    run.run("kafka-log-dirs.sh", "--describe", "--broker-list", "7", view=_folders)
    run.run("kafka-metadata-quorum.sh", "describe", "--status", view=_quorum)
    run.run("kafka-metadata-quorum.sh", "describe", "--replication", view=_quorum)
    run.run("kafka-metadata-quorum.sh", "describe", "--replication", "--human-readable", view=_quorum)
    for kind in ("preferred", "unclean"):
        elect = ("kafka-leader-election.sh", "--election-type", kind)
        run.run(*elect, "--topic", "orders", "--partition", "0")
        run.run(*elect, "--topic", "orders", "--partition", "5", differs="own words")
        run.run(*elect, "--topic", "missing", "--partition", "0", differs="own words")
        run.run(*elect, "--all-topic-partitions")

    def reassignment(*rows: tuple[str, int, list[int]]) -> str:
        partitions = [{"topic": topic, "partition": number, "replicas": replicas} for topic, number, replicas in rows]
        return _file(run, "reassignment.json", partitions=partitions)

    reassign = "kafka-reassign-partitions.sh"
    run.run(reassign, "--list")
    here = reassignment(("orders", 0, [1]), ("orders", 1, [1]))
    run.run(reassign, "--reassignment-json-file", here, "--execute")
    run.run(reassign, "--reassignment-json-file", here, "--verify")
    run.run(reassign, "--reassignment-json-file", here, "--cancel")
    run.run(reassign, "--reassignment-json-file", reassignment(("orders", 0, [2])), "--execute", view=only("^Error"))
    run.run(reassign, "--list")
    topics = run.file("topics.json", json.dumps({"topics": [{"topic": "wide"}], "version": 1}))
    run.run(reassign, "--topics-to-move-json-file", topics, "--broker-list", "1", "--generate")
    for state in ("--under-replicated-partitions", "--unavailable-partitions", "--at-min-isr-partitions"):
        run.run("kafka-topics.sh", "--describe", state, view=in_any_order)
