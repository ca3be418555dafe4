"""Scenes that run every `shareq` command about a cluster, the same on our broker and on Apache Kafka.

Each scene uses names of its own and leaves nothing behind that affects another.
"""

from __future__ import annotations

import json
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer

from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.support.waiting import until

WAIT_S = 20.0


def topics(shell: Shell) -> None:
    assert shell.json("topics", "create", "t.a", "--partitions", "2", "--dry-run")[0]["done"] is False
    assert shell.json("topics", "create", "t.a", "t.b", "-p", "2", "--set", "retention.ms=100000000") == [
        {"topic": "t.a", "partitions": 2, "done": True},
        {"topic": "t.b", "partitions": 2, "done": True},
    ]
    until(lambda: len(shell.json("topics", "list", "t.*")) == 2)
    again = shell.run("topics", "create", "t.a")
    assert (again.code, again.out) == (1, "")
    assert again.err.startswith("shareq: topic t.a: TOPIC_ALREADY_EXISTS: ")
    assert shell.ok("topics", "create", "t.a", "--if-not-exists") == []
    assert [row["topic"] for row in shell.json("topics", "list", "t.?")] == ["t.a", "t.b"]
    assert shell.json("topics", "list", "t.a")[0]["partitions"] == 2
    shell.ok("topics", "alter", "t.a", "--partitions", "3", "--set", "retention.ms=50000000")
    until(lambda: len(shell.json("topics", "describe", "t.a")) == 3)
    shell.ok("produce", "t.a", "--partition", "0", stdin="one\ntwo\nthree\n")
    (first, *_) = shell.json("topics", "describe", "t.a")
    assert (first["start"], first["end"]) == (0, 3)
    assert len(first["in_sync"]) == 1
    assert [row["start"] for row in shell.json("topics", "trim", "t.a", "--before", "2", "--dry-run")] == [2, 0, 0]
    assert shell.json("topics", "trim", "t.a:0", "--before", "2", "--yes") == [
        {"topic": "t.a", "partition": 0, "start": 2, "done": True}
    ]
    refused = shell.run("topics", "delete", "t.a", "t.b")
    assert (refused.code, refused.out) == (5, "")
    assert "--yes" in refused.err
    assert [row["done"] for row in shell.json("topics", "delete", "t.a", "t.b", "--dry-run")] == [False, False]
    assert [row["done"] for row in shell.json("topics", "delete", "t.a", "t.b", "--yes")] == [True, True]
    until(lambda: not shell.json("topics", "list", "t.*"))
    missing = shell.run("topics", "describe", "t.a")
    assert (missing.code, missing.err.count("\n")) == (4, 1)
    assert missing.err.startswith("shareq: topic t.a: UNKNOWN_TOPIC_OR_PARTITION")


def migration(shell: Shell, bootstrap: str) -> None:
    """Move a topic from one of our brokers to this cluster, and on to another of our brokers."""
    with Broker() as first, Broker() as last:
        old, new = Shell(first.bootstrap), Shell(last.bootstrap)
        old.ok("topics", "create", "m.moved", "-p", "2", "--set", "retention.ms=500000000")
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            old.ok("produce", "m.moved", "-p", "1", "--value", codec, "--header", "a=b", "--compression", codec)
        old.ok("produce", "m.moved", "--key-separator", ":", stdin="".join(f"k{n}:v{n}\n" for n in range(500)))
        old.ok("topics", "trim", "m.moved:1", "--before", "3", "--yes")
        _moved(old, shell, first.bootstrap, bootstrap)
        _moved(shell, new, bootstrap, last.bootstrap)
        shell.ok("topics", "delete", "m.moved", "--yes")


