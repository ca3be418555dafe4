"""Which modules run compiled, and when: all that are listed, if their sources are what they were made of; else none."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import subprocess
import sys
import zlib
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from shareq.compiled import FOLDER, LIBRARY, NAMES, SEEN, CompiledForms, is_compiled, stay_pure
from shareq.protocol.compiled import wants_pure
from tests.support.processes import finished
from tests.support.python_form import FORM

ROOT: Final = Path(__file__).parents[2]
SUFFIX: Final = EXTENSION_SUFFIXES[0]


def _scripts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compile_forms", ROOT / "scripts" / "compile_forms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT: Final = _scripts()


class Package:
    """Sources `a.py` and `b/c.py` of a package, and a folder of what stands for their compiled forms."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root / "shareq", root / "forms"
        (self.root / "b").mkdir(parents=True)
        self.place = self.folder / SUFFIX.split(".")[1]
        self.place.mkdir(parents=True)
        for path in ("a.py", "b/c.py"):
            (self.root / path).write_text(f"# {path}\n")
        sources = {"shareq.a": "a.py", "shareq.b.c": "b/c.py"}
        (self.place / NAMES).write_text(
            "".join(f"{zlib.crc32((self.root / path).read_bytes())} {name}\n" for name, path in sources.items())
        )
        for name in (LIBRARY, *sources):
            (self.place / f"{name}{SUFFIX}").touch()

    def found(self) -> list[str]:
        """The modules whose compiled forms would run."""
        forms = CompiledForms(self.folder, self.root)
        names = (LIBRARY, "shareq.a", "shareq.b", "shareq.b.c", "shareq.d", "json")
        return [name for name in names if forms.find_spec(name) is not None]


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Package(tmp_path)


def test_all_that_are_listed_run_compiled(package: Package) -> None:
    assert package.found() == [LIBRARY, "shareq.a", "shareq.b.c"]
    spec = CompiledForms(package.folder, package.root).find_spec("shareq.b.c")
    assert spec is not None
    assert isinstance(spec.loader, ExtensionFileLoader)
    assert spec.origin == str(package.place / f"shareq.b.c{SUFFIX}")


def test_none_runs_when_one_source_has_changed_and_the_log_says_so(
    package: Package, caplog: pytest.LogCaptureFixture
) -> None:
    (package.root / "b" / "c.py").write_text("# changed\n")
    with caplog.at_level(logging.INFO):
        assert package.found() == []
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "shareq.b.c has changed since it was compiled" in caplog.text


def test_none_runs_when_a_source_has_changed_whose_constants_are_in_them(package: Package) -> None:
    seen = package.root / "d.py"
    seen.write_text("LIMIT: Final = 3\n")
    with (package.place / NAMES).open("a") as names:
        names.write(f"{zlib.crc32(seen.read_bytes())} shareq.d {SEEN}\n")
    assert package.found() == [LIBRARY, "shareq.a", "shareq.b.c"]  # and not d
    seen.write_text("LIMIT: Final = 7\n")
    assert package.found() == []


def test_constants_are_looked_for_where_they_are_defined() -> None:
    """`walk` has them from `record_walk`; both count, for either may have another value for them one day."""
    found = SCRIPT.sources_of_constants(ROOT)
    assert {"shareq.protocol.records.walk", "shareq.protocol.records.record_walk"} <= set(found)
    assert not set(found) & set(SCRIPT.sources_together(ROOT))
    assert all(file.is_file() for file in found.values())


def test_constants_are_followed_through_other_names(tmp_path: Path) -> None:
    (tmp_path / "broker" / "log").mkdir(parents=True)
    for path, text in {
        "broker/log/flush.py": "from shareq.here import MOST\n",
        "here.py": "from shareq.there import LIMIT as MOST\nfrom shareq.elsewhere import LIMIT\n",
        "there.py": "LIMIT = 3\n",
        "elsewhere.py": "LIMIT = 4\n",
    }.items():
        (tmp_path / path).write_text(text)
    assert list(SCRIPT.sources_of_constants(tmp_path)) == ["shareq.here", "shareq.there"]


