"""The sources of the records API's address, in order: options, the environment, a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from shareq.ops.cli.shared.api import records_api
from shareq.ops.cli.shared.command import Session
from shareq.ops.cli.shared.profile import client_config
from shareq.ops.records_api import RecordsApi
from tests.support.clients.shareq_cli import Shell

HERE, THERE = "http://127.0.0.1:1111", "http://127.0.0.1:2222"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("one", "two", "three"):
        (tmp_path / name).write_text(f"token-{name}\n")
    (tmp_path / "shareq").mkdir()
    (tmp_path / "shareq" / "config.toml").write_text(
        f'[profiles.p]\nbootstrap.servers = "127.0.0.1:1"\napi.url = "{THERE}"\napi.token.file = "{tmp_path}/three"\n'
        'schema.registry.url = "http://registry"\n'
        f'[profiles.q]\napi.url = "{THERE}"\napi.token = "in-the-profile"\n'
    )
    return tmp_path


def found(
    files: Path, profile: str | None = None, url: str | None = None, token: str | None = None, **environment: str
) -> tuple[str, str] | None:
    given = {"XDG_CONFIG_HOME": str(files), **environment}
    session = Session(client_config(None, None, profile, (), 5, given), as_json=False, profile=profile)
    api = records_api(session, url, None if token is None else str(files / token), given)
    return None if api is None else (api.url, said_by(api))


def said_by(api: RecordsApi) -> str:
    return api._headers["Authorization"].removeprefix("Bearer ")


def test_nothing_names_one(files: Path) -> None:
    assert found(files) is None
    assert found(files, SHAREQ_API_TOKEN="alone") is None


def test_the_first_wins(files: Path) -> None:
    there, here = f"{THERE}/api/v1", f"{HERE}/api/v1"
    assert found(files, "p") == (there, "token-three")
    assert found(files, "q") == (there, "in-the-profile")
    assert found(files, "p", SHAREQ_API_URL=HERE) == (here, "token-three")
    assert found(files, "p", SHAREQ_API_TOKEN="of-the-environment") == (there, "of-the-environment")
    assert found(files, "q", SHAREQ_API_TOKEN="no", SHAREQ_API_TOKEN_FILE=str(files / "two")) == (there, "token-two")
    assert found(files, "p", HERE, "one", SHAREQ_API_URL=THERE, SHAREQ_API_TOKEN="no") == (here, "token-one")
    assert found(files, SHAREQ_PROFILE="p") == (there, "token-three")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--api", HERE), "--api: it needs a token"),
        (("--api-token-file", "/nonexistent"), "--api-token-file: give --api, too"),
        (("--api", HERE, "--api-token-file", "/nonexistent"), "--api-token-file /nonexistent: No such file"),
    ],
)
def test_what_cannot_be_meant_is_one_line(words: tuple[str, ...], said: str) -> None:
    ran = Shell("127.0.0.1:1").run("share", "records", "packers", *words)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert said in ran.err


def test_a_wrong_url_and_an_api_that_is_not_there(files: Path) -> None:
    shell = Shell("127.0.0.1:1", SHAREQ_API_TOKEN="token")
    wrong = shell.run("share", "records", "packers", "--api", "ftp://here")
    assert (wrong.code, wrong.err) == (
        2,
        "shareq: ftp://here: must be the URL of a records API, for example http://127.0.0.1:9465\n",
    )
    away = shell.run("share", "records", "packers", "--api", "http://127.0.0.1:1")
    assert (away.code, away.err.count("\n")) == (3, 1)
    assert "no answer from the records API at http://127.0.0.1:1/api/v1" in away.err


def test_a_token_that_other_users_can_read_is_warned_of(files: Path) -> None:
    token = files / "one"
    shell = Shell("127.0.0.1:1")
    words = ("share", "records", "packers", "--api", "http://127.0.0.1:1", "--api-token-file", str(token))
    token.chmod(0o644)
    assert shell.run(*words).err.startswith(
        f"shareq: --api-token-file {token}: other users can read it: chmod 600 {token}\n"
    )
    for mode in (0o600, 0o640):
        token.chmod(mode)
        assert "can read it" not in shell.run(*words).err