def _moved(source: Shell, target: Shell, old: str, new: str) -> None:
    """Copy a topic in two runs, the second of which ends the migration, and check the copy."""
    words = ("migrate", old, new, "--topic", "m.*")
    assert {row["outcome"] for row in source.json(*words, "--dry-run")} <= {"planned", "left"}
    assert target.run("topics", "describe", "m.moved").code == 4
    target.json(*words)
    source.ok("produce", "m.moved", "-p", "0", "--value", "late")
    rows = [row for row in target.json(*words, "--cut-over") if row["kind"] == "records"]
    ranges = [(row["start"], row["end"]) for row in source.json("topics", "describe", "m.moved")]
    assert [(row["source_start"], row["source_end"], row["outcome"]) for row in rows] == [
        (start, end, "verified") for start, end in ranges
    ]
    there = target.json("topics", "describe", "m.moved")
    assert [(row["start"], row["end"]) for row in there] == [(0, end - start) for start, end in ranges]
    starts = [start for start, _ in ranges]
    read = source.json("consume", "m.moved")
    expected = [{**row, "offset": row["offset"] - starts[row["partition"]]} for row in read]
    place = itemgetter("partition", "offset")
    assert sorted(target.json("consume", "m.moved"), key=place) == sorted(expected, key=place)
    settings = {row["name"]: row["value"] for row in target.json("configs", "describe", "topic", "m.moved")}
    assert settings["retention.ms"] == "500000000"
    assert {row["outcome"] for row in target.json("migrate", old, new, "--topic", "m.*", "--verify-only")} == {
        "verified"
    }


def records(shell: Shell) -> None:
    """Write records with keys and headers in every codec, and read them back."""
    shell.ok("topics", "create", "r.a", "-p", "3")
    until(lambda: shell.run("topics", "describe", "r.a").code == 0)
    written = shell.json("produce", "r.a", "--key-separator", ":", stdin="a:apples\nb:pears\na:plums\n")
    places = {(row["partition"], row["offset"]) for row in written}
    assert len(places) == 3
    assert written[0]["partition"] == written[2]["partition"]
    read = shell.json("consume", "r.a")
    assert {(row["partition"], row["offset"]) for row in read} == places
    assert sorted((row["key"], row["value"]) for row in read) == [("a", "apples"), ("a", "plums"), ("b", "pears")]
    assert shell.ok("consume", "r.a", "--from", "latest") == []
    assert len(shell.ok("consume", "r.a", "--from", "-1h", "-n", "2")) == 2
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        shell.ok("produce", "r.a", "-p", "2", "--value", codec, "--header", "from=shell", "--compression", codec)
    shell.ok("produce", "r.a", "-p", "2", "--key", "gone", "--null")
    last = shell.json("tail", "r.a:2", "-n", "6")
    assert [row["value"] for row in last] == ["none", "gzip", "snappy", "lz4", "zstd", None]
    assert last[0]["headers"] == [{"name": "from", "value": "shell", "encoding": "utf-8"}]
    assert last[-1]["key"] == "gone"
    (line,) = shell.ok("tail", "r.a:2", "-n", "1")
    assert line.startswith("r.a-2:")
    assert line.split("\t")[2:] == ["gone", "-"]
    missing = shell.run("produce", "r.missing", "--value", "x")
    assert missing.code == 4
    assert missing.err.startswith("shareq: topic r.missing: UNKNOWN_TOPIC_OR_PARTITION: ")
    assert missing.err.endswith(" Make it with `shareq topics create r.missing`.\n")
    shell.ok("topics", "delete", "r.a", "--yes")


def committed(shell: Shell) -> None:
    shell.ok("topics", "create", "r.tx")
    producer = Producer(
        {"bootstrap.servers": shell.environment["SHAREQ_BOOTSTRAP_SERVERS"], "transactional.id": "r.tx"}
    )
    producer.init_transactions(WAIT_S)
    for value, commit in (("kept", True), ("dropped", False), ("kept too", True)):
        producer.begin_transaction()
        producer.produce("r.tx", value)
        producer.flush()
        (producer.commit_transaction if commit else producer.abort_transaction)(WAIT_S)
    values = [row["value"] for row in shell.json("consume", "r.tx", "--committed")]
    assert values == ["kept", "kept too"]
    assert len(shell.json("consume", "r.tx")) == 3
    shell.ok("topics", "delete", "r.tx", "--yes")


