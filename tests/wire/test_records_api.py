"""`serve --records-api` as a process: the start line, requests over HTTP, behind TLS, wrong options, stopping."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from devtools.kafka.certificates import why_unavailable
from devtools.ports import free_port
from shareq.testing import Broker
from shareq.testing.broker import Mode
from tests.support.clients.shareq_cli import Shell
from tests.support.waiting import until
from tests.wire.test_metrics import run
from tests.wire.test_tls import Pki, broker_of

TOKEN = "wire-operator-0123456789"


def get(
    url: str | None, token: str | None = TOKEN, context: ssl.SSLContext | None = None
) -> tuple[int, dict[str, Any]]:
    assert url is not None
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=60, context=context
        ) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_it_is_served_with_the_token_alone(mode: Mode) -> None:
    config = {"shareq.records.api.listen": "127.0.0.1:0", "shareq.records.api.token": TOKEN}
    with Broker(mode=mode, config=config) as broker:
        status, about = get(broker.records_api_url)
        assert (status, about["node_id"]) == (200, 1)
        assert get(broker.records_api_url, None)[0] == 401
        assert get(broker.records_api_url, "another-0123456789")[0] == 401
        status, groups = get(f"{broker.records_api_url}/share-groups")
        assert (status, groups["groups"]) == (200, [])


def test_options_win_over_properties_and_the_line_says_where(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    options = ("--records-api", "127.0.0.1:0", "--records-api-token-file", str(token))
    config = {"shareq.records.api.listen": "127.0.0.1:1", "shareq.records.api.token": "not-this-0123456789"}
    with Broker(config=config, options=options, metrics="127.0.0.1:0") as broker:
        assert broker.metrics_url is not None
        assert broker.records_api_url is not None
        assert get(broker.records_api_url)[0] == 200
        assert TOKEN not in broker.log


def test_it_is_off_unless_asked_for() -> None:
    with Broker() as broker:
        assert broker.records_api_url is None


def test_no_client_is_shown_the_token() -> None:
    config = {"shareq.records.api.listen": "127.0.0.1:0", "shareq.records.api.token": TOKEN}
    with Broker(config=config) as broker:
        shell = Shell(broker.bootstrap)
        rows = {row["name"]: row["value"] for row in shell.json("configs", "describe", "broker", "1", "--all")}
        assert rows["shareq.records.api.listen"] == "127.0.0.1:0"
        assert rows["shareq.records.api.token"] is None


def in_folder_with_tokens(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, token in (("token", TOKEN), ("short", "short")):
        (folder / name).write_text(token)
        (folder / name).chmod(0o600)  # readable to others, it would have a line of its own
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--records-api", "9465"], "--records-api 9465: must be HOST:PORT, for example 127.0.0.1:9465"),
        (["--records-api", "127.0.0.1:0"], "the records API needs a token"),
        (["--records-api", "127.0.0.1:0", "--records-api-token-file", "short"], "at least 16 visible characters"),
        (["--records-api", "127.0.0.1:0", "--records-api-token-file", "/nonexistent"], "/nonexistent: No such file"),
        (
            ["--set", "shareq.records.api.listen=here", "--records-api-token-file", "token"],
            "must be HOST:PORT",
        ),
        (["--records-api", "0.0.0.0:0", "--records-api-token-file", "token"], "open to other machines"),
        (
            [
                *("--records-api", "127.0.0.1:0", "--records-api-token-file", "token"),
                *("--set", "shareq.records.api.tls.listener=plaintext"),
            ],
            "tls.listener=PLAINTEXT: must be a listener with TLS: none",
        ),
    ],
)
def test_wrong_options_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    in_folder_with_tokens(tmp_path, monkeypatch)
    words = ("serve", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), *options)
    result = Shell("unused:1").run(*words)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert said in result.err
    assert TOKEN not in result.err
    assert not (tmp_path / "data").exists()


def test_a_taken_port_is_noticed_before_anything_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_folder_with_tokens(tmp_path, monkeypatch)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        options = ("--records-api", address, "--records-api-token-file", "token")
        result = run("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), *options)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert f"cannot serve the records API on {address}: the port is in use" in result.stderr
    assert not (tmp_path / "data").exists()


def test_it_cannot_be_where_clients_connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_folder_with_tokens(tmp_path, monkeypatch)
    address = f"127.0.0.1:{free_port()}"
    options = ("--records-api", address, "--records-api-token-file", "token")
    result = run("--listen", address, "--data-dir", str(tmp_path / "data"), *options)
    assert result.returncode == 2
    assert result.stderr == f"shareq: cannot serve the records API on {address}: clients of the broker connect there\n"


def test_other_machines_are_served_without_tls_only_where_that_is_said(tmp_path: Path) -> None:
    options = ("--records-api", "0.0.0.0:0", "--insecure")
    with Broker(config={"shareq.records.api.token": TOKEN}, options=options) as broker:
        assert broker.records_api_url is not None
        port = broker.records_api_url.split(":")[2].partition("/")[0]
        assert get(f"http://127.0.0.1:{port}/api/v1")[0] == 200
        assert "other machines may read its token" in broker.log


@pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))
def test_behind_tls_with_the_certificate_of_a_listener_also_when_it_is_renewed(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    pki = Pki(tmp_path / "pki")
    api = {"listen": "0.0.0.0:0", "token": TOKEN, "tls_listener": "ssl"}
    with broker_of(pki, **{f"shareq_records_api_{name}": text for name, text in api.items()}) as broker:
        assert broker.records_api_url is not None
        assert broker.records_api_url.startswith("https://0.0.0.0:")
        url = broker.records_api_url.replace("0.0.0.0", "localhost")
        assert get(url, context=pki.trusting())[0] == 200
        with pytest.raises(OSError):  # noqa: PT011 as the operating system has it
            get(url.replace("https", "http"))
        shutil.copy(pki.again.both, pki.path)
        os.kill(broker.pid, signal.SIGHUP)
        until(lambda: "listener SSL: certificate renewed: CN=server" in broker.log, "renewed")
        assert get(url, context=pki.trusting(pki.again_authority))[0] == 200
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            get(url, context=pki.trusting())
        assert "ERROR" not in broker.log
        assert "Traceback" not in broker.log
