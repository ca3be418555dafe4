"""The command `shareq console`: refusals before it listens, and its output."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from shareq.ops.cli import console as module
from shareq.ops.cli.main import main

TOKEN = "0123456789abcdef"


def refused(*words: str) -> tuple[int, str]:
    result = CliRunner(env={"XDG_CONFIG_HOME": "/nonexistent"}).invoke(main, ["console", *words])
    assert isinstance(result.exception, SystemExit), result.output
    assert result.stderr.count("\n") == 1
    return result.exit_code, result.stderr


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    return path


def test_without_aiohttp_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    assert refused() == (2, "shareq: the console needs aiohttp: pip install 'shareq[console]'\n")


def test_other_machines_and_logins_need_a_token() -> None:
    code, text = refused("--listen", "0.0.0.0:0")
    assert (code, "is open to other machines" in text) == (2, True)
    login = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.username=a", "sasl.password=b"]
    code, text = refused("--listen", "127.0.0.1:0", *[word for each in login for word in ("--property", each)])
    assert (code, "every user of this machine" in text) == (2, True)


@pytest.mark.parametrize("text", ["", "short", "with spaces in the middle", "0123456789abcde"])
def test_a_token_that_could_be_guessed_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    code, said = refused("--listen", "127.0.0.1:0", "--token-file", str(path))
    assert (code, "at least 16 visible characters" in said) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("--listen", "8080"),
        ("--listen", "127.0.0.1:99999"),
        ("--listen", "::1:80"),
        ("--token-file", "/nonexistent"),
        ("--api", "http://127.0.0.1:1"),
        ("nonsense",),
    ],
)
def test_wrong_options_end_with_2(words: tuple[str, ...]) -> None:
    assert refused(*words, *(() if "--listen" in words else ("--listen", "127.0.0.1:0")))[0] == 2


def test_a_records_api_has_a_url(token: Path) -> None:
    words = ("--listen", "127.0.0.1:0", "--api", "ftp://x", "--api-token-file", str(token))
    code, text = refused(*words)
    assert (code, "must be the URL of a records API" in text) == (2, True)


def test_a_port_that_is_taken_ends_with_3() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, text = refused("--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert (code, "cannot listen on" in text) == (3, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_where_it_is_and_stops_with_a_signal(token: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "shareq", "console", "127.0.0.1:9", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen([*command, "--token-file", str(token)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(
        r"shareq console of 127\.0\.0\.1:9 at (http://127\.0\.0\.1:\d+)/, changes need the token\n", line
    )
    assert found, line
    with urllib.request.urlopen(f"{found[1]}/api/session", timeout=20) as answer:
        assert answer.status == 200
    process.send_signal(number)
    assert process.wait(30) == 0
    process.stdout.close()


PROFILES = """
[profiles.work]
"bootstrap.servers" = "127.0.0.1:9"
[profiles.test]
"bootstrap.servers" = "127.0.0.1:10"
"""


def test_several_profiles_are_a_cluster_each(tmp_path: Path) -> None:
    (tmp_path / "shareq").mkdir()
    (tmp_path / "shareq" / "config.toml").write_text(PROFILES)
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "SHAREQ_BOOTSTRAP_SERVERS": "127.0.0.1:11"}
    command = [sys.executable, "-m", "shareq", "console", "--profile", "work", "--profile", "test"]
    process = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(
        r"shareq console of 127\.0\.0\.1:9 and 127\.0\.0\.1:10 at (http://127\.0\.0\.1:\d+)/, read-only\n", line
    )
    assert found, line
    with urllib.request.urlopen(f"{found[1]}/api/session?cluster=test", timeout=20) as answer:
        assert json.load(answer)["clusters"][1] == {"name": "test", "address": "127.0.0.1:10"}
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    process.stdout.close()


@pytest.mark.parametrize("more", [("127.0.0.1:9",), ("--api", "http://127.0.0.1:1"), ("--property", "a=b")])
def test_several_profiles_leave_nothing_to_options(more: tuple[str, ...]) -> None:
    code, text = refused(*more, "--profile", "work", "--profile", "test")
    assert (code, "several profiles: give their addresses" in text) == (2, True)