def share_records(shell: Shell) -> None:
    shell.ok("topics", "create", "sr.a", "--partitions", "2")
    shell.ok("produce", "sr.a", "-p", "0", "--key", "k", "--header", "from=shell", stdin='{"n": 1}\ntwo\nthree\nfour\n')
    shell.ok("configs", "alter", "group", "sr.g", "--set", "share.auto.offset.reset=earliest")
    for verdict in ("release", "accept", "reject"):
        shell.ok("share", "consume", "sr.g", "--topic", "sr.a", "-n", "1", "--then", verdict)
    shell.ok("share", "consume", "sr.g", "--topic", "sr.a", "-n", "1", "--then", "release")
    found = ("share", "records", "sr.g", "--topic", "sr.a:0")
    rows = until(lambda: [rows for rows in [shell.json(*found)] if rows[0]["first"] == 2])[0]
    assert [(row["first"], row["last"], row["state"], row["deliveries"], row["source"]) for row in rows] == [
        (2, 2, "unfinished", 1, "log"),
        (3, 3, "unfinished", None, "log"),
    ]
    assert {row["member"] for row in rows} == {None}
    assert [row["partition"] for row in shell.json("share", "records", "sr.g") if row["topic"] == "sr.a"] == [0, 0]
    shown = shell.json(*found, "--show", "key,value,headers", "--decode", "hex", "-n", "1")
    assert [(row["first"], row["last"], row["value"]) for row in shown] == [
        (2, 2, {"text": b"three".hex(), "encoding": "hex"})
    ]
    assert shown[0]["key"] == {"text": b"k".hex(), "encoding": "hex"}
    assert shown[0]["headers"] == [{"name": "from", "text": "shell", "encoding": "utf-8"}]
    said = shell.run(*found, "--state", "unfinished", "--show", "value")
    assert [line.split()[-1] for line in said.out.splitlines()] == ["VALUE", "three", "four"]
    assert "unfinished is available, or locked by a member" in said.err
    assert shell.ok(*found, "--state", "archived") == []
    assert shell.json(*found, "--from", "3")[0]["first"] == 3
    assert shell.run(*found, "--member", "unknown").code == 2
    assert shell.run("share", "records", "sr.nobody").code == 4
    assert shell.run("share", "records", "sr.g", "--topic", "sr.a:9").code == 4
    drawn = shell.ok("share", "describe", "sr.g", "--plot")
    assert "sr.g sr.a:0: offsets 2 to 2, 1 in flight" in drawn
    assert "  ? unfinished 1" in drawn
    assert "  and 1 offsets behind them, of which nothing is written down" in drawn
    assert shell.run("share", "describe", "sr.g", "--plot", "--json").code == 2
    groups = {row["group"]: row for row in shell.json("top", "--once", "--every", "0.1")[0]["groups"]}
    assert (groups["sr.g"]["lag"], groups["sr.g"]["in_flight"]) == (2, None)
    shell.ok("configs", "alter", "group", "sr.g", "--unset", "share.auto.offset.reset")
    shell.ok("share", "delete", "sr.g", "--yes")
    shell.ok("topics", "delete", "sr.a", "--yes")


