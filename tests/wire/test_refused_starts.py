"""Every reason to refuse a start: the command in the message, run as written, makes the next start work."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from devtools.clients.requests import batch, create_topic, fetch, fetch_request, produce
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.testing import Broker
from shareq.testing.broker import child_environment
from tests.support.clients.shareq_cli import Shell
from tests.support.processes import finished

COMMAND: Final = re.compile(r"`shareq (verify [^`]*)`")
METADATA: Final = ("meta.db", "metadata.journal")
LOST_PARTITION: Final = "the folder of a partition is missing"


class Folders(NamedTuple):
    """Data folders of stopped brokers.

    One has topics `kept` and `late`; others are from before `late` was created, have `other` in its place, or belong to
    another cluster.
    """

    whole: Path
    older: Path
    forked: Path
    foreign: Path


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    base = tmp_path_factory.mktemp("refused")
    made = Folders(*(base / name for name in Folders._fields))
    with Broker(data_dir=made.foreign, mode="thread"):
        pass
    _make(made.older, "kept")
    for folder, topic in ((made.whole, "late"), (made.forked, "other")):
        shutil.copytree(made.older, folder)
        _make(folder, topic)
    return made


def _make(data_dir: Path, topic: str) -> None:
    with Broker(data_dir=data_dir, mode="thread") as broker, WireClient(broker.address) as client:
        create_topic(client, topic)
        produce(client, topic, batch(topic.encode()))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shareq", *arguments]
    return finished(command, env=child_environment(), timeout_s=60)


def take(data: Path, source: Path, *names: str) -> None:
    """Copy these files, and SQLite's side files, from another folder."""
    for name in names:
        for path in data.glob(f"{name}*"):
            path.unlink()
        for path in source.glob(f"{name}*"):
            shutil.copy(path, data)


def zero(data: Path, *names: str) -> None:
    for name in names:
        (data / name).write_bytes(bytes((data / name).stat().st_size))


def lose(data: Path, *names: str) -> None:
    for name in names:
        (data / name).unlink()


def forget_log_starts(data: Path, _: Folders) -> None:
    zero(data, "log-manifest")
    (data / "log-start-offset-checkpoint").write_bytes(bytes(20))


def link(data: Path, _: Folders) -> None:
    (data / "late-0").rename(data.parent / "late-0")
    os.symlink(data.parent / "late-0", data / "late-0")


REASONS: Final[dict[str, tuple[str, Callable[[Path, Folders], object]]]] = {
    "metadata zeroed": ("--adopt all", lambda data, _: zero(data, *METADATA)),
    "metadata missing": ("--adopt all", lambda data, _: lose(data, *METADATA)),
    "metadata and marker zeroed": ("--adopt all", lambda data, _: zero(data, *METADATA, "shareq.data")),
    "metadata and marker missing": ("--adopt all", lambda data, _: lose(data, *METADATA, "shareq.data")),
    "records differ": ("--trust meta.db --adopt all", lambda data, of: take(data, of.forked, "metadata.journal")),
    "marker of another cluster": (
        "--trust meta.db --adopt all",
        lambda data, of: take(data, of.foreign, "shareq.data"),
    ),
    "database of another cluster": (
        "--trust metadata.journal --adopt all",
        lambda data, of: take(data, of.foreign, "meta.db"),
    ),
    "journal of another cluster": (
        "--trust meta.db --adopt all",
        lambda data, of: take(data, of.foreign, "metadata.journal"),
    ),
    "metadata older than the logs": ("--adopt all", lambda data, of: take(data, of.older, *METADATA)),
    "a folder twice": ("--set-aside all", lambda data, _: shutil.copytree(data / "kept-0", data / "copy-0")),
    "a symbolic link": ("--set-aside all", link),
    "log starts": ("", forget_log_starts),
}


@pytest.mark.parametrize("reason", REASONS)
def test_the_command_in_a_refusal_makes_a_start_possible(reason: str, folders: Folders, tmp_path: Path) -> None:
    options, damage = REASONS[reason]
    data = tmp_path / "a folder"
    shutil.copytree(folders.whole, data)
    damage(data, folders)
    refused = run("serve", "--data-dir", str(data), "--listen", "127.0.0.1:0")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Traceback" not in refused.stderr
    (command,) = COMMAND.findall(refused.stderr.splitlines()[-1])
    assert command == f"verify {shlex.quote(str(data))} --repair {options}".rstrip()
    repaired = Shell("unused:1").run(*shlex.split(command))
    loses_late = reason == "a symbolic link"
    assert repaired.code == (1 if loses_late else 0), repaired
    assert "repaired: " in repaired.out
    assert (LOST_PARTITION in repaired.out.rpartition("left: ")[2]) is loses_late
    with Broker(data_dir=data, mode="thread") as broker, WireClient(broker.address) as client:
        answer = client.call(MetadataRequest(None), 9, MetadataResponse)
        assert {topic.name for topic in answer.topics} >= {"kept", "late"}
        for topic in ("kept", "late"):
            found = fetch(client, fetch_request(topic))
            lost = loses_late and topic == "late"
            assert found.error_code == (ErrorCode.CORRUPT_MESSAGE if lost else ErrorCode.NONE)
            assert lost or topic.encode() in bytes(found.records or b"")
            assert produce(client, topic, batch(b"afterwards")).error_code == ErrorCode.NONE


def test_an_empty_cluster_whose_files_are_all_lost_starts_again(tmp_path: Path, folders: Folders) -> None:
    data = tmp_path / "data"
    shutil.copytree(folders.foreign, data)
    zero(data, *METADATA, "shareq.data")
    refused = run("serve", "--data-dir", str(data), "--listen", "127.0.0.1:0")
    (command,) = COMMAND.findall(refused.stderr)
    repaired = run(*shlex.split(command))
    assert (repaired.returncode, "lost: all properties, ACLs and users" in repaired.stdout) == (0, True)
    with Broker(data_dir=data, mode="thread"):
        pass
