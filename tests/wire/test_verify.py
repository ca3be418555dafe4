"""`shareq verify` on folders of real brokers: stopped, killed, restored, damaged, repaired, started again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from devtools.clients.requests import batch, create_topic, fetch, fetch_request, produce
from devtools.clients.wire import WireClient
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.wire.test_process import run

ORDERS = "orders-0/00000000000000000000.log"


def use(broker: Broker) -> None:
    with WireClient(broker.address) as client:
        create_topic(client, "orders", configs={"segment.bytes": str(1 << 20)})
        for number in range(40):
            assert produce(client, "orders", batch(b"%d" % number * 50_000)).error_code == 0
        client.call(InitProducerIdRequest("t", 60_000), 4, InitProducerIdResponse)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("original") / "data"
    with Broker(data_dir=data) as broker:
        use(broker)
    return data


@pytest.fixture
def data(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "data"))


def verify(data: Path, *options: str, code: int) -> str:
    result = Shell("unused:1").run("verify", str(data), *options)
    assert result.code == code, result.out + result.err
    assert "Traceback" not in result.err
    return result.out


def high_watermark(data: Path) -> int:
    with Broker(data_dir=data, mode="thread") as broker, WireClient(broker.address) as client:
        return fetch(client, fetch_request("orders", 40)).high_watermark


def test_a_stopped_brokers_folder_is_sound(data: Path) -> None:
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    output = verify(data, code=0)
    assert ": sound; " in output
    result = run("verify", str(data))
    assert (result.returncode, result.stdout) == (0, output)
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before


def test_a_killed_brokers_folder_is_sound(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "data") as broker:
        use(broker)
        broker.kill()
    verify(tmp_path / "data", code=0)


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "data"):
        result = run("verify", str(tmp_path / "data"))
    assert result.returncode == 2
    assert "a broker is using it" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_folders_that_are_not_ours_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for arguments in ([], ["--repair"]):
        result = run("verify", str(tmp_path), *arguments)
        assert (result.returncode, result.stdout) == (2, "")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert run("verify", str(tmp_path / "nowhere")).returncode == 2
    assert run("verify", str(tmp_path), "--skip-damage").returncode == 2


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def test_findings_for_machines(data: Path) -> None:
    flip(data / ORDERS, 200_000)
    found = json.loads(verify(data, "--json", code=1))
    assert not found["sound"]
    (finding,) = [each for each in found["findings"] if each["level"] == "damage"]
    assert finding["path"] == ORDERS
    assert finding["repair"] == "--repair --skip-damage"


def remove(*paths: Path) -> None:
    for path in paths:
        path.unlink()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a bit in a record": lambda data: flip(data / ORDERS, 200_000),
    "a bit in a base offset": lambda data: flip(data / ORDERS, len(batch(b"0" * 50_000)) + 6),
    "a segment is gone": lambda data: (data / "orders-0" / sorted_logs(data)[1]).unlink(),
    "an index": lambda data: flip(data / "orders-0" / "00000000000000000000.index", 3),
    "no partition.metadata": lambda data: (data / "orders-0" / "partition.metadata").unlink(),
    "an empty partition.metadata": lambda data: (data / "orders-0" / "partition.metadata").write_bytes(b""),
    "no marker": lambda data: (data / "shareq.data").unlink(),
    "a bit in the marker": lambda data: flip(data / "shareq.data", 30),
    "no journal": lambda data: (data / "metadata.journal").unlink(),
    "a bit in the journal": lambda data: flip(data / "metadata.journal", 60),
    "no database": lambda data: (data / "meta.db").unlink(),
    "no metadata at all": lambda data: remove(data / "meta.db", data / "metadata.journal"),
    "a zeroed database": lambda data: (data / "meta.db").write_bytes(bytes(40_000)),
    "a log start checkpoint": lambda data: (data / "log-start-offset-checkpoint").write_bytes(b"0\n7\n"),
    "a coordinator's log": lambda data: flip(coordinator_log(data), 80),
}


def sorted_logs(data: Path) -> list[str]:
    return sorted(path.name for path in (data / "orders-0").glob("*.log"))


def coordinator_log(data: Path) -> Path:
    (path,) = [each for each in data.glob("__transaction_state-*/*.log") if each.stat().st_size]
    return path


@pytest.mark.parametrize("kind", DAMAGES)
def test_after_a_repair_the_folder_is_sound_and_starts(data: Path, kind: str) -> None:
    DAMAGES[kind](data)
    verify(data, code=1)
    options = ["--repair", "--skip-damage", "--cut-tails", "--trust", "metadata.journal"]
    if kind == "no metadata at all":
        for folder in sorted(path.name for path in data.iterdir() if path.is_dir()):
            options += ["--adopt", folder]
    verify(data, *options, code=0)
    verify(data, code=0)
    assert high_watermark(data) == 40
