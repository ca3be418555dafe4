"""The commands and files that operators copy from the documents; only names, ports and folders are changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from devtools.kafka.certificates import why_unavailable
from devtools.ports import free_port
from tests.support.processes import finished

DOCS: Final = Path(__file__).parents[2] / "docs"
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ENVIRONMENT: Final = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


class Document:
    """A document's blocks with free ports; `broker.example.com` is this machine."""

    def __init__(self, name: str, *ports: int) -> None:
        self.port = {port: free_port() for port in ports}
        text = (DOCS / name).read_text().replace("broker.example.com", "localhost").replace("0.0.0.0", "127.0.0.1")
        for port, free in self.port.items():
            text = re.sub(rf":{port}\b", f":{free}", text)
        self.text = text

    def block(self, begin: str) -> str:
        (found,) = [body for _, body in _BLOCK.findall(self.text) if body.startswith(begin)]
        return str(found)

    def command(self, begin: str) -> str:
        (found,) = {
            line for _, body in _BLOCK.findall(self.text) for line in body.splitlines() if line.startswith(begin)
        }
        return str(found)

    def inline(self, begin: str) -> str:
        (found,) = set(re.findall(rf"`({re.escape(begin)}[^`]*)`", self.text))
        return str(found)


def sh(command: str, folder: Path, **environment: str) -> str:
    """Run a command as written, with these additional variables; return its output."""
    done = finished(["sh", "-e", "-c", command], cwd=folder, env=ENVIRONMENT | environment, timeout_s=60)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def serving(command: str, folder: Path, says: str = "listening on") -> Iterator[None]:
    """Run a server during the block; it must then exit with 0. `says`: part of its first line."""
    broker = subprocess.Popen(["sh", "-c", f"exec {command}"], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE)
    try:
        assert broker.stdout is not None
        assert says.encode() in broker.stdout.readline()
        yield
    finally:
        broker.terminate()
        code = broker.wait(30)
        broker.communicate()
    assert code == 0


def test_a_broker_with_users(tmp_path: Path) -> None:
    document = Document("security.md", 9092, 9093)
    (tmp_path / "server.properties").write_text(document.block("listeners=PLAINTEXT://"))
    login = document.block("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256")
    (tmp_path / "admin.properties").write_text(login)
    (tmp_path / "carol.properties").write_text(
        re.sub(r"username=.*", 'username="carol" password="looking-glass";', login)
    )
    sh(document.command("(umask 077"), tmp_path)
    assert (tmp_path / "admin.password").stat().st_mode & 0o077 == 0
    check = f"shareq check localhost:{document.port[9093]} --command-config"
    with serving(document.command("shareq serve --config server.properties"), tmp_path):
        sh(f"{check} admin.properties", tmp_path)
        sh(f"! {check} carol.properties", tmp_path)


@pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))
def test_a_broker_with_certificates(tmp_path: Path) -> None:
    document = Document("security.md", 9094, 9095, 9464)
    sh(document.block("openssl req -x509"), tmp_path)
    (tmp_path / "tls.properties").write_text(document.block("listeners=SECURE://"))
    (tmp_path / "alice-tls.properties").write_text(document.block("security.protocol=SSL\n"))
    sh(document.inline("cat alice.crt"), tmp_path)
    with serving(document.command("shareq serve --config tls.properties"), tmp_path):
        sh(document.inline("shareq check localhost:"), tmp_path)
        sh(f"! shareq check localhost:{document.port[9094]}", tmp_path)
        with urllib.request.urlopen(f"http://127.0.0.1:{document.port[9464]}/metrics", timeout=60) as answer:
            metrics = answer.read().decode()
    for wanted in re.findall(r"-e (\S+)", document.command("curl -s http://127.0.0.1")):
        assert wanted in metrics


def test_an_upgrade_and_the_way_back(tmp_path: Path) -> None:
    """Only the pip command is skipped, as there is no other release here."""
    document = Document("maintenance.md")
    serve = document.command("shareq serve --data-dir shareq-data") + f" --listen 127.0.0.1:{free_port()}"
    with serving(serve, tmp_path):
        sh(document.command("shareq backup shareq-data backups   "), tmp_path)
    sh(document.command("shareq verify shareq-data"), tmp_path)
    sh(document.command("cp -a"), tmp_path)
    for folder in ("shareq-data", "shareq-data.before"):
        with serving(serve.replace("shareq-data", folder), tmp_path):
            pass
    sh("shareq restore backups new-data && shareq verify new-data", tmp_path)


