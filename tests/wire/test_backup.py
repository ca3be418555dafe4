"""`shareq backup` beside a running broker, `shareq restore`, and a start with the result."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from devtools.clients.requests import batch, create_topic, fetch, fetch_request, produce
from devtools.clients.wire import WireClient
from shareq.broker.log.promises.manifest import LogRow, chain_of, parse_manifest
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.wire.test_process import run

ONE_MIB = str(1 << 20)


def done(*arguments: object) -> str:
    result = Shell("unused:1").run(*map(str, arguments))
    assert result.code == 0, result.err
    return result.out


def high_watermark(broker: Broker, topic: str = "orders") -> int:
    with WireClient(broker.address) as client:
        return fetch(client, fetch_request(topic)).high_watermark


def write(broker: Broker, batches: int, topic: str = "orders") -> None:
    with WireClient(broker.address) as client:
        for _ in range(batches):
            assert produce(client, topic, batch(b"x" * 100_000)).error_code == 0


def make(broker: Broker, topic: str = "orders") -> None:
    with WireClient(broker.address) as client:
        create_topic(client, topic, configs={"segment.bytes": ONE_MIB})


def test_what_was_answered_is_there_after_a_restore(tmp_path: Path) -> None:
    data, dest = tmp_path / "data", tmp_path / "backups"
    with Broker(data_dir=data) as broker:
        make(broker)
        write(broker, 25)
        assert done("backup", data, dest).startswith("backup 2")
        broker.kill()
    shutil.rmtree(data)
    done("restore", dest, data)
    with Broker(data_dir=data) as broker:
        assert high_watermark(broker) == 25
        write(broker, 1)
        assert high_watermark(broker) == 26
        assert "ERROR" not in broker.log


def test_segments_that_did_not_change_are_not_copied_again(tmp_path: Path) -> None:
    data, dest = tmp_path / "data", tmp_path / "backups"
    with Broker(data_dir=data) as broker:
        make(broker)
        write(broker, 25)
        done("backup", data, dest)
        first = {path.name for path in (dest / "objects").rglob("*") if path.stat().st_size > 900_000}
        write(broker, 1)
        done("backup", data, dest)
        both = {path.name for path in (dest / "objects").rglob("*") if path.stat().st_size > 900_000}
    assert len(first) == 2, "two sealed segments; the active one is smaller"
    assert both == first


def test_backups_are_listed_checked_and_removed(tmp_path: Path) -> None:
    data, dest = tmp_path / "data", tmp_path / "backups"
    with Broker(data_dir=data) as broker:
        make(broker)
        write(broker, 3)
        for _ in range(3):
            done("backup", data, dest)
        listed = json.loads(done("backup", "--list", dest, "--json"))
        assert len(listed) == 3
        assert "removed" in done("backup", data, dest, "--keep", 2)
        assert done("backup", "--list", dest).count("UTC") == 2
    assert done("backup", "--check", dest).count(": sound") == 2
    largest = max(
        (path for path in (dest / "objects").rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )
    content = bytearray(largest.read_bytes())
    content[1000] ^= 1
    largest.write_bytes(content)
    result = run("backup", "--check", str(dest))
    assert result.returncode == 1
    assert "damaged" in result.stdout


def test_a_topic_that_was_deleted_is_not_in_the_backup(tmp_path: Path) -> None:
    """The broker could not remove the topic's folder, which is left out so that the topic does not come back."""
    data, dest = tmp_path / "data", tmp_path / "backups"
    with Broker(data_dir=data) as broker:
        make(broker)
        write(broker, 1)
    shutil.copytree(data / "orders-0", data / "gone-0")
    result = run("backup", str(data), str(dest))
    assert result.returncode == 0
    assert "warning: gone-0: belongs to no topic" in result.stderr
    done("restore", dest, tmp_path / "new")
    assert not (tmp_path / "new" / "gone-0").exists()


