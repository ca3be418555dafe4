"""What an installation compiles: each part by itself, and the rest runs as Python. Without a compiler."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
import zlib
from collections.abc import Callable
from fnmatch import fnmatch
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[2]
SUFFIX: Final = EXTENSION_SUFFIXES[0]
WALKS: Final = ("_record_walk", "_run_walk", "_key_chains", "_offset_walk")


class _Hook:
    """hatchling's own, which is installed for a build alone."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)

    def __class_getitem__(cls, item: object) -> type[_Hook]:
        return cls


class Build:
    """A checkout in which parts cannot be compiled, and the build of it that hatchling would ask for."""

    def __init__(self, root: Path, scripts: ModuleType, hook: Callable[[Path], Any]) -> None:
        self.root, self.scripts, self._hook = root, scripts, hook
        self.failing: set[str] = set()
        self.compiled_together = 0
        self.data: dict[str, Any] = {"force_include": {}, "pure_python": True, "infer_tag": False}
        for source in (*scripts.SOURCES, *(Path(path.replace("*", "some")) for path in scripts.TOGETHER)):
            (root / source).parent.mkdir(parents=True, exist_ok=True)
            (root / source).write_text(f"# {source}\n")
        (root / "src" / "shareq").mkdir(parents=True)

    def compiled(self, source: Path, folder: Path) -> Path:
        if source.stem in self.failing:
            raise RuntimeError(f"{source.name}:1: error: of mypyc")
        built = folder / str(self.scripts.compiled_name(source))
        built.write_text(source.read_text())
        return built

    def together(self, root: Path, folder: Path) -> Path:
        self.compiled_together += 1
        if "together" in self.failing:
            raise RuntimeError("shareq/broker/share/leader.py:9: error: of the C compiler")
        forms = folder / "forms"
        forms.mkdir()
        sources = self.scripts.sources_together(root)
        for name in (self.scripts.LIBRARY, *sources):
            (forms / f"{name}{SUFFIX}").touch()
        lines = [f"{zlib.crc32(file.read_bytes())} {name}\n" for name, file in sources.items()]
        (forms / self.scripts.NAMES).write_text("".join(lines))
        return forms

    def run(self, version: str) -> None:
        hook = self._hook(self.root)
        hook.initialize(version, self.data)
        hook.finalize(version, self.data, "")

    def walks(self) -> set[str]:
        """The walks that are compiled in the checkout."""
        return {file.name.split(".")[0] for file in (self.root / "protocol" / "records").glob("*.so")}

    def has_forms(self) -> bool:
        """Whether the group is compiled in the checkout, of the sources as they are."""
        return bool(self.scripts.is_current(self.root))

    def in_wheel(self) -> set[str]:
        """What is compiled in the wheel; the group is its library."""
        paths = self.data["force_include"].values()
        return {Path(path).name.split(".")[0] for path in paths if Path(path).name.startswith(("_", "shareq__mypyc"))}


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = _Hook  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.syspath_prepend(ROOT / "scripts")
    monkeypatch.delitem(sys.modules, "compile_forms", raising=False)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scripts = sys.modules.pop("compile_forms")
    build = Build(tmp_path / "checkout", scripts, module.RecordWalkHook)
    monkeypatch.setattr(scripts, "compiled", build.compiled)
    monkeypatch.setattr(scripts, "compiled_together", build.together)
    monkeypatch.setattr(scripts, "why_not", lambda: None)
    return build


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """What the installation said, in one line if anything."""
    text = capsys.readouterr().err
    assert text.count("\n") <= 1
    return text