@pytest.mark.parametrize(("asked", "is_looked_for"), [("1", False), ("0", True), ("", True)])
def test_none_is_looked_for_when_that_is_asked_for(asked: str, is_looked_for: bool) -> None:
    command = [
        sys.executable,
        "-c",
        "import shareq, shareq.compiled, sys; print(shareq.compiled._FORMS in sys.meta_path)",
    ]
    environment = {**os.environ, "SHAREQ_PURE": asked}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == str(is_looked_for)


def test_none_runs_when_a_source_is_gone_or_of_another_python(package: Package) -> None:
    (package.root / "a.py").unlink()
    assert package.found() == []
    package.place.rename(package.folder / "cpython-27")
    assert package.found() == []


@pytest.mark.parametrize("text", ["\xff", "x shareq.a\n", "1 shareq.a more\n", ""])
def test_none_runs_when_the_list_cannot_be_read(package: Package, text: str) -> None:
    (package.place / NAMES).write_text(text, "latin-1")
    assert package.found() == []


@pytest.mark.parametrize("name", [LIBRARY, "shareq.b.c"])
def test_none_runs_when_a_file_of_theirs_is_missing(package: Package, name: str) -> None:
    """As a kill in the middle of copying them leaves it."""
    (package.place / f"{name}{SUFFIX}").unlink()
    assert package.found() == []


def test_they_take_the_place_of_earlier_ones_as_a_whole(package: Package, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / NAMES).write_text("1 shareq.a\n")
    SCRIPT.put(made, package.place)
    assert {file.name for file in package.place.iterdir()} == {NAMES, SCRIPT.MADE_BY}
    assert [folder.name for folder in package.folder.iterdir()] == [package.place.name]
    assert not made.exists()


def test_none_runs_once_that_was_ruled_out(package: Package) -> None:
    forms = CompiledForms(package.folder, package.root)
    assert forms.find_spec("shareq.a") is not None
    forms.stay_pure()
    assert forms.find_spec("shareq.a") is None


def test_it_is_too_late_to_rule_them_out_when_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, LIBRARY, ModuleType(LIBRARY))
    with pytest.raises(RuntimeError, match="imported already"):
        stay_pure()


def test_the_form_that_was_asked_for_runs() -> None:
    current = SCRIPT.is_current(ROOT) and not wants_pure()
    from shareq.broker.share.core import partition

    assert is_compiled() is (FORM == "compiled" and current)
    assert Path(partition.__file__).suffix == (".py" if not is_compiled() else Path(SUFFIX).suffix)


def test_what_makes_them_puts_them_where_they_are_looked_for() -> None:
    assert CompiledForms(FOLDER, FOLDER.parent).folder == ROOT / SCRIPT.FORMS
    sources = SCRIPT.sources_together(ROOT)
    assert len(sources) > 40
    assert all((ROOT / "src").joinpath(*name.split(".")).with_suffix(".py").is_file() for name in sources)


def test_no_function_of_theirs_may_return_a_number_or_an_error() -> None:
    """mypyc takes `int | ErrorCode` for `int`: an ErrorCode comes out as a number, and is no error any more."""
    for file in SCRIPT.sources_together(ROOT).values():
        assert not re.search(
            r"\bint \| (ErrorCode|RecordState)\b|\b(ErrorCode|RecordState) \| int\b", file.read_text()
        ), file


@pytest.mark.parametrize("path", ["tests/interop/test_client_cluster.py", "tests/spark", "tests/container"])
def test_pytest_starts_where_conftests_of_folders_import_the_broker_first(path: str) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", path]
    done = finished(command, cwd=ROOT, timeout_s=120)
    assert done.returncode in (0, 5), done.stdout + done.stderr  # 5: none is collected, without PySpark