def share_groups(shell: Shell) -> None:
    shell.ok("topics", "create", "s.a")
    shell.ok("produce", "s.a", stdin="one\ntwo\nthree\nfour\n")
    shell.ok("configs", "alter", "group", "s.g", "--set", "share.auto.offset.reset=earliest")
    taken = shell.json("share", "consume", "s.g", "--topic", "s.a", "-n", "2")
    assert [(row["record"]["value"], row["delivery"], row["outcome"]) for row in taken] == [
        ("one", 1, "accept"),
        ("two", 1, "accept"),
    ]
    released = shell.json("share", "consume", "s.g", "--topic", "s.a", "-n", "1", "--then", "release")
    assert [(row["record"]["value"], row["outcome"]) for row in released] == [("three", "release")]
    row = until(lambda: [each for each in shell.json("share", "offsets", "s.g") if each["lag"] == 2])[0]
    assert row == {"group": "s.g", "topic": "s.a", "partition": 0, "offset": 2, "end": 4, "lag": 2}
    assert {"group": "s.g", "kind": "share", "state": "Empty"} in shell.json("share", "list", "--state", "Empty")
    (described,) = shell.json("share", "describe", "s.g")
    assert (described["state"], described["members"], described["lag"]) == ("Empty", 0, 2)
    assert shell.json("share", "members", "s.g") == []
    assert shell.json("share", "lag", "s.g") == [{"group": "s.g", "partitions": 1, "lag": 2, "unknown": 0}]
    assert "s.g" in [each["group"] for each in shell.json("share", "lag")]
    assert [each["record"]["value"] for each in shell.json("share", "peek", "s.g")] == ["three", "four"]
    reset = ("share", "reset", "s.g", "--topic", "s.a", "--to")
    assert shell.json(*reset, "earliest", "--dry-run")[0] == {
        "group": "s.g",
        "topic": "s.a",
        "partition": 0,
        "before": 2,
        "offset": 0,
        "done": False,
    }
    assert shell.run(*reset, "earliest").code == 5
    assert shell.json(*reset, "1", "--yes")[0]["offset"] == 1
    assert shell.json("share", "offsets", "s.g")[0]["offset"] == 1
    assert shell.json("share", "reset", "s.g", "--all-topics", "--to", "-1h", "--yes")[0]["offset"] == 0
    assert shell.json(*reset, "latest", "--yes")[0]["offset"] == 4
    assert shell.json("share", "delete-offsets", "s.g", "s.a", "--yes") == [
        {"group": "s.g", "topic": "s.a", "done": True}
    ]
    assert shell.json("share", "delete", "s.g", "--dry-run") == [{"group": "s.g", "done": False}]
    assert shell.json("share", "delete", "s.g", "--yes") == [{"group": "s.g", "done": True}]
    gone = shell.run("share", "describe", "s.g")
    assert (gone.code, gone.out) == (4, "")
    shell.ok("configs", "alter", "group", "s.g", "--unset", "share.auto.offset.reset")
    shell.ok("topics", "delete", "s.a", "--yes")


def consumer_groups(shell: Shell) -> None:
    """Describe an active consumer group; once it is empty, reset its offsets and delete it."""
    shell.ok("topics", "create", "g.a")
    shell.ok("produce", "g.a", stdin="one\ntwo\nthree\n")
    bootstrap = shell.environment["SHAREQ_BOOTSTRAP_SERVERS"]
    settings = {"group.id": "g.g", "auto.offset.reset": "earliest", "enable.auto.commit": False, "client.id": "worker"}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    try:
        consumer.subscribe(["g.a"])
        message: Any = until(lambda: consumer.poll(0.5))
        assert message.error() is None
        consumer.commit(message=message, asynchronous=False)
        (member,) = shell.json("groups", "members", "g.g")
        assert (member["client"], member["assignment"]) == ("worker", {"g.a": [0]})
        for answer in ("--dry-run", "--yes"):
            busy = shell.run("groups", "delete", "g.g", answer)
            assert (busy.code, busy.out) == (1, "")
            assert "NON_EMPTY_GROUP" in busy.err
        planned = shell.run("groups", "reset", "g.g", "--topic", "g.a", "--to", "0", "--dry-run")
        assert (planned.code, planned.out, planned.err.count("\n")) == (1, "", 1)
        assert "NON_EMPTY_GROUP" in planned.err
        assert shell.run("groups", "reset", "g.g", "--topic", "g.a", "--to", "0", "--yes").code == 1
    finally:
        consumer.close()
    until(lambda: shell.json("groups", "describe", "g.g")[0]["state"] == "Empty")
    assert {"group": "g.g", "kind": "classic", "state": "Empty"} in shell.json("groups", "list")
    offsets = [{"group": "g.g", "topic": "g.a", "partition": 0, "offset": 1, "end": 3, "lag": 2}]
    assert shell.json("groups", "offsets", "g.g") == offsets
    assert shell.json("groups", "lag", "g.g") == [{"group": "g.g", "partitions": 1, "lag": 2, "unknown": 0}]
    assert shell.json("groups", "reset", "g.g", "--topic", "g.a:0", "--to", "2", "--yes")[0]["done"] is True
    assert shell.json("groups", "offsets", "g.g")[0]["offset"] == 2
    assert shell.json("groups", "delete-offsets", "g.g", "g.a", "--dry-run")[0]["done"] is False
    assert shell.json("groups", "delete-offsets", "g.g", "g.a", "--yes") == [
        {"group": "g.g", "topic": "g.a", "done": True}
    ]
    assert shell.json("groups", "offsets", "g.g") == []
    shell.ok("groups", "reset", "g.g", "--topic", "g.a", "--to", "latest", "--yes")
    assert shell.json("groups", "delete", "g.g", "--yes") == [{"group": "g.g", "done": True}]
    assert shell.run("groups", "describe", "g.g").code == 4
    shell.ok("topics", "delete", "g.a", "--yes")


