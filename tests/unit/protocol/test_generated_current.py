"""`protocol/generated/` must match the generator's output for `schemas/`; the command reports any difference."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shareq.protocol.generator.__main__ import GENERATED, SCHEMAS, main

_KEPT = ("ShareFetchRequest", "ShareFetchResponse", "ShareSnapshotKey", "ShareSnapshotValue")


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    copy = tmp_path / "schemas"
    copy.mkdir()
    for name in ("KAFKA_VERSION", "errors.json"):
        shutil.copy(SCHEMAS / name, copy / name)
    for path in SCHEMAS.glob("*/*.json"):
        if path.stem in _KEPT:
            (copy / path.parent.name).mkdir(exist_ok=True)
            shutil.copy(path, copy / path.parent.name / path.name)
    return copy


def run(schemas: Path, out: Path, *more: str) -> int:
    return main(["--schemas", str(schemas), "--out", str(out), *more])


def test_an_edited_schema_gives_an_edited_codec(schemas: Path, tmp_path: Path) -> None:
    out = tmp_path / "generated"
    assert run(schemas, out) == 0
    assert (out / "share_fetch.py").read_text("utf-8") == (GENERATED / "share_fetch.py").read_text("utf-8")

    path = schemas / "rpc" / "ShareFetchRequest.json"
    text = path.read_text("utf-8").replace('"validVersions": "1-2"', '"validVersions": "1-3"')
    added = '{ "name": "Colour", "type": "string", "versions": "3+" },\n    { "name": "Topics"'
    path.write_text(text.replace('{ "name": "Topics"', added), "utf-8")
    assert run(schemas, out, "--check") == 1
    assert run(schemas, out) == 0

    edited: dict[str, object] = {}
    exec((out / "share_fetch.py").read_text("utf-8"), edited)  # our own text
    request = edited["ShareFetchRequest"]
    assert request.MAX_VERSION == 3  # type: ignore[attr-defined]
    data = request(group_id="g", colour="red").encode(3)  # type: ignore[operator]
    assert request.decode(data, 3)[0].colour == "red"  # type: ignore[attr-defined]


def test_check_names_what_is_stale_and_writes_nothing(
    schemas: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "generated"
    run(schemas, out)
    capsys.readouterr()
    assert run(schemas, out, "--check") == 0
    (out / "share_snapshot.py").write_text("# edited by hand\n")
    (out / "left_over.py").write_text("")
    (out / "share_fetch.py").unlink()
    before = {path.name for path in out.iterdir()}
    assert run(schemas, out, "--check") == 1
    assert {path.name for path in out.iterdir()} == before
    said = capsys.readouterr().err.splitlines()
    assert [Path(line.removeprefix("stale: ")).name for line in said] == [
        "left_over.py",
        "share_fetch.py",
        "share_snapshot.py",
    ]
    assert run(schemas, out) == 0
    assert run(schemas, out, "--check") == 0


def test_a_wrong_schema_is_named_and_nothing_is_written(
    schemas: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "generated"
    path = schemas / "rpc" / "ShareFetchRequest.json"
    path.write_text(path.read_text("utf-8").replace('"type": "request"', '"type": "request", "colour": "red"'), "utf-8")
    assert run(schemas, out) == 2
    assert capsys.readouterr().err == "rpc/ShareFetchRequest.json: unknown key colour\n"
    assert not out.exists()


def test_two_files_of_one_message_are_refused(schemas: Path, tmp_path: Path) -> None:
    shutil.copy(schemas / "rpc" / "ShareFetchRequest.json", schemas / "rpc" / "Copy.json")
    assert run(schemas, tmp_path / "generated") == 2


def test_the_command_runs_and_generated_code_is_current() -> None:
    """If this check fails, run `python -m shareq.protocol.generator`."""
    command = [sys.executable, "-m", "shareq.protocol.generator", "--check"]
    root = GENERATED.parents[1]
    done = subprocess.run(command, cwd=root, env={"PYTHONPATH": str(root / "src")}, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