def test_all_of_it_is_compiled_without_a_word(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    build.run("editable")
    assert build.walks() == set(WALKS)
    assert build.has_forms()
    assert build.data["force_include"] == {}
    build.run("standard")
    assert build.in_wheel() == {*WALKS, "shareq__mypyc"}
    assert (build.data["pure_python"], build.data["infer_tag"]) == (False, True)
    assert said(capsys) == ""


def test_an_installation_prints_what_it_compiles_and_how_to_leave_it_out(
    build: Build, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was silent for minutes."""
    monkeypatch.delenv("PIP_BUILD_TRACKER", raising=False)
    build.run("standard")
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "compiling what a record passes through (about a minute); SHAREQ_PURE=1 leaves it out"
    monkeypatch.setattr(build.scripts, "why_not", lambda: "SHAREQ_PURE is set")
    build.run("standard")
    assert capsys.readouterr().out == ""


def test_a_part_that_ends_in_another_way_ends_the_installation(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: Path, folder: Path) -> Path:
        raise LookupError(source.name)

    monkeypatch.setattr(build.scripts, "compiled", broken)
    hook = build._hook(build.root)
    with pytest.raises(LookupError, match=r"record_walk\.py"):
        hook.initialize("standard", build.data)
    hook.finalize("standard", build.data, "")


@pytest.mark.parametrize("version", ["editable", "standard"])
def test_walks_are_compiled_when_the_group_cannot_be(
    build: Build, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    build.run("editable")
    (build.root / "broker" / "log" / "flush.py").write_text("# what mypyc does not take\n")
    build.failing = {"together"}
    build.run(version)
    assert (build.walks() if version == "editable" else build.in_wheel()) == set(WALKS)
    assert (build.root / build.scripts.FORMS).exists() is (version == "standard")
    line = said(capsys)
    assert "leader.py:9: error: of the C compiler" in line
    assert "nothing" not in line
    assert "record_walk" not in line


@pytest.mark.parametrize("version", ["editable", "standard"])
def test_the_group_is_compiled_when_walks_cannot_be(
    build: Build, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    build.failing = {"run_walk", "offset_walk"}
    build.run(version)
    if version == "editable":
        assert build.walks() == {"_record_walk", "_key_chains"}
        assert build.has_forms()
    else:
        assert build.in_wheel() == {"_record_walk", "_key_chains", "shareq__mypyc"}
    line = said(capsys)
    assert "run_walk.py:1: error: of mypyc" in line
    assert "offset_walk.py:1: error: of mypyc" in line
    assert "leader" not in line


def test_a_wheel_with_the_group_alone_is_for_this_python_and_platform(build: Build) -> None:
    build.failing = {name.removeprefix("_") for name in WALKS}
    build.run("standard")
    assert build.in_wheel() == {"shareq__mypyc"}
    assert (build.data["pure_python"], build.data["infer_tag"]) == (False, True)


def test_a_wheel_is_for_every_python_where_nothing_can_be_compiled(
    build: Build, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build.scripts, "why_not", lambda: "there is no cc")
    build.run("standard")
    assert build.data == {"force_include": {}, "pure_python": True, "infer_tag": False}
    assert said(capsys) == "shareq: nothing is compiled (there is no cc); it runs as Python, more slowly\n"


def test_what_was_compiled_in_a_checkout_is_removed_where_nothing_can_be(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.run("editable")
    monkeypatch.setattr(build.scripts, "why_not", lambda: "SHAREQ_PURE is set")
    build.run("editable")
    assert build.walks() == set()
    assert not (build.root / build.scripts.FORMS).exists()


@pytest.mark.parametrize("reason", [None, "SHAREQ_PURE is set"])
def test_a_wheel_leaves_alone_what_is_compiled_in_the_checkout(
    build: Build, monkeypatch: pytest.MonkeyPatch, reason: str | None
) -> None:
    build.run("editable")
    monkeypatch.setattr(build.scripts, "why_not", lambda: reason)
    build.run("standard")
    assert build.walks() == set(WALKS)
    assert build.has_forms()


def test_the_group_is_compiled_again_in_a_checkout_only_once_a_source_has_changed(build: Build) -> None:
    build.run("editable")
    build.run("editable")
    assert build.compiled_together == 1
    (build.root / "broker" / "share" / "another.py").write_text("# new\n")
    build.run("editable")
    assert build.compiled_together == 2
    assert build.has_forms()


def test_make_compiled_says_what_is_not(
    build: Build, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walks are not its business."""
    build.run("editable")
    (build.root / "broker" / "log" / "flush.py").write_text("# what mypyc does not take\n")
    build.failing = {"together"}
    monkeypatch.setattr(build.scripts, "ROOT", build.root)
    assert build.scripts.main() == 0
    assert build.walks() == set(WALKS)
    assert not (build.root / build.scripts.FORMS).exists()
    assert "leader.py:9: error: of the C compiler" in said(capsys)


def test_the_list_is_of_the_sources_before_they_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: Build
) -> None:
    """A source that is edited in that minute is not what was compiled."""
    monkeypatch.undo()
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: _edited(build, kwargs["cwd"]))
    folder = tmp_path / "folder"
    folder.mkdir()
    build.scripts.put(build.scripts.compiled_together(build.root, folder), build.root / build.scripts.FORMS)
    assert not build.has_forms()


def _edited(build: Build, folder: Path) -> subprocess.CompletedProcess[str]:
    """What mypyc leaves; meanwhile a source is edited."""
    for name in (
        build.scripts.LIBRARY,
        *(name.replace(".", "/") for name in build.scripts.sources_together(build.root)),
    ):
        made = folder / "built" / f"{name}{SUFFIX}"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.touch()
    (build.root / "broker" / "log" / "flush.py").write_text("# edited\n")
    return subprocess.CompletedProcess([], 0, "", "")


def test_what_a_build_imports_is_in_an_sdist_and_in_the_context_of_the_image() -> None:
    """An sdist has what git has, but for what is excluded; the image what `.dockerignore` lets in."""
    needed = ["hatch_build.py", "scripts/compile_forms.py", "src/shareq/compiled.py", "pyproject.toml", "README.md"]
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert "sdist" not in hatch["targets"]
    excluded = [pattern.lstrip("/") for pattern in hatch["exclude"]]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for path in needed:
        assert (ROOT / path).is_file()
        assert not any(fnmatch(path, pattern) or path.startswith(f"{pattern}/") for pattern in excluded), path
        assert any(f"!{part}" in ignored for part in (path, *map(str, Path(path).parents))), path
        assert path not in ignored
    assert "src/shareq/compiled_forms" in ignored  # of the machine that builds the image: not those
