"""Secrets and command lines, which every user of the machine can read: what a running broker shows, and refusals."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from shareq.broker.config.sources.on_command_line import has_secret
from shareq.testing import Broker
from shareq.testing.broker import child_environment
from tests.support.processes import finished

SECRET: Final = "through-the-looking-glass"
PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
JAAS: Final = "listener.name.clients.plain.sasl.jaas.config"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("ssl.keystore.password", SECRET, True),
        ("listener.name.secure.ssl.keystore.password", SECRET, True),
        ("listener.name.secure.ssl.keystore.location", "broker.p12", False),
        ("shareq.records.api.token", SECRET, True),
        ("shareq.records.api.token", "${env:TOKEN}", False),
        ("shareq.records.api.token", "${env:TOKEN}" + SECRET, True),
        ("shareq.records.api.token", "", False),
        (JAAS, f'{PLAIN} required user_alice="{SECRET}";', True),
        (JAAS, f'{PLAIN} required user_alice="${{file:/run/secrets/users:alice}}";', False),
        (JAAS, f'{PLAIN} required user_alice="${{file:/run/secrets/users:alice}}" user_bob={SECRET};', True),
        (JAAS, "${file:/run/secrets/users:jaas}", False),
        (JAAS, f'{PLAIN} required user_alice="{SECRET}', True),
        ("listener.name.clients.scram-sha-256.sasl.jaas.config", f"{SCRAM} required;", False),
        ("log.retention.ms", "1000", False),
        ("no.such.property", SECRET, False),
    ],
)
def test_what_is_a_secret(name: str, text: str, expected: bool) -> None:
    assert has_secret(name, text) is expected


@pytest.mark.parametrize(
    ("setting", "variable"),
    [
        ("shareq.records.api.token", "SHAREQ_SHAREQ_RECORDS_API_TOKEN"),
        ("listener.name.secure.ssl.key.password", "SHAREQ_LISTENER_NAME_SECURE_SSL_KEY_PASSWORD"),
    ],
)
def test_a_secret_in_an_option_is_refused_in_one_line(tmp_path: Path, setting: str, variable: str) -> None:
    command = [sys.executable, "-m", "shareq", "serve", "--data-dir", str(tmp_path / "data")]
    done = finished([*command, "--set", f"{setting}={SECRET}"], env=child_environment(), timeout_s=30)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"shareq: --set {setting}: every user of this machine can read it here: put it into the file of --config or "
        f"into the variable {variable}, or point to it with ${{file:...}} (config.providers)\n"
    )
    assert not (tmp_path / "data").exists()


def test_the_ways_that_are_named_leave_nothing_in_the_list_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets come from a file, a variable, references and a password file, all at once."""
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / "password").write_text(SECRET)
    (tmp_path / "server.properties").write_text(
        "config.providers=directory\n"
        "config.providers.directory.class=org.apache.kafka.common.config.provider.DirectoryConfigProvider\n"
        f'{JAAS}={PLAIN} required user_alice="{SECRET}";\n'
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256\nlistener.security.protocol.map=CLIENTS:SASL_PLAINTEXT\n"
        "shareq.records.api.listen=127.0.0.1:0\n"
    )
    monkeypatch.setenv("SHAREQ_SSL_KEYSTORE_PASSWORD", SECRET)
    options = (
        *("--config", str(tmp_path / "server.properties")),
        *("--set", f"shareq.records.api.token=${{directory:{tmp_path}:token}}"),
        *("--add-scram", f"SCRAM-SHA-256=[name=admin,password-file={tmp_path / 'password'}]"),
    )
    with Broker(mode="command", data_dir=tmp_path / "data", options=options) as broker:
        shown = Path(f"/proc/{broker.pid}/cmdline").read_bytes().split(b"\0")
        assert broker.records_api_url is not None
    assert b"--add-scram" in shown
    assert not any(SECRET.encode() in word for word in shown)
    assert "in the command line" not in broker.log


def test_brokers_of_shareq_testing_leave_nothing_there(tmp_path: Path) -> None:
    config = {"shareq.records.api.listen": "127.0.0.1:0", "shareq.records.api.token": SECRET}
    for mode in ("command", "process"):
        with Broker(mode=mode, config=config, data_dir=tmp_path / mode) as broker:
            assert SECRET.encode() not in Path(f"/proc/{broker.pid}/cmdline").read_bytes()
            assert broker.records_api_url is not None


def test_a_password_in_add_scram_is_taken_as_kafka_storage_takes_it_with_a_warning(tmp_path: Path) -> None:
    options = ("--add-scram", f"SCRAM-SHA-256=[name=admin,password={SECRET}]")
    with Broker(mode="command", data_dir=tmp_path / "data", options=options) as broker:
        pass
    (warning,) = [line for line in broker.log.splitlines() if "--add-scram" in line]
    assert warning.endswith(
        "--add-scram: every user of this machine can read the password of admin in the command line: "
        "password-file=FILE and password-env=NAME keep it out of there"
    )
    assert SECRET not in broker.log
