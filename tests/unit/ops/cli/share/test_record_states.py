"""`shareq share records` and `share describe --plot` with the records API: member, time and content."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime

import pytest

from shareq.client.share.range_consumer import AckRange, ShareRangeConsumer
from shareq.ops.cli.shared.profile import client_config
from shareq.ops.state_colours import LOOKS
from shareq.protocol.share import AcknowledgeType
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell

TOKEN = "states-operator-0123456789"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    config = {"shareq.records.api.listen": "127.0.0.1:0", "shareq.records.api.token": TOKEN}
    with Broker(config=config) as broker:
        yield broker


@pytest.fixture(scope="module")
def shell(broker: Broker) -> Iterator[Shell]:
    """Create group packers (a member has offsets 0 and 2 of ten and released 1), and sorters with order by key."""
    shell = Shell(broker.bootstrap, SHAREQ_API_URL=str(broker.records_api_url), SHAREQ_API_TOKEN=TOKEN)
    shell.ok("topics", "create", "orders", "ordered")
    lines = "".join(f'{{"n": {number}}}\n' for number in range(10))
    shell.ok("produce", "orders", "--key", "k", stdin=lines)
    shell.ok("produce", "ordered", "--key-separator", ":", stdin="a:1\nb:2\na:3\n")
    for group in ("packers", "sorters"):
        shell.ok("configs", "alter", "group", group, "--set", "share.auto.offset.reset=earliest")
    shell.ok("configs", "alter", "group", "sorters", "--set", "shareq.order=key")
    config = client_config(broker.bootstrap, None, None, ("client.id=packer-7",), 10, {})
    with (
        ShareRangeConsumer(config, "packers", ["orders"]) as packer,
        ShareRangeConsumer(config, "sorters", ["ordered"]) as sorter,
    ):
        (held,) = packer.poll(max_records=3, max_wait_ms=20_000, strict=True)
        assert (held.first, held.last) == (0, 2)
        packer.acknowledge([AckRange(held.topic_id, 0, 1, 1)], AcknowledgeType.RELEASE)
        assert sorter.poll(max_records=3, max_wait_ms=20_000, strict=True)
        yield shell


def test_who_has_what_since_when(shell: Shell) -> None:
    rows = shell.json("share", "records", "packers")
    assert [(row["first"], row["last"], row["state"], row["deliveries"]) for row in rows] == [
        (0, 0, "acquired", 1),
        (1, 1, "available", 1),
        (2, 2, "acquired", 1),
        (3, 9, "available", 0),
    ]
    held = rows[0]
    assert (held["client"], held["host"], held["source"]) == ("packer-7", "127.0.0.1", "api")
    since, until = (datetime.fromisoformat(held[name]) for name in ("since", "until"))
    assert (until - since).total_seconds() == 30
    assert held["held_ms"] + held["left_ms"] == 30_000
    assert rows[1]["member"] is None


def test_only_what_a_member_has_and_only_so_many(shell: Shell) -> None:
    member = shell.json("share", "records", "packers", "--state", "acquired", "-n", "1")[0]["member"]
    assert [row["first"] for row in shell.json("share", "records", "packers", "--member", member)] == [0, 2]
    assert [row["first"] for row in shell.json("share", "records", "packers", "--from", "2", "-n", "1")] == [2]
    assert shell.ok("share", "records", "packers", "--member", "nobody") == []


def test_the_records_themselves(shell: Shell) -> None:
    words = ("share", "records", "packers", "--show", "value,key", "--decode", "json")
    rows = shell.json(*words, "-n", "4")
    assert [(row["first"], row["state"], row["value"]["text"]) for row in rows] == [
        (0, "acquired", '{"n": 0}'),
        (1, "available", '{"n": 1}'),
        (2, "acquired", '{"n": 2}'),
        (3, "available", '{"n": 3}'),
    ]
    assert {row["value"]["encoding"] for row in rows} == {"json"}
    assert all(row["headers"] is None and row["timestamp"] > 0 for row in rows)
    ran = shell.run(*words, "-n", "1")
    assert ran.err == ("shareq: these are the first 1 records, and there are more: --limit N shows up to 100,000\n")
    assert shell.run(*words).err == ""
    assert ran.lines[0].split()[-2:] == ["KEY", "VALUE"]
    assert ran.lines[1].endswith('k    {"n": 0}')


def test_what_is_cut_off_is_said_in_json_too(shell: Shell) -> None:
    ran = shell.run("share", "records", "packers", "-n", "3", "--json")
    assert len(shell.values(("share", "records"), ran.lines)) == 3
    assert ran.err.startswith("shareq: these are the first 3 ranges, and there are more")
    assert shell.run("share", "records", "packers", "-n", "4", "--json").err == ""


def test_what_is_held_for_long_and_what_is_old(shell: Shell) -> None:
    held = shell.json("share", "records", "--held-for", "0s")
    assert {(row["group"], row["first"]) for row in held} == {("packers", 0), ("packers", 2), ("sorters", 0)}
    times = [row["held_ms"] for row in held]
    assert times == sorted(times, reverse=True)
    old = shell.json("share", "records", "packers", "sorters", "--older-than", "0s")
    assert {row["group"] for row in old} == {"packers", "sorters"}
    assert [row["age_ms"] for row in old] == sorted((row["age_ms"] for row in old), reverse=True)
    assert [row["group"] for row in shell.json("share", "records", "--sort", "offset", "-n", "4")] == ["packers"] * 4
    for option in ("--held-for", "--older-than"):
        nothing = shell.run("share", "records", "packers", option, "7d")
        assert (nothing.code, nothing.out) == (0, "")
        assert nothing.err == "shareq: nothing that is in flight matches these options\n"
        wrong = shell.run("share", "records", "packers", option, "5")
        assert (wrong.code, wrong.err.count("\n")) == (2, 1)
        assert "must be a duration as 5m" in wrong.err


def test_a_table_of_several_groups_names_them(shell: Shell) -> None:
    assert shell.ok("share", "records")[0].split()[:2] == ["GROUP", "TOPIC"]
    assert shell.ok("share", "records", "packers")[0].split()[0] == "TOPIC"
    ran = shell.run("share", "records", "packers", "nobody")
    assert (ran.code, ran.err.count("\n"), len(ran.lines)) == (4, 1, 5)


def test_finished_ones_behind_a_gap_are_summed_up(shell: Shell, broker: Broker) -> None:
    shell.ok("topics", "create", "gaps")
    shell.ok("produce", "gaps", stdin="".join(f"{number}\n" for number in range(6)))
    shell.ok("configs", "alter", "group", "gaps", "--set", "share.auto.offset.reset=earliest")
    config = client_config(broker.bootstrap, None, None, (), 10, {})
    with ShareRangeConsumer(config, "gaps", ["gaps"]) as member:
        (held,) = member.poll(max_records=6, max_wait_ms=20_000, strict=True)
        member.acknowledge([AckRange(held.topic_id, 0, 2, 4)], AcknowledgeType.ACCEPT)
        ran = shell.run("share", "records", "gaps", "--json")
        assert [row["first"] for row in shell.values(("share", "records"), ran.lines)] == [0, 5]
        assert ran.err == "shareq: 3 finished offsets beyond the start offset are not shown; --all shows them\n"
        whole = shell.json("share", "records", "gaps", "--all")
        assert [(row["first"], row["state"]) for row in whole] == [
            (0, "acquired"),
            (2, "acknowledged"),
            (5, "acquired"),
        ]
        assert [row["first"] for row in shell.json("share", "records", "gaps", "--state", "acknowledged")] == [2]
        assert [row["first"] for row in shell.json("share", "records", "gaps", "--state", "unfinished")] == [0, 5]
    shell.ok("share", "delete", "gaps", "--yes")


def test_a_full_window_is_said_with_what_it_waits_for(shell: Shell, broker: Broker) -> None:
    """The line explains why a group's lag grows although its members are working."""
    shell.ok("topics", "create", "stuck")
    sets = ("--set", "share.auto.offset.reset=earliest", "--set", "share.partition.max.record.locks=100")
    shell.ok("configs", "alter", "group", "stuck", *sets)
    config = client_config(broker.bootstrap, None, None, (), 100, {})
    with ShareRangeConsumer(config, "stuck", ["stuck"]) as member:
        shell.ok("produce", "stuck", stdin="".join(f"{number}\n" for number in range(100)))
        (held,) = member.poll(max_records=100, max_wait_ms=20_000, strict=True)
        member.acknowledge([AckRange(held.topic_id, 0, 1, 99)], AcknowledgeType.ACCEPT)
        assert "the window is full" not in shell.run("share", "records", "stuck").err, "it holds up nothing"
        shell.ok("produce", "stuck", stdin="".join(f"{number}\n" for number in range(7)))
        why = "the window is full (100 of 100, share.partition.max.record.locks): 7 records behind it wait for offset 0"
        held_by = re.escape(f"{why}, which {member.member_id} (shareq at 127.0.0.1) has had for ") + r"[0-9.]+m?s"
        assert re.search(f"^shareq: stuck stuck:0: {held_by}$", shell.run("share", "records", "stuck").err, re.M)
        assert re.fullmatch(f"  {held_by}", shell.ok("share", "describe", "stuck", "--plot")[-1])
        member.acknowledge([AckRange(held.topic_id, 0, 0, 0)], AcknowledgeType.ACCEPT)
        assert "the window is full" not in shell.run("share", "records", "stuck").err
    shell.ok("share", "delete", "stuck", "--yes")


