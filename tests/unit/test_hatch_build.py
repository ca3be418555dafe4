"""Modules that an installation compiles one by one, while the rest runs as Python; without a compiler."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[2]
NAMES: Final = {"one", "two", "three"}


class _Hook:
    """A replacement of hatchling's class, which is installed only for a build."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)

    def __class_getitem__(cls, item: object) -> type[_Hook]:
        return cls


class Build:
    """A checkout in which some modules cannot be compiled, and its build as run by hatchling."""

    def __init__(self, root: Path, script: ModuleType, hook: Callable[[Path], Any]) -> None:
        self.root, self.script, self.hook = root, script, hook
        self.sources = root / script.PASSES
        self.failing: set[str] = set()
        self.data: dict[str, Any] = {"force_include": {}, "pure_python": True, "infer_tag": False}
        self.sources.mkdir(parents=True)
        for name in (*NAMES, "__init__"):
            (self.sources / f"{name}.py").write_text(f"# {name}\n")

    def compiled(self, source: Path, folder: Path) -> Path:
        if source.stem in self.failing:
            raise RuntimeError(f"{source.name}:1: error: of mypyc")
        built = folder / f"{source.stem}{self.script.SUFFIX}"
        built.write_text(source.read_text())
        return built

    def run(self, version: str) -> None:
        hook = self.hook(self.root)
        hook.initialize(version, self.data)
        hook.finalize(version, self.data, "")

    def in_checkout(self) -> set[str]:
        return {file.name.removesuffix(self.script.SUFFIX) for file in self.script.place(self.root).glob("*")}

    def in_wheel(self) -> set[str]:
        """Return the modules compiled in the wheel, at the place where they are imported from."""
        place = f"shareq/{self.script.place(self.root).relative_to(self.root)}/"
        paths: list[str] = list(self.data["force_include"].values())
        assert all(path.startswith(place) for path in paths)
        return {path.removeprefix(place).removesuffix(self.script.SUFFIX) for path in paths}


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = _Hook  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.syspath_prepend(ROOT / "scripts")
    monkeypatch.delitem(sys.modules, "compile_passes", raising=False)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    script = sys.modules.pop("compile_passes")
    build = Build(tmp_path / "checkout", script, module.CompiledPassesHook)
    monkeypatch.setattr(script, "compiled", build.compiled)
    monkeypatch.setattr(script, "why_not", lambda: None)
    return build


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the installation's message, which has at most one line."""
    text = capsys.readouterr().err
    assert text.count("\n") <= 1
    return text


def test_all_of_it_is_compiled_without_a_word(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    build.run("editable")
    assert build.in_checkout() == NAMES
    assert build.data["force_include"] == {}
    build.run("standard")
    assert build.in_wheel() == NAMES
    assert (build.data["pure_python"], build.data["infer_tag"]) == (False, True)
    assert said(capsys) == ""


def test_a_module_that_fails_in_another_way_ends_the_installation(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(source: Path, folder: Path) -> Path:
        raise LookupError(source.name)

    monkeypatch.setattr(build.script, "compiled", broken)
    hook = build.hook(build.root)
    with pytest.raises(LookupError, match=r"\.py"):
        hook.initialize("standard", build.data)
    hook.finalize("standard", build.data, "")


@pytest.mark.parametrize("version", ["editable", "standard"])
def test_some_are_compiled_when_others_cannot_be(
    build: Build, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    build.failing = {"one", "two"}
    build.run(version)
    assert (build.in_checkout() if version == "editable" else build.in_wheel()) == {"three"}
    line = said(capsys)
    assert "one.py:1: error: of mypyc" in line
    assert "two.py:1: error: of mypyc" in line
    assert "three" not in line


def test_a_wheel_is_for_every_python_where_nothing_can_be_compiled(
    build: Build, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build.script, "why_not", lambda: "there is no cc")
    build.run("standard")
    assert build.data == {"force_include": {}, "pure_python": True, "infer_tag": False}
    assert said(capsys) == "shareq: nothing is compiled (there is no cc); it runs as Python, more slowly\n"


def test_what_was_compiled_in_a_checkout_is_removed_where_nothing_can_be(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.run("editable")
    monkeypatch.setattr(build.script, "why_not", lambda: "SHAREQ_PURE is set")
    build.run("editable")
    assert build.in_checkout() == set()


def test_what_was_compiled_of_other_sources_is_removed_and_that_for_another_python_stays(build: Build) -> None:
    build.run("editable")
    before = build.script.place(build.root)
    (build.sources / "two.py").write_text("# changed\n")
    build.run("editable")
    assert build.in_checkout() == NAMES
    assert not before.exists()
    other = build.script.place(build.root) / "two.cpython-39-x86_64-linux-gnu.so"
    other.touch()
    build.failing = NAMES
    build.run("editable")
    assert list(build.script.place(build.root).iterdir()) == [other]


@pytest.mark.parametrize("reason", [None, "SHAREQ_PURE is set"])
def test_a_wheel_leaves_alone_what_is_compiled_in_the_checkout(
    build: Build, monkeypatch: pytest.MonkeyPatch, reason: str | None
) -> None:
    build.run("editable")
    monkeypatch.setattr(build.script, "why_not", lambda: reason)
    build.run("standard")
    assert build.in_checkout() == NAMES


def test_a_source_that_is_edited_while_it_is_compiled_is_not_what_was_compiled(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edited(source: Path, folder: Path) -> Path:
        (build.sources / "two.py").write_text("# edited\n")
        return build.compiled(source, folder)

    monkeypatch.setattr(build.script, "compiled", edited)
    build.run("editable")
    assert build.in_checkout() == set()


def test_what_a_build_imports_is_in_an_sdist_and_in_the_context_of_the_image() -> None:
    """An sdist has all files of git except excluded ones, the image those that `.dockerignore` admits."""
    needed = ["hatch_build.py", "scripts/compile_passes.py", "protocol/passes", "pyproject.toml", "README.md"]
    needed += ["src/shareq/__init__.py"]  # has the version
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert "sdist" not in hatch["targets"]
    excluded = [pattern.lstrip("/") for pattern in hatch["exclude"]]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for path in needed:
        assert (ROOT / path).exists()
        assert not any(fnmatch(path, pattern) or path.startswith(f"{pattern}/") for pattern in excluded), path
        assert any(f"!{part}" in ignored for part in (path, *map(str, Path(path).parents))), path
        assert path not in ignored
    for path in hatch["targets"]["wheel"]["only-include"]:  # hatchling silently leaves out missing files
        assert f"!{Path(path).parts[0]}" in ignored, path
    links = {str(path.relative_to(ROOT)) for path in (ROOT / "src" / "shareq").iterdir() if path.is_symlink()}
    assert links <= {*ignored}
    assert "protocol/passes/compiled" in ignored  # those of the machine that builds the image are excluded


def test_a_module_is_whole_as_soon_as_it_is_there(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off: list[Path] = []

    def copy(source: Path, target: Path) -> Path:
        file = target / source.name if target.is_dir() else target
        file.write_text(source.read_text()[:1])
        modules = build.script.place(build.root).glob(f"[!.]*{build.script.SUFFIX}")
        cut_off.extend(each for each in modules if len(each.read_text()) == 1)
        file.write_text(source.read_text())
        return file

    monkeypatch.setattr("shutil.copy", copy)
    build.run("editable")
    assert cut_off == []
    assert build.in_checkout() == {*NAMES}
