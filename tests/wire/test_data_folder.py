"""A real broker on data folders that are not its own, or that lack a file or have a damaged one."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

import pytest

from devtools.clients.requests import batch, create_topic, fetch, fetch_request, produce
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.testing import Broker
from shareq.testing.broker import child_environment
from tests.support.processes import finished

TOPICS: Final = 3


def refused(data_dir: Path) -> str:
    command = [sys.executable, "-m", "shareq", "serve", "--data-dir", str(data_dir), "--listen", "127.0.0.1:0"]
    result = finished(command, env=child_environment(), timeout_s=30)
    assert result.returncode == 1, result
    lines = result.stderr.splitlines()
    assert "Traceback" not in result.stderr
    return lines[-1]


def tree(folder: Path) -> dict[str, str]:
    """Return every name below a folder with its content; links as such."""
    return {
        str(path.relative_to(folder)): f"-> {os.readlink(path)}" if path.is_symlink() else _content(path)
        for path in sorted(folder.rglob("*"))
    }


def _content(path: Path) -> str:
    return path.read_bytes().hex() if path.is_file() else "folder"


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a data folder after kill -9, with a record in each of three topics, and its cluster id."""
    data_dir = tmp_path_factory.mktemp("killed") / "data"
    with Broker(data_dir=data_dir) as broker:
        with WireClient(broker.address) as client:
            for number in range(TOPICS):
                create_topic(client, f"t{number}")
                produce(client, f"t{number}", batch(b"kept"))
            create_topic(client, "gone")
            cluster_id = client.call(MetadataRequest([]), 9, MetadataResponse).cluster_id
        broker.kill()
    assert cluster_id is not None
    return data_dir, cluster_id


def look(data_dir: Path) -> tuple[str | None, list[str], list[int]]:
    """Return the cluster id, the topics, and the high watermarks of `t0` to `t2`."""
    with Broker(data_dir=data_dir, mode="thread") as broker, WireClient(broker.address) as client:
        answer = client.call(MetadataRequest(None), 9, MetadataResponse)
        assert all(topic.error_code == ErrorCode.NONE for topic in answer.topics)
        marks = [fetch(client, fetch_request(f"t{number}")).high_watermark for number in range(TOPICS)]
        return answer.cluster_id, sorted(topic.name or "" for topic in answer.topics), marks


def is_whole(data_dir: Path, cluster_id: str) -> None:
    assert look(data_dir) == (cluster_id, ["gone", "t0", "t1", "t2"], [1, 1, 1])
    assert not [name for name in os.listdir(data_dir) if name.endswith("-stray")]


def test_a_data_folder_is_for_its_owner_alone(tmp_path: Path, killed: tuple[Path, str]) -> None:
    data_dir, _ = killed
    for path in (data_dir, *data_dir.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_folder_that_is_there_keeps_its_mode_and_a_line_says_who_can_read_it(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    data_dir.chmod(0o755)
    with Broker(data_dir=data_dir) as broker:
        broker.stop()
        assert f"data folder {data_dir} is open to every user of this machine, mode 0755" in broker.log
    assert data_dir.stat().st_mode & 0o777 == 0o755


def test_a_folder_with_other_things_in_it_is_refused_and_not_touched(tmp_path: Path) -> None:
    """Once files and link targets were deleted, and `nginx-1/` renamed, without a log line."""
    precious, folder = tmp_path / "precious", tmp_path / "home"
    (precious / "sub").mkdir(parents=True)
    (precious / "a.txt").write_text("a")
    for name in ("photos-2024", "old-delete", "nginx-1"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text(name)
    (folder / "nginx-1/access.log").write_text("GET /")
    (folder / "backup-7").symlink_to(precious)
    before = tree(tmp_path)
    line = refused(folder)
    assert tree(tmp_path) == before
    assert line.startswith(
        f"shareq: data folder {folder} is not one of shareq's, and not empty: it has backup-7, nginx-1"
    )
    assert "1 more" in line


def test_other_things_that_come_later_are_left_alone(tmp_path: Path, killed: tuple[Path, str]) -> None:
    data_dir, precious = tmp_path / "data", tmp_path / "precious"
    shutil.copytree(killed[0], data_dir)
    precious.mkdir()
    (precious / "a.txt").write_text("a")
    for name in ("photos-2024", "old-delete", "nginx-1"):
        (data_dir / name).mkdir()
        (data_dir / name / "file").write_text(name)
    (data_dir / "backup-7").symlink_to(precious)
    (data_dir / f"backup-7.{'0123456789abcdef' * 2}-delete").symlink_to(precious)
    names = ("photos-2024/file", "old-delete/file", "nginx-1/file", "backup-7/a.txt")
    before = {name: (data_dir / name).read_text() for name in names}
    is_whole(data_dir, killed[1])
    assert {name: (data_dir / name).read_text() for name in names} == before


@pytest.mark.parametrize("size", [0, 20])
def test_a_partition_metadata_that_a_loss_of_power_has_cut(tmp_path: Path, killed: tuple[Path, str], size: int) -> None:
    """`meta.db` has the ids, so the broker starts."""
    data_dir = tmp_path / "data"
    shutil.copytree(killed[0], data_dir)
    for number in range(TOPICS):
        os.truncate(data_dir / f"t{number}-0/partition.metadata", size)
    is_whole(data_dir, killed[1])


def test_logs_without_any_metadata_are_refused_and_left_alone(tmp_path: Path, killed: tuple[Path, str]) -> None:
    data_dir = tmp_path / "data"
    shutil.copytree(killed[0], data_dir)
    for name in ("meta.db", "meta.db-wal", "meta.db-shm", "metadata.journal"):
        (data_dir / name).unlink()
    before = tree(data_dir)
    line = refused(data_dir)
    assert "meta.db and metadata.journal are missing or empty" in line
    assert f"shareq verify {data_dir} --repair" in line
    assert tree(data_dir) == before
    (data_dir / "shareq.data").unlink()  # as of an older release, whose meta.db is lost
    before = tree(data_dir)
    line = refused(data_dir)
    assert "shareq.data is missing, meta.db is missing, metadata.journal is missing" in line
    assert "t0-0" in line
    assert tree(data_dir) == before


def test_metadata_that_is_older_than_the_logs_is_refused(tmp_path: Path) -> None:
    """Old metadata is restored beside newer logs, whose topics it lacks."""
    data_dir, older = tmp_path / "data", tmp_path / "older"
    with Broker(data_dir=data_dir) as broker:
        broker.stop()
        shutil.copytree(data_dir, older)
        broker.start()
        with WireClient(broker.address) as client:
            create_topic(client, "t")
            produce(client, "t", batch(b"kept"))
    for name in ("meta.db", "metadata.journal"):
        shutil.copy(older / name, data_dir / name)
    line = refused(data_dir)
    assert f"{data_dir}/t-0: no topic is known that has the id in its partition.metadata" in line
    assert f"shareq verify {data_dir} --repair" in line
    assert (data_dir / "t-0/00000000000000000000.log").stat().st_size > 0