def test_what_waits_for_an_earlier_record_of_its_key(shell: Shell) -> None:
    rows = shell.json("share", "records", "sorters", "--state", "waiting")
    assert [(row["first"], row["behind"]) for row in rows] == [(2, 0)]


def test_a_group_that_does_not_exist(shell: Shell) -> None:
    ran = shell.run("share", "records", "nobody")
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert shell.run("share", "records", "packers", "--topic", "other").code == 4
    assert shell.run("share", "records", "packers", "--topic", "orders:x").code == 2
    wrong = shell.run("share", "records", "packers", "--show", "everything")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "key, value, headers" in wrong.err


def test_a_token_that_is_not_accepted(shell: Shell, broker: Broker) -> None:
    away = Shell(broker.bootstrap, SHAREQ_API_URL=str(broker.records_api_url), SHAREQ_API_TOKEN="wrong")
    ran = away.run("share", "records", "packers")
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert "does not accept the token" in ran.err
    assert "wrong" not in ran.err


def test_a_plot_in_letters(shell: Shell) -> None:
    lines = shell.ok("share", "describe", "packers", "--plot")
    assert lines[-3:] == [
        "packers orders:0: offsets 0 to 9, 10 in flight, 2 acquired",
        "  QaQaaaaaaa",
        "  a available 8  Q acquired 2",
    ]


def test_a_plot_in_colours_on_a_terminal(shell: Shell) -> None:
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in {**os.environ, **shell.environment}.items() if value is not None}
    environment["TERM"] = "xterm-256color"
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "shareq", "share", "describe", "packers", "--plot"]
    ran = subprocess.run(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(theirs)
    seen = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert f"\x1b[48;5;{LOOKS['acquired'].ansi}mQ\x1b[0m" in seen
    assert f"\x1b[48;5;{LOOKS['available'].ansi}maaaaaaa\x1b[0m" in seen
