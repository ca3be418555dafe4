"""Which of two forms of a module runs."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from shareq.protocol.compiled import is_made_of, quickest

SOURCE = b"ANSWER = 42\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[str, str]:
    """A module of `SOURCE`, and one that stands for its compiled form; their full names."""
    name = f"forms_of_{request.node.name.partition('[')[0]}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "answer.py").write_bytes(SOURCE)
    (folder / "_answer.py").write_bytes(SOURCE + b"SOURCE_CRC32 = %d\n" % zlib.crc32(SOURCE))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("SHAREQ_PURE", raising=False)
    return f"{name}._answer", f"{name}.answer"


def test_the_compiled_form_runs_where_it_is_of_the_source(package: tuple[str, str]) -> None:
    form = quickest(*package)
    assert form.__name__ == package[0]
    assert is_made_of(form, package[1])


def test_the_source_runs_where_it_has_changed_since(
    package: tuple[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = tmp_path / package[1].partition(".")[0] / "answer.py"
    source.write_bytes(b"ANSWER = 43\n")
    form = quickest(*package)
    assert (form.__name__, form.ANSWER) == (package[1], 43)
    (line,) = caplog.messages
    assert package[0] in line
    assert "install shareq again" in line


def test_the_source_runs_where_nothing_was_compiled_and_where_it_is_asked_for(
    package: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert quickest(f"{package[0]}_of_another_python", package[1]).__name__ == package[1]
    monkeypatch.setenv("SHAREQ_PURE", "1")
    assert quickest(*package).__name__ == package[1]


def test_a_compiled_form_without_a_source_beside_it_is_taken(package: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / package[1].partition(".")[0] / "answer.py").unlink()
    assert quickest(*package).__name__ == package[0]