def paused_groups(shell: Shell, known: bool) -> None:
    """Pause and resume groups; `known` is whether the broker supports pausing."""
    if not known:
        refused = shell.run("share", "pause", "z.a", "z.b")
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 2)
        assert "shareq.paused" in refused.err
        return
    shell.ok("topics", "create", "z.t")
    shell.ok("produce", "z.t", stdin="one\n")
    shell.ok("configs", "alter", "group", "z.a", "--set", "share.auto.offset.reset=earliest")
    assert shell.json("share", "pause", "z.a", "--dry-run") == [{"group": "z.a", "paused": True, "done": False}]
    begins = shell.run("share", "pause", "z.a", "z.b")
    assert begins.code == 0
    assert [line.split() for line in begins.lines[-2:]] == [["z.a", "yes", "yes"], ["z.b", "yes", "yes"]]
    assert begins.err.splitlines() == [
        "shareq: There is no share group z.a yet; it begins paused.",
        "shareq: There is no share group z.b yet; it begins paused.",
    ]
    take = ("share", "consume", "z.a", "--topic", "z.t", "-n", "1", "--idle", "0.5")
    assert shell.json(*take) == []
    assert shell.json("share", "describe", "z.a")[0]["paused"] is True
    assert shell.run("share", "pause", "z.a").err == ""
    assert shell.json("share", "resume", "z.a", "z.b", "--dry-run")[1] == {
        "group": "z.b",
        "paused": False,
        "done": False,
    }
    assert shell.json("share", "describe", "z.a")[0]["paused"] is True
    resumed = shell.json("share", "resume", "z.a", "z.b", "z.a")
    assert resumed == [{"group": each, "paused": False, "done": True} for each in ("z.a", "z.b")]
    assert shell.json("share", "describe", "z.a")[0]["paused"] is False
    assert [row["record"]["value"] for row in shell.json(*take)] == ["one"]
    mixed = shell.run("share", "pause", "", "z.b", "--json")
    assert (mixed.code, mixed.err.count("\n")) == (1, 2)
    assert shell.values(("share", "pause"), mixed.lines) == [{"group": "z.b", "paused": True, "done": True}]
    shell.ok("share", "resume", "z.b")
    shell.ok("configs", "alter", "group", "z.a", "--unset", "share.auto.offset.reset")
    shell.ok("share", "delete", "z.a", "--yes")
    shell.ok("topics", "delete", "z.t", "--yes")


def configs(shell: Shell) -> None:
    shell.ok("topics", "create", "c.a", "--set", "cleanup.policy=delete")
    shell.ok("configs", "alter", "topic", "c.a", "--set", "retention.ms=3600000", "--append", "cleanup.policy=compact")
    rows = {row["name"]: row["value"] for row in shell.json("configs", "describe", "topic", "c.a")}
    assert rows["retention.ms"] == "3600000"
    assert rows["cleanup.policy"] == "delete,compact"
    shell.ok("configs", "alter", "topic", "c.a", "--unset", "retention.ms", "--subtract", "cleanup.policy=compact")
    (row,) = shell.json("configs", "describe", "topic", "c.a", "--name", "retention.ms")
    assert row["source"] != "topic"
    assert len(shell.json("configs", "describe", "topic", "c.a", "--all")) > 20
    unknown = shell.run("configs", "describe", "topic", "c.a", "--name", "nonsense", "--json")
    assert (unknown.code, unknown.lines) == (4, ["[]"])
    assert "It has no property nonsense." in unknown.err
    wrong = ("configs", "alter", "group", "c.g", "--set", "share.auto.offset.reset=sometimes")
    for words in (wrong, (*wrong, "--dry-run")):
        refused = shell.run(*words)
        assert (refused.code, refused.err.count("\n")) == (1, 1)
        assert "INVALID_CONFIG" in refused.err
        assert refused.err.endswith(". Nothing was changed.\n")
    misspelt = shell.run("configs", "alter", "topic", "c.a", "--set", "retentoin.ms=1", "--unset", "messages")
    assert misspelt.code == 1
    assert misspelt.err.endswith("; did you mean retention.ms, flush.messages? Nothing was changed.\n")
    short = shell.run("configs", "alter", "group", "c.g", "--set", "lock.duration.ms=20000")
    assert "; did you mean share.record.lock.duration.ms?" in short.err
    assert shell.json(
        "configs", "alter", "group", "c.g", "--set", "share.record.lock.duration.ms=20000", "--dry-run"
    ) == [
        {
            "kind": "group",
            "resource": "c.g",
            "operation": "set",
            "name": "share.record.lock.duration.ms",
            "value": "20000",
            "done": False,
        }
    ]
    assert {"kind": "topic", "name": "c.a"} in shell.json("configs", "list", "topic")
    node = str(shell.json("cluster", "brokers")[0]["node"])
    assert shell.json("configs", "describe", "broker", node, "--name", "log.retention.hours")[0]["resource"] == node
    assert shell.run("configs", "describe", "broker", "4711").code == 1
    shell.ok("topics", "delete", "c.a", "--yes")


