"""`shareq migrate` with a data folder on either side, which a broker of the command's own serves meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, TopicPartition

from shareq.testing import Broker, wait_until
from tests.support.clients.shareq_cli import Shell

TOPIC, PACKERS, READERS = "lying.orders", "lying.packers", "lying.readers"
MECHANISM: Final = "SCRAM-SHA-256"
AS_ANN: Final = {
    "SHAREQ_CLIENT_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
    "SHAREQ_CLIENT_SASL_MECHANISM": MECHANISM,
    "SHAREQ_CLIENT_SASL_USERNAME": "ann",
    "SHAREQ_CLIENT_SASL_PASSWORD": "wonderland",
}
START_S: Final = 120.0
"""The seconds in which two interpreters start on a busy machine."""
NOWHERE: Final = Shell("127.0.0.1:1")


def begin(folder: Path) -> None:
    """Fill a data folder, and kill its broker while a consumer group has a member."""
    broker = Broker(data_dir=folder)
    broker.start()
    shell = Shell(broker.bootstrap)
    shell.ok("topics", "create", TOPIC, "--partitions", "2", "--set", "max.message.bytes=2000000")
    shell.ok("configs", "alter", "group", PACKERS, "--set", "share.auto.offset.reset=earliest")
    for number in range(2):
        values = "".join(f"{number}.{each}\n" for each in range(200))
        shell.ok("produce", TOPIC, "--partition", str(number), stdin=values)
    assert len(taken(shell, 30)) == 30
    shell.ok("users", "set", "ann", "--mechanism", MECHANISM, stdin="wonderland\n")
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": READERS, "auto.offset.reset": "earliest"}
    reader = Consumer({**settings, "enable.auto.commit": False})  # else its end waits for the dead broker, 45 s
    reader.subscribe([TOPIC])
    wait_until(lambda: reader.poll(0.1) is not None)
    reader.commit(offsets=[TopicPartition(TOPIC, 1, 150)], asynchronous=False)
    broker.kill()
    reader.close()


def taken(shell: Shell, count: int) -> set[str]:
    rows: list[dict[str, Any]] = shell.json("share", "consume", PACKERS, "--topic", TOPIC, "-n", str(count))
    return {row["record"]["value"] for row in rows}


def check_sound(folder: Path) -> None:
    found = NOWHERE.run("verify", str(folder))
    assert found.code == 0, found.out


def test_a_folder_moves_to_a_folder_and_clients_go_on_there(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    begin(old)
    planned = NOWHERE.json("migrate", str(old), str(new), "--dry-run")
    assert {row["outcome"] for row in planned} == {"planned"}
    assert not new.exists()
    NOWHERE.json("migrate", str(old), str(new))
    rows = NOWHERE.json("migrate", str(old), str(new), "--cut-over")
    assert {row["outcome"] for row in rows} == {"moved", "verified"}
    assert {row["outcome"] for row in NOWHERE.json("migrate", str(old), str(new), "--verify-only")} == {"verified"}
    check_sound(old)
    check_sound(new)
    login = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "sasl.enabled.mechanisms": MECHANISM}
    with Broker(data_dir=old) as first, Broker(data_dir=new, config=login) as second:
        there = Shell(second.bootstrap, **AS_ANN)
        done = {f"0.{each}" for each in range(200)} | {f"1.{each}" for each in range(200)}
        rest = taken(there, 370)
        assert len(rest) == 370
        assert rest < done
        (row,) = [row for row in there.json("groups", "offsets", READERS) if row["partition"] == 1]
        assert row["offset"] == 150
        assert Shell(first.bootstrap).json("topics", "describe", TOPIC)[0]["end"] == 200


def test_a_folder_moves_to_a_broker_and_from_one(tmp_path: Path) -> None:
    begin(tmp_path / "old")
    with Broker() as middle:
        shell = Shell(middle.bootstrap)
        assert not [row for row in shell.json("migrate", str(tmp_path / "old"), middle.bootstrap, "--cut-over")
                    if row["outcome"] not in ("moved", "verified")]  # fmt: skip
        assert len(taken(shell, 20)) == 20
        shell.json("migrate", middle.bootstrap, f"{tmp_path}/new", "--topic", TOPIC, "--cut-over")
    with Broker(data_dir=tmp_path / "new") as last:
        assert len(taken(Shell(last.bootstrap), 350)) == 350


def test_a_folder_that_a_broker_serves_is_refused_with_its_address(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "data") as broker:
        for words in ((str(tmp_path / "data"), f"{tmp_path}/new"), (broker.bootstrap, str(tmp_path / "data"))):
            ran = NOWHERE.run("migrate", *words)
            assert ran.code == 1
            assert ran.err.splitlines() == [
                f"shareq: data folder {tmp_path}/data is in use by another process; the broker that opened it last is "
                f"at {broker.bootstrap}"
            ]
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("made", [True, False])
def test_a_folder_with_nothing_in_it_is_refused_as_the_source(tmp_path: Path, made: bool) -> None:
    if made:
        (tmp_path / "old").mkdir()
    ran = NOWHERE.run("migrate", f"{tmp_path}/old", f"{tmp_path}/new")
    assert ran.code == 1
    assert ran.err == f"shareq: data folder {tmp_path}/old is absent or empty: there is nothing to move\n"
    assert os.listdir(tmp_path) == ["old"] * made


def test_a_kill_of_the_command_leaves_nothing_running_and_the_folders_sound(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    begin(old)

    words = (sys.executable, "-P", "-m", "shareq", "migrate", str(old), str(new))
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as command:
        wait_until(lambda: len(children(command.pid)) == 2 and (new / "meta.db").exists(), START_S)
        brokers = children(command.pid)
        command.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in brokers), START_S)
    check_sound(old)
    check_sound(new)
    rows = NOWHERE.json("migrate", str(old), str(new), "--cut-over")
    assert {row["outcome"] for row in rows} == {"moved", "verified"}


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(each) for each in file.read().split()]


def test_other_users_of_the_machine_have_no_way_into_the_folder(tmp_path: Path) -> None:
    """All users can reach the port, so a login is required that only the command knows."""
    begin(tmp_path / "data")
    command = [sys.executable, "-P", "-m", "shareq.ops.migrate.folder_process"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as broker:
        assert broker.stdin is not None
        assert broker.stdout is not None
        wanted = {"folder": str(tmp_path / "data"), "use": "from", "password": "secret"}
        broker.stdin.write(json.dumps(wanted).encode() + b"\n")
        broker.stdin.flush()
        address = json.loads(broker.stdout.readline())["bootstrap"]
        login = ("--property", "security.protocol=SASL_PLAINTEXT", "--property", "sasl.mechanism=PLAIN")
        user = ("--property", "sasl.username=shareq-migrate", "--property", "sasl.password=")
        assert NOWHERE.run("topics", "list", "-b", address, "--timeout", "2").code == 3
        assert NOWHERE.run("topics", "list", "-b", address, *login, *user[:3], f"{user[3]}guess").code == 3
        assert TOPIC in str(NOWHERE.ok("topics", "list", "-b", address, *login, *user[:3], f"{user[3]}secret"))
        broker.stdin.close()
        assert broker.wait(30) == 0