def test_the_records_api(tmp_path: Path) -> None:
    document = Document("records-api.md", 9465)
    token, serve, ask = document.block("(umask 077; head").splitlines()
    assert serve.startswith("shareq serve ")
    sh(token, tmp_path)
    with serving(f"{serve} --listen 127.0.0.1:{free_port()}", tmp_path):
        assert json.loads(sh(ask, tmp_path))["groups"] == []
        refused = sh(ask.replace("$(cat operator.token)", "not-the-token-1234"), tmp_path)
    assert "error" in json.loads(refused)


def test_a_console_beside_the_broker_and_one_elsewhere(tmp_path: Path) -> None:
    document = Document("console.md", 8080)
    document.port[9092] = free_port()
    sh(document.command("(umask 077; head"), tmp_path)
    page = f"curl -sf http://127.0.0.1:{document.port[8080]}/"
    for begin in ("pip install '.[console]'", "(umask 077; head"):
        (serve,) = [line for line in document.block(begin).splitlines() if line.startswith("shareq serve")]
        with serving(f"{serve} --listen 127.0.0.1:{document.port[9092]}", tmp_path):
            assert "<html" in sh(f"{page} | head -c 500", tmp_path)
    (elsewhere,) = [line for line in document.block("pip install").splitlines() if line.startswith("shareq console")]
    assert elsewhere == "shareq console localhost:9092"
    here = elsewhere.replace("9092", str(document.port[9092])) + f" --listen 127.0.0.1:{document.port[8080]}"
    with (
        serving(f"shareq serve --listen 127.0.0.1:{document.port[9092]}", tmp_path),
        serving(here, tmp_path, "http://"),
    ):
        assert "<html" in sh(f"{page} | head -c 500", tmp_path)


def test_the_log_of_share_groups_alone(tmp_path: Path) -> None:
    document = Document("operating.md")
    command = document.command("shareq serve --data-dir").replace("/tmp/shareq-data", str(tmp_path / "data"))
    port = free_port()
    with serving(f"{command} --listen 127.0.0.1:{port} 2>{tmp_path / 'log'}", tmp_path):
        cluster = f"SHAREQ_BOOTSTRAP_SERVERS=127.0.0.1:{port} shareq"
        sh(f"{cluster} topics create orders && {cluster} produce orders --value apples", tmp_path)
        sh(f"{cluster} configs alter group packers --set share.auto.offset.reset=earliest", tmp_path)
        sh(f"{cluster} share consume packers --topic orders -n 1", tmp_path)
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert {"member_joined", "member_left"} <= {each.get("fields", {}).get("event") for each in events}
    assert all(
        each["level"] == "WARNING" or ".share" in each["logger"] or ".groups" in each["logger"] for each in events
    )


def test_backups_and_what_comes_of_them(tmp_path: Path) -> None:
    """The page's blocks run in order, the first of them while the broker runs."""
    document = Document("maintenance.md")

    def run(begin: str) -> list[str]:
        commands = re.findall(r"^\$ (shareq .*)$", document.block(begin), re.MULTILINE)
        return [sh(command, tmp_path) for command in commands if not command.startswith("shareq serve")]

    port = free_port()
    with serving(f"shareq serve --data-dir shareq-data --listen 127.0.0.1:{port}", tmp_path):
        sh(f"shareq topics create orders -b 127.0.0.1:{port}", tmp_path)
        *taken, listed, checked = run("$ shareq backup shareq-data backups\n")
    assert [each.split(":")[0].split()[0] for each in taken] == ["backup", "backup"]
    assert len(listed.splitlines()) == 3
    assert [line.split(": ")[1] for line in checked.splitlines()] == ["sound", "sound"]
    (restored,) = run("$ shareq restore")
    assert restored.startswith("restored backup ")
    (sound,) = run("$ shareq verify new-data\nnew-data: sound")
    assert sound.startswith("new-data: sound; ")
    (repaired,) = run("$ shareq verify new-data --repair --skip-damage")
    assert repaired.splitlines()[-1].startswith("new-data: sound; ")
    with serving(f"shareq serve --data-dir new-data --listen 127.0.0.1:{port}", tmp_path):
        assert "orders" in sh(f"shareq topics list -b 127.0.0.1:{port}", tmp_path)