def access(shell: Shell, folder: Path) -> None:
    words = ("--principal", "User:packer", "--resource", "group", "--name", "packers")
    assert shell.json("acls", "create", *words, "--operation", "read", "--dry-run")[0]["done"] is False
    rule = {
        "resource": "group",
        "name": "packers",
        "pattern": "literal",
        "principal": "User:packer",
        "host": "*",
        "operation": "read",
        "permission": "allow",
        "done": True,
    }
    assert shell.json("acls", "create", *words, "--operation", "read") == [rule]
    until(lambda: shell.json("acls", "list", "--principal", "User:packer") == [rule])
    assert shell.json("acls", "delete", "--principal", "User:packer", "--dry-run")[0]["done"] is False
    assert shell.json("acls", "delete", "--principal", "User:packer", "--yes") == [rule]
    password = folder / "password"
    password.write_text("a secret\n")
    shell.ok("users", "set", "packer", "--password-file", str(password))
    shell.ok("users", "set", "packer", "--mechanism", "SCRAM-SHA-256", "--iterations", "4096", stdin="another\n")
    until(
        lambda: (
            shell.json("users", "list", "packer")
            == [
                {"user": "packer", "mechanism": "SCRAM-SHA-256", "iterations": 4096},
                {"user": "packer", "mechanism": "SCRAM-SHA-512", "iterations": 8192},
            ]
        )
    )
    assert len(shell.json("users", "delete", "packer", "--dry-run")) == 2
    assert len(shell.json("users", "delete", "packer", "--yes")) == 2
    until(lambda: shell.run("users", "list", "packer").code == 4)
    shell.ok("quotas", "alter", "--user", "packer", "--set", "producer_byte_rate=1048576", "--dry-run")
    assert shell.json("quotas", "list", "--user", "packer") == []
    shell.ok("quotas", "alter", "--user", "packer", "--set", "producer_byte_rate=1048576")
    row = {"entity": {"user": "packer"}, "limits": {"producer_byte_rate": 1048576.0}}
    until(lambda: shell.json("quotas", "list", "--user", "packer") == [row])
    shell.ok("quotas", "alter", "--user", "packer", "--unset", "producer_byte_rate")
    until(lambda: shell.json("quotas", "list") == [])


def is_level(shell: Shell, level: int) -> bool:
    return ["transaction.version", str(level)] in [line.split()[:2] for line in shell.ok("features", "list")]


