"""The choice of a pass's form: compiled from the current sources, or the sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.pass_forms import compiled
from shareq.protocol.passes import FOLDER, compiled_folder, search_path, sources, wants_python


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of two sources, with a folder for their compiled form."""
    monkeypatch.delenv("SHAREQ_PURE", raising=False)
    (tmp_path / "__init__.py").write_text("# this one is not compiled\n")
    (tmp_path / "one.py").write_text("ANSWER = 42\n")
    (tmp_path / "two.py").write_text("ANSWER = 43\n")
    compiled_folder(tmp_path).mkdir(parents=True)
    return tmp_path


def test_the_compiled_form_is_looked_for_first(package: Path) -> None:
    assert search_path(package) == [str(compiled_folder(package)), str(package)]


def test_the_sources_run_where_one_has_changed_since(package: Path, caplog: pytest.LogCaptureFixture) -> None:
    (package / "__init__.py").write_text("# changed\n")
    assert len(search_path(package)) == 2
    (package / "two.py").write_text("ANSWER = 44\n")
    assert search_path(package) == [str(package)]
    (line,) = caplog.messages
    assert "install shareq again" in line


def test_the_sources_run_where_nothing_was_compiled(package: Path, caplog: pytest.LogCaptureFixture) -> None:
    compiled_folder(package).rmdir()
    (package / "compiled").rmdir()
    assert search_path(package) == [str(package)]
    assert caplog.messages == []


@pytest.mark.parametrize(("asked", "paths"), [("1", 1), ("0", 2), ("", 2)])
def test_the_sources_run_where_that_is_asked_for(
    package: Path, monkeypatch: pytest.MonkeyPatch, asked: str, paths: int
) -> None:
    monkeypatch.setenv("SHAREQ_PURE", asked)
    assert len(search_path(package)) == paths


@pytest.mark.skipif(wants_python() or not (FOLDER / "compiled").is_dir(), reason="nothing was compiled here")
@pytest.mark.parametrize("name", [source.stem for source in sources(FOLDER)])
def test_what_is_compiled_is_of_these_sources(name: str) -> None:
    """Stale modules mean that `make` must set up the environment again; tests of both forms would run only one."""
    assert compiled(name) is not None