def test_a_torn_write_at_the_end_is_left_out_and_damage_is_reported(tmp_path: Path) -> None:
    data, dest = tmp_path / "data", tmp_path / "backups"
    with Broker(data_dir=data) as broker:
        make(broker)
        make(broker, "other")
        write(broker, 3)
        write(broker, 3, "other")
    whole = (data / "orders-0" / f"{0:020d}.log").read_bytes()
    (data / "orders-0" / f"{0:020d}.log").write_bytes(whole[:-1000])
    other = bytearray((data / "other-0" / f"{0:020d}.log").read_bytes())
    other[120_000] ^= 1
    (data / "other-0" / f"{0:020d}.log").write_bytes(other)
    result = run("backup", str(data), str(dest))
    assert "warning: other-0/00000000000000000000.log: damaged at byte" in result.stderr
    assert "orders-0" not in result.stderr
    done("restore", dest, tmp_path / "new")
    assert (tmp_path / "new" / "orders-0" / f"{0:020d}.log").read_bytes() == whole[: len(whole) // 3 * 2]
    assert (tmp_path / "new" / "other-0" / f"{0:020d}.log").read_bytes() == other


def test_wrong_use_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with Broker(data_dir=tmp_path / "data") as broker:
        make(broker)
    for arguments in (
        ["backup", str(tmp_path / "data")],
        ["backup", str(tmp_path / "data"), str(tmp_path / "full")],
        ["backup", str(tmp_path / "data"), str(tmp_path / "data" / "backups")],
        ["backup", "--list", str(tmp_path / "full")],
        ["restore", str(tmp_path / "full"), str(tmp_path / "new")],
    ):
        result = run(*arguments)
        assert (result.returncode, result.stdout) == (2, "")
        assert len(result.stderr.splitlines()) == 1, result.stderr
    assert run("backup", str(tmp_path / "nowhere"), str(tmp_path / "b")).returncode == 2
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["notes.txt"]


def manifest_of(data: Path) -> dict[tuple[str, int], LogRow]:
    found = parse_manifest((data / "log-manifest").read_bytes())
    assert found is not None
    assert found.is_whole
    assert found.boot_id == ""
    return dict(found.rows)


def test_a_restored_folder_has_a_manifest_of_what_is_in_it(tmp_path: Path) -> None:
    """Without one a start takes later losses for an unfinished write."""
    data, dest, new = tmp_path / "data", tmp_path / "backups", tmp_path / "new"
    with Broker(data_dir=data) as broker:
        make(broker)
        write(broker, 25)
        done("backup", data, dest)
        broker.kill()
    done("restore", dest, new)
    row = manifest_of(new)["orders", 0]
    bases = sorted(int(path.stem) for path in (new / "orders-0").glob("*.log"))
    assert (row.start, row.active, row.synced, row.chain) == (0, bases[-1], 25, chain_of(bases))
    newest = new / f"orders-0/{bases[-1]:020}.log"
    newest.write_bytes(newest.read_bytes()[:-10])
    assert run("verify", str(new)).returncode == 1
    with Broker(data_dir=new) as broker:
        assert high_watermark(broker) == 25
        assert "damaged" in broker.log


def test_log_starts_are_backed_up_from_either_of_their_files(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Broker(data_dir=data) as broker:
        make(broker)
        write(broker, 25)
        with WireClient(broker.address) as client:
            topics = [DeleteRecordsTopic("orders", [DeleteRecordsPartition(0, 5)])]
            client.call(DeleteRecordsRequest(topics, 10_000), 2, DeleteRecordsResponse)
    for damaged in ("missing", "damaged"):
        if damaged == "missing":
            (data / "log-start-offset-checkpoint").unlink()
        else:
            (data / "log-start-offset-checkpoint").write_bytes(b"0\n7\n")
        done("backup", data, tmp_path / damaged)
        done("restore", tmp_path / damaged, tmp_path / f"from-{damaged}")
        assert manifest_of(tmp_path / f"from-{damaged}")["orders", 0].start == 5
        assert run("verify", str(tmp_path / f"from-{damaged}")).returncode == 0


def test_a_log_whose_folder_is_missing_is_reported_and_stays_missing(tmp_path: Path) -> None:
    data, dest, new = tmp_path / "data", tmp_path / "backups", tmp_path / "new"
    with Broker(data_dir=data) as broker:
        make(broker)
        make(broker, "payments")
        write(broker, 3)
        write(broker, 2, "payments")
    shutil.rmtree(data / "payments-0")
    result = run("backup", str(data), str(dest))
    assert result.returncode == 0
    assert "payments-0: its folder is missing; not in the backup" in result.stdout + result.stderr
    done("restore", dest, new)
    with Broker(data_dir=new) as broker:
        assert high_watermark(broker) == 3
        with WireClient(broker.address) as client:
            assert produce(client, "payments", batch(b"x")).base_offset == 2, "no offset is given twice"