def cluster(shell: Shell) -> None:
    found = shell.json("cluster", "describe")
    assert (found["brokers"], found["without_leader"]) == (1, 0)
    assert any(line.startswith("cluster ") for line in shell.ok("cluster", "describe"))
    (broker,) = shell.json("cluster", "brokers")
    assert f"{broker['host']}:{broker['port']}" == shell.environment["SHAREQ_BOOTSTRAP_SERVERS"]
    levels = {row["feature"]: row["level"] for row in shell.json("features", "list")}
    assert levels["share.version"] >= 1
    (change,) = shell.json("features", "set", "group.version=0", "--dry-run")
    assert change == {"feature": "group.version", "level": 0, "before": 1, "done": False}
    assert shell.run("features", "set", "share.version=99", "--yes").code == 1
    assert shell.run("features", "set", "group.version=0").code == 5
    level = levels["transaction.version"]
    for new, before in ((level - 1, level), (level, level - 1)):
        assert shell.json("features", "set", f"transaction.version={new}", "--yes") == [
            {"feature": "transaction.version", "level": new, "before": before, "done": True}
        ]
        until(partial(is_level, shell, new))
    schemas = json.loads("\n".join(shell.ok("json-schema")))
    assert schemas["topics list"]["type"] == "array"


def transactions(shell: Shell) -> None:
    shell.ok("topics", "create", "x.a")
    bootstrap = shell.environment["SHAREQ_BOOTSTRAP_SERVERS"]
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "x.t", "transaction.timeout.ms": 60000})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce("x.a", "half done")
    producer.flush(WAIT_S)
    (row,) = until(
        lambda: [
            each
            for each in shell.json("transactions", "list", "--state", "Ongoing")
            if each["transactional_id"] == "x.t"
        ]
    )
    assert shell.json("transactions", "list", "--open-for", "3000") == []
    (described,) = shell.json("transactions", "describe", "x.t")
    assert described["partitions"] == {"x.a": [0]}
    assert described["producer_id"] == row["producer_id"]
    assert described["open_ms"] is not None
    assert shell.run("transactions", "abort", "x.t").code == 5
    assert shell.json("transactions", "abort", "x.t", "--dry-run") == [
        {
            "transactional_id": "x.t",
            "topic": None,
            "partition": None,
            "producer_id": described["producer_id"],
            "producer_epoch": described["producer_epoch"],
            "done": False,
        }
    ]
    (place,) = shell.json("transactions", "abort", "--topic", "x.a:0", "--first-offset", "0", "--dry-run")
    assert (place["topic"], place["producer_id"], place["done"]) == ("x.a", described["producer_id"], False)
    assert shell.json("transactions", "describe", "x.t")[0]["state"] == "Ongoing"
    wrong = shell.run("transactions", "abort", "--topic", "x.a:0", "--first-offset", "7", "--yes")
    assert wrong.code == 1
    assert "first offsets of open ones: 0" in wrong.err
    assert shell.json("transactions", "abort", "x.t", "--yes")[0]["producer_epoch"] > described["producer_epoch"]
    until(lambda: shell.json("transactions", "describe", "x.t")[0]["started"] is None)
    assert shell.json("consume", "x.a", "--committed") == []
    assert shell.run("transactions", "abort", "x.nobody", "--yes").code == 4
    shell.ok("topics", "delete", "x.a", "--yes")


