"""`shareq top` on a pseudo terminal and in a pipe, with a broker."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

from shareq.client.share.range_consumer import ShareRangeConsumer
from shareq.ops.cli.shared.profile import client_config
from shareq.ops.cli.top import data
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell

TOKEN = "top-operator-0123456789"
WAIT_S = 30.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    config = {"shareq.records.api.listen": "127.0.0.1:0", "shareq.records.api.token": TOKEN}
    with Broker(config=config) as broker:
        shell = Shell(broker.bootstrap)
        shell.ok("topics", "create", "orders", "--partitions", "2")
        for group in ("packers", "shippers"):
            shell.ok("configs", "alter", "group", group, "--set", "share.auto.offset.reset=earliest")
            shell.ok("produce", "orders", stdin="".join(f"{number}\n" for number in range(20)))
            shell.ok("share", "consume", group, "--topic", "orders", "-n", "3")
        yield broker


class Terminal:
    """A command on a pseudo terminal of 100 columns and 24 lines."""

    def __init__(self, *words: str, **environment: str) -> None:
        self._pid, self._descriptor = pty.fork()
        if not self._pid:
            ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
            os.execve(sys.executable, [sys.executable, "-m", "shareq", *words], {**os.environ, **environment})
        self.seen = ""

    def until(self, pattern: str) -> str:
        deadline = time.monotonic() + WAIT_S
        while not re.search(pattern, self.seen, re.DOTALL):
            assert time.monotonic() < deadline, (pattern, self.seen[-2000:])
            if select.select([self._descriptor], [], [], 0.5)[0]:
                self.seen += os.read(self._descriptor, 65536).decode()
        found, self.seen = self.seen, ""
        return found

    def press(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def end(self) -> int:
        deadline = time.monotonic() + WAIT_S
        while True:
            assert time.monotonic() < deadline
            try:
                self.seen += os.read(self._descriptor, 65536).decode()
            except OSError:  # as Linux ends a pseudo terminal
                break
        os.close(self._descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def environment(broker: Broker, tmp_path: Path) -> dict[str, str]:
    return {"SHAREQ_BOOTSTRAP_SERVERS": broker.bootstrap, "XDG_CONFIG_HOME": str(tmp_path), "TERM": "xterm"}


def test_a_session_at_the_terminal(broker: Broker, tmp_path: Path) -> None:
    api = {"SHAREQ_API_URL": str(broker.records_api_url), "SHAREQ_API_TOKEN": TOKEN}
    config = client_config(broker.bootstrap, None, None, (), 10, {})
    with ShareRangeConsumer(config, "packers", ["orders"]) as member:
        assert member.poll(max_records=4, max_wait_ms=9_000, strict=True)
        terminal = Terminal("top", "--every", "0.3", **environment(broker, tmp_path), **api)
        assert "\x1b[?1049h" in terminal.until(r"from the records API.*packers")
        terminal.press("/pack\r")
        terminal.until(r"filter: pack  .*packers")
        terminal.press("\r")
        looked = terminal.until(r"group packers.*acquired:\d")
        assert "shareq" in looked
        terminal.press("\x1b")
        terminal.until(r"shareq top: groups")
        terminal.press("t")
        terminal.until(r"shareq top: topics.*orders")
        terminal.press("q")
        assert terminal.end() == 0
    assert terminal.seen.endswith("\x1b[?1049l")


def test_an_interrupt_puts_the_terminal_back(broker: Broker, tmp_path: Path) -> None:
    terminal = Terminal("top", "--every", "0.3", **environment(broker, tmp_path))
    terminal.until(r"over the wire.*packers")
    terminal.press("\x03")
    assert terminal.end() == 130
    assert "\x1b[?1049l" in terminal.seen
    assert "Traceback" not in terminal.seen


def test_a_cluster_that_is_not_there_is_one_line_also_at_the_terminal(tmp_path: Path) -> None:
    terminal = Terminal("top", SHAREQ_BOOTSTRAP_SERVERS="127.0.0.1:1", XDG_CONFIG_HOME=str(tmp_path))
    assert terminal.end() == 3
    assert terminal.seen.startswith("shareq: ")
    assert "\x1b[?1049h" not in terminal.seen


def test_without_rich_one_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "rich.py").write_text("raise ImportError\n")
    folders = {"XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    terminal = Terminal("top", SHAREQ_BOOTSTRAP_SERVERS="127.0.0.1:1", **folders)
    assert terminal.end() == 2
    assert terminal.seen.split("\r\n") == [
        "shareq: top: a live screen needs rich: pip install 'shareq[cli]'; --once and --json do without",
        "",
    ]


def test_special_keys_come_in_one_piece(broker: Broker, tmp_path: Path) -> None:
    terminal = Terminal("top", "--every", "0.3", **environment(broker, tmp_path))
    terminal.until(r"over the wire.*packers")
    terminal.press("/pa\x1b[15~\x7fack\x1b[A\r")  # F5 is not a key of the screen
    terminal.until(r"filter: pack  ")
    terminal.press("\x1b[B\x1b[A\x1b[C")
    terminal.until(r"group packers")
    terminal.press("q")
    assert terminal.end() == 0


def test_once_as_text_and_as_json(broker: Broker) -> None:
    shell = Shell(broker.bootstrap)
    lines = shell.ok("top", "--once", "--every", "0.1")
    assert lines[0].split()[:3] == ["GROUP", "STATE", "MEMBERS"]
    assert {line.split()[0] for line in lines[1:3]} == {"packers", "shippers"}
    (row,) = shell.json("top", "--once", "--every", "0.1")
    (packers, _) = row["groups"]
    assert (packers["group"], packers["partitions"], packers["members"]) == ("packers", 2, None)
    assert packers["lag"] == 37
    assert [each["topic"] for each in row["topics"]] == ["orders"]
    assert row["seconds"] >= 0.1


def test_once_with_the_api(broker: Broker) -> None:
    shell = Shell(broker.bootstrap, SHAREQ_API_URL=str(broker.records_api_url), SHAREQ_API_TOKEN=TOKEN)
    (row,) = shell.json("top", "--once", "--every", "0.1")
    assert all(each["in_flight"] is not None and each["redeliveries_per_s"] == 0 for each in row["groups"])


def test_what_a_dead_worker_had_is_in_flight_and_held_by_nobody(broker: Broker) -> None:
    shell = Shell(broker.bootstrap, SHAREQ_API_URL=str(broker.records_api_url), SHAREQ_API_TOKEN=TOKEN)
    shell.ok("topics", "create", "parcels")
    shell.ok("produce", "parcels", stdin="one\ntwo\nthree\nfour\n")
    shell.ok("configs", "alter", "group", "dead", "--set", "share.auto.offset.reset=earliest")
    shell.ok("share", "consume", "dead", "--topic", "parcels", "-n", "3", "--then", "release")
    (row,) = shell.json("top", "--once", "--every", "0.1")
    (dead,) = [each for each in row["groups"] if each["group"] == "dead"]
    assert (dead["members"], dead["in_flight"], dead["held"], dead["lag"]) == (0, 3, 0, 4)
    assert dead["oldest_ms"] > 0


def test_a_sample_has_a_bounded_number_of_groups(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(broker.bootstrap, SHAREQ_API_URL=str(broker.records_api_url), SHAREQ_API_TOKEN=TOKEN)
    (row,) = shell.json("top", "--once", "--every", "0.1", "--group", "pack*", "--group", "ship*")
    assert ([each["group"] for each in row["groups"]], row["left_out"]) == (["packers", "shippers"], 0)
    monkeypatch.setattr(data, "MOST_GROUPS", 1)
    (row,) = shell.json("top", "--once", "--every", "0.1", "--group", "pack*", "--group", "ship*")
    assert ([each["group"] for each in row["groups"]], row["left_out"]) == (["packers"], 1)
    assert row["groups"][0]["in_flight"] is not None
    lines = shell.ok("top", "--once", "--every", "0.1", "--group", "*packers", "--group", "shippers")
    assert lines[-1] == "1 groups left out: --group chooses"
