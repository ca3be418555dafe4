"""Run the most relevant tests for half a minute: `quick_tests.py [COMMIT]`, from `make quick`.

First the tests that changed since COMMIT, that import a changed module, or that are in the folder mirroring its folder.
COMMIT is HEAD by default; `main` means the commit where the branch left main. Then the tests of the cores, which need
no process. No test begins after 20 s; the last lines say how many were left out.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SECONDS: Final = 20
CORES: Final = (
    "tests/unit/broker/share/core",
    "tests/unit/coordinator",
    "tests/unit/broker/quotas",
    "tests/unit/broker/disk",
    "tests/unit/client/share",
)
UNITS: Final = "tests/unit"
FRAMES: Final = "tests/frames"
PACKAGES: Final = ("aio", "broker", "client", "cluster", "coordinator", "ops", "protocol", "spark", "testing")
"""Folders at the top that are installed below `shareq`."""


def changed_since(commit: str) -> list[str]:
    """Return Python files that differ from where this branch left `commit`, and those that git does not know."""
    base = _git("merge-base", commit, "HEAD")
    return [*_git("diff", "--name-only", "--diff-filter=d", base[0], "--", "*.py"), *_git(*_UNKNOWN)]


_UNKNOWN: Final = ("ls-files", "--others", "--exclude-standard", "--", "*.py")


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"make quick: git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def module_of(path: str) -> str:
    """Return the name by which others import the file."""
    parts = list(Path(path).with_suffix("").parts)
    if parts[0] == "src":
        del parts[0]
    elif parts[0] == "integrations":
        parts[0] = "shareq"
    elif parts[0] in PACKAGES:
        parts.insert(0, "shareq")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(text: str) -> Iterator[str]:
    """Yield the names of all modules that a source may import: for `from a import b`, both `a` and `a.b`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def importers(modules: Iterable[str], tests: Iterable[Path]) -> list[Path]:
    """Return the tests that import one of the modules directly."""
    wanted = set(modules)
    last = [module.rpartition(".")[2] for module in wanted]
    found = []
    for test in tests:
        text = test.read_text("utf-8")
        if any(name in text for name in last) and not wanted.isdisjoint(imported(text)):
            found.append(test)
    return found


def mirrors(path: str, root: Path) -> list[Path]:
    """Return the tests in the folder that mirrors the file's, those with its name first, then tests by frames.

    Many tests use a world of `tests/support`, and do not import the module that they test. Tests by frames are chosen
    by the name of the file or its room.
    """
    stem = Path(path).stem
    folder = root / UNITS / Path(path).parent
    beside = sorted(folder.glob("test_*.py"), key=lambda test: (not test.stem.startswith(f"test_{stem}"), test))
    rooms = Path(path).with_suffix("").parts
    return beside + [test for room in rooms for test in sorted((root / FRAMES / room).glob("test_*.py"))]


def chosen(changed: Sequence[str], root: Path = ROOT) -> list[str]:
    """Return the test files that pytest is to run, in order, each once."""
    tests = [test for folder in (UNITS, FRAMES) for test in sorted((root / folder).rglob("test_*.py"))]
    own = [path for path in changed if path.startswith((UNITS, FRAMES)) and Path(path).name.startswith("test_")]
    beside = importers([module_of(path) for path in changed], tests)
    mirrored = [test for path in changed for test in mirrors(path, root)]
    cores = [test for core in CORES for test in tests if test.is_relative_to(root / core)]
    return list(dict.fromkeys([*own, *(str(path.relative_to(root)) for path in (*beside, *mirrored, *cores))]))


def main(commit: str) -> int:
    """Run the tests in two processes, and print the output of each."""
    changed = changed_since(commit)
    files = chosen(changed)
    print(f"{len(changed)} Python files differ from {commit}; tests of {len(files)} files", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.time_limit", f"--begin-within={SECONDS}"]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not spark and not interop"]
    running = [
        subprocess.Popen([*command, *half], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for half in (files[::2], files[1::2])
    ]
    for process in running:
        print(process.communicate()[0], end="", flush=True)
    return max(process.returncode for process in running)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "HEAD"))