def dead_letters(shell: Shell, redrives: bool) -> None:
    """Show and drop dead letters; with `redrives`, which other brokers lack, also redrive them."""
    shell.ok("topics", "create", "d.a")
    shell.ok("topics", "create", "dlq.d", "--set", "errors.deadletterqueue.group.enable=true")
    shell.ok(
        *("configs", "alter", "group", "d.g", "--set", "share.auto.offset.reset=earliest"),
        *(
            "--set",
            "errors.deadletterqueue.topic.name=dlq.d",
            "--set",
            "errors.deadletterqueue.copy.record.enable=true",
        ),
    )
    shell.ok("produce", "d.a", stdin="bad\nworse\n")
    taken = shell.json("share", "consume", "d.g", "--topic", "d.a", "-n", "2", "--then", "reject")
    assert [row["outcome"] for row in taken] == ["reject", "reject"]
    letters = until(lambda: [rows for rows in [shell.json("dlq", "show", "dlq.d")] if len(rows) == 2])[0]
    assert [(row["source_topic"], row["source_offset"], row["group"]) for row in letters] == [
        ("d.a", 0, "d.g"),
        ("d.a", 1, "d.g"),
    ]
    assert letters[0]["record"]["value"] == "bad"
    assert letters[0]["reason"] == "Offset rejected by client."
    assert shell.json("dlq", "show", "dlq.d", "--group", "nobody") == []
    assert len(shell.json("dlq", "show", "dlq.d", "--source-topic", "d.a", "-n", "1")) == 1
    queue = {"queue": "dlq.d", "enabled": True, "groups": ["d.g"], "letters": 2}
    assert {**queue, "problem": None, "open": 2, "sent_back": 0} in shell.json("dlq", "list")
    assert shell.json("dlq", "redrive", "d.r", "dlq.d", "--dry-run")[0]["state"] == "PLANNED"
    if redrives:
        _redrive(shell)
    else:
        unknown = shell.run("dlq", "redrive", "d.r", "dlq.d", "--yes")
        assert (unknown.code, unknown.err.count("\n")) == (1, 1)
        assert "does not offer StartRedrive" in unknown.err
        assert shell.run("dlq", "redrives").code == 1
        assert shell.run("dlq", "cancel", "d.r", "--yes").code == 1
    assert shell.run("dlq", "drop", "d.a", "--before", "latest", "--yes").code == 2
    assert shell.json("dlq", "drop", "dlq.d", "--before", "1", "--dry-run")[0]["done"] is False
    assert shell.json("dlq", "drop", "dlq.d", "--before", "1", "--yes")[0]["start"] == 1
    assert [row["source_offset"] for row in shell.json("dlq", "show", "dlq.d")] == [1]
    for name in ("share.auto.offset.reset", "errors.deadletterqueue.topic.name"):
        shell.ok("configs", "alter", "group", "d.g", "--unset", name)
    shell.ok("share", "delete", "d.g", "--yes")
    shell.ok("topics", "delete", "d.a", "dlq.d", "--yes")


def _is_seen_as_sent_back(shell: Shell) -> None:
    """Check that the third record of d.a is shown as the redriven first letter."""
    said = {"queue": "dlq.d", "partition": 0, "offset": 0, "times": 1, "redrive": "d.r", "group": "d.g"}
    assert [row["sent_back"] for row in shell.json("consume", "d.a")] == [None, None, said]
    words = "sent back from dlq.d-0:0, 1st time"
    assert [line.endswith(f"\t{words}") for line in shell.ok("consume", "d.a")] == [False, False, True]
    assert [line.endswith(f"\trelease\t{words}") for line in _given_back(shell)] == [True]
    shown = until(lambda: shell.json("share", "records", "d.g", "--show", "value"))
    assert [(row["value"]["text"], row["sent_back"]) for row in shown if row["value"]] == [("bad", said)]
    table = shell.ok("share", "records", "d.g", "--show", "value")
    assert any("from dlq.d-0:0, 1st time" in line for line in table)


def _given_back(shell: Shell) -> list[str]:
    return shell.ok("share", "consume", "d.g", "--topic", "d.a", "-n", "1", "--then", "release")


def _redrive(shell: Shell) -> None:
    (done,) = shell.json("dlq", "redrive", "d.r", "dlq.d:0", "--offset", "0", "--yes", "--wait")
    assert (done["state"], done["counts"]["REDRIVEN"]) == ("DONE", 1)
    assert [row["value"] for row in shell.json("consume", "d.a")] == ["bad", "worse", "bad"]
    _is_seen_as_sent_back(shell)
    assert [row["redrive"] for row in shell.json("dlq", "redrives", "d.r")] == ["d.r"]
    (queue,) = [row for row in shell.json("dlq", "list") if row["queue"] == "dlq.d"]
    assert (queue["letters"], queue["open"], queue["sent_back"]) == (2, 1, 1)
    assert [row["sent_back"] for row in shell.json("dlq", "show", "dlq.d")] == [True, False]
    assert [row["source_offset"] for row in shell.json("dlq", "show", "dlq.d", "--open")] == [1]
    planned = shell.json("dlq", "redrive", "d.s", "dlq.d", "--dry-run")[0]
    assert planned["counts"] == {"ALREADY_SENT": 1, "MATCHING": 1}
    again = shell.run("dlq", "redrive", "d.r", "dlq.d", "--yes")
    assert (again.code, again.err.count("\n")) == (1, 1)
    shell.ok("dlq", "redrive", "d.slow", "dlq.d", "--per-second", "1", "--yes")
    assert shell.json("dlq", "cancel", "d.slow", "--yes")[0]["state"] in ("CANCELLED", "DONE")
