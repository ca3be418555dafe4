"""`shareq serve --console`: the child process, its end with the broker in every case, and refusals."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from shareq.broker.process.http import console as module
from shareq.broker.process.http.console import for_commands, with_records_api
from shareq.testing import wait_until
from tests.support.processes import children, finished, runs

WAIT_S = 30.0
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Serve:
    """`shareq serve --console` as a process; `url`: the console's; `child`: its process id."""

    def __init__(self, folder: Path, *words: str, stdin: int | None = None, cwd: Path | None = None) -> None:
        command = [
            sys.executable,
            *(["-P"] if cwd is not None else []),
            "-m",
            "shareq",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--data-dir",
            str(folder / "data"),
        ]
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--console", "127.0.0.1:0", *words],
                stdin=stdin,
                cwd=cwd,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.process.stdout.close()
        found = re.search(r", console at (http://127\.0\.0\.1:\d+)/$", line.strip())
        assert found, line + self.log.read_text()
        self.url = found[1]
        self.broker = line.partition("listening on ")[2].partition(",")[0]

    @property
    def child(self) -> int:
        (found,) = children(self.process.pid)
        return found

    def get(self, name: str, token: str = "") -> Any:
        request = urllib.request.Request(f"{self.url}/api/{name}", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return json.load(answer)


def test_the_console_is_a_child_that_asks_the_broker_and_its_records_api(tmp_path: Path) -> None:
    served = Serve(tmp_path)
    try:
        session = served.get("session")
        assert (session["read_only"], session["windows"]) == (True, True)
        assert served.get("overview")["data"]["brokers"][0]["controller"] is True
        arguments = Path(f"/proc/{served.child}/cmdline").read_text().split("\0")
        assert "console" in arguments
        assert "token" not in " ".join(arguments)
        child = served.child
    finally:
        served.process.terminate()
        assert served.process.wait(WAIT_S) == 0
    wait_until(lambda: not runs(child), WAIT_S, "the console has ended")
    assert "the console ended" not in served.log.read_text()


@pytest.mark.crash
def test_the_console_runs_no_python_file_of_the_working_directory(tmp_path: Path) -> None:
    """The console receives tokens."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    for name in ("json", "shareq", "aiohttp", "sitecustomize"):
        (folder / f"{name}.py").write_text(f"open({str(folder / 'was-run')!r}, 'w').close()\n")
    served = Serve(tmp_path, cwd=folder)
    try:
        assert served.get("session")["windows"] is True
        assert not (folder / "was-run").exists()
    finally:
        served.process.terminate()
        assert served.process.wait(WAIT_S) == 0


def test_the_console_ends_with_a_broker_that_is_killed(tmp_path: Path) -> None:
    served = Serve(tmp_path)
    served.get("overview")  # it has connections, and a view that is polled
    child = served.child
    served.process.kill()
    served.process.wait(WAIT_S)
    wait_until(lambda: not runs(child), WAIT_S, "the console has ended")


def test_a_broker_goes_on_without_its_console_and_logs_that(tmp_path: Path) -> None:
    served = Serve(tmp_path)
    served.get("session")
    os.kill(served.child, 9)
    wait_until(lambda: "the console ended with exit code" in served.log.read_text(), WAIT_S)
    assert served.process.poll() is None
    served.process.terminate()
    assert served.process.wait(WAIT_S) == 0


def test_a_broker_with_rights_shows_nothing_without_the_token(tmp_path: Path) -> None:
    token = "0123456789abcdef"
    (tmp_path / "token").write_text(token)
    served = Serve(
        tmp_path,
        *("--console-token-file", str(tmp_path / "token")),
        *("--set", f"authorizer.class.name={STANDARD}", "--set", "super.users=User:ANONYMOUS"),
    )
    try:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            served.get("session")
        assert served.get("session", token)["may_change"] is True
    finally:
        served.process.terminate()
        assert served.process.wait(WAIT_S) == 0


def test_the_token_is_read_once_so_it_may_come_from_a_pipe(tmp_path: Path) -> None:
    token = "0123456789abcdef"
    reader, writer = os.pipe()
    os.write(writer, token.encode())
    os.close(writer)
    served = Serve(tmp_path, "--console-token-file", "/dev/stdin", stdin=reader)
    os.close(reader)
    try:
        assert served.get("session")["may_change"] is False
        assert served.get("session", token)["may_change"] is True
    finally:
        served.process.terminate()
        assert served.process.wait(WAIT_S) == 0


def test_the_console_logs_in_where_the_broker_wants_it(tmp_path: Path) -> None:
    token = "0123456789abcdef"
    (tmp_path / "token").write_text(token)
    login = ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-256", "sasl.username=a", "sasl.password=b")
    (tmp_path / "client").write_text("\n".join(login))
    served = Serve(
        tmp_path,
        *("--set", "listeners=SASL_PLAINTEXT://127.0.0.1:0", "--set", "sasl.enabled.mechanisms=SCRAM-SHA-256"),
        *("--add-scram", "SCRAM-SHA-256=[name=a,password=b]"),
        *("--console-config", str(tmp_path / "client"), "--console-token-file", str(tmp_path / "token")),
    )
    try:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            served.get("overview")
        assert len(served.get("overview", token)["data"]["brokers"]) == 1
    finally:
        served.process.terminate()
        assert served.process.wait(WAIT_S) == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--console", "8080"), "--console 8080: must be HOST:PORT"),
        (("--console", "0.0.0.0:0"), "is open to other machines"),
        (("--console", "127.0.0.1:0", "--console-token-file", "/nonexistent"), "No such file"),
        (("--console", "127.0.0.1:0", "--console-config", "/nonexistent"), "No such file"),
        (("--console-token-file", "x"), "need --console"),
        (("--console", "127.0.0.1:0", "--set", f"authorizer.class.name={STANDARD}"), "give --console-token-file"),
        (
            (
                "--console", "127.0.0.1:0", "--set", "listeners=SASL_PLAINTEXT://127.0.0.1:0",
                "--set", "sasl.enabled.mechanisms=SCRAM-SHA-256",
            ),
            "give --console-config",
        ),
    ],
)  # fmt: skip
def test_a_console_that_cannot_be_is_refused_in_one_line(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    command = [sys.executable, "-m", "shareq", "serve", "--data-dir", str(tmp_path / "data")]
    listen = () if any("listeners=" in each for each in words) else ("--listen", "127.0.0.1:0")
    ran = finished([*command, *listen, *words], timeout_s=WAIT_S)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[-1].startswith("shareq: ")
    assert text in ran.stderr.splitlines()[-1]
    assert not (tmp_path / "data").exists()


def test_without_aiohttp_the_start_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from shareq.broker.config.broker_config import BrokerConfig
    from shareq.broker.process.http.console import Console, ConsoleOptions
    from shareq.broker.process.sockets import Address, ServeError

    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(ServeError, match=r"pip install 'shareq\[console\]'"):
        Console(ConsoleOptions(Address("127.0.0.1", 0), None, None, None, "PLAINTEXT"), BrokerConfig.load({}))


def test_the_token_of_the_console_opens_the_records_api_to_commands_as_the_log_says(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    token.chmod(0o600)
    served = Serve(tmp_path, "--console-token-file", str(token))
    try:
        served.get("session")
        said = re.search(
            r"commands reach the records API with (--api \S+ --api-token-file \S+)$", served.log.read_text(), re.M
        )
        assert said, served.log.read_text()
        words = [sys.executable, "-m", "shareq", "top", "--once", "-b", served.broker, *said[1].split()]
        ran = finished(words, timeout_s=WAIT_S)
        assert (ran.returncode, ran.stderr) == (0, "")
    finally:
        served.process.terminate()
        assert served.process.wait(WAIT_S) == 0


def test_without_a_token_of_the_console_the_records_api_is_its_own() -> None:
    given = {"shareq.records.api.listen": "127.0.0.1:1"}
    assert for_commands(given, "token") is None
    assert for_commands({}, "100%/token") == "commands reach the records API with --api %s --api-token-file 100%%/token"
    assert "the token that it was given" in str(for_commands({"shareq.records.api.token": "x"}, "token"))
    assert "--console-token-file FILE lets commands use it" in str(for_commands({}, None))


def test_a_records_api_that_the_operator_wants_stays() -> None:
    assert with_records_api({"shareq.records.api.listen": "127.0.0.1:1"}) == {}
    made = with_records_api({"shareq.records.api.token": "of-the-operator"})
    assert made == {"shareq.records.api.listen": "127.0.0.1:0", "shareq.records.api.token": "of-the-operator"}
    assert with_records_api({}, "of-the-console-0123")["shareq.records.api.token"] == "of-the-console-0123"
    both = with_records_api({"shareq.records.api.token": "of-the-operator"}, "of-the-console-0123")
    assert both["shareq.records.api.token"] == "of-the-operator"
    first, second = with_records_api({}), with_records_api({})
    assert first["shareq.records.api.token"] != second["shareq.records.api.token"]
    assert len(first["shareq.records.api.token"]) >= 32
