"""Check of docstrings: in a package at most one in a hundred opens with a question word or a preposition.

"What a member holds" and "Of a topic's partitions, those that moved" leave out verb and subject. CONTRIBUTING.md wants
a verb ("Return the partitions that ...") or, of a class, a property and a module, a noun. Generated code has the
protocol's own texts.
"""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_PERCENT = 1.0
OPENINGS = frozenset(
    "what whether which who whose why how where when of as from for in on at with to by".split()  # noqa: SIM905
)
EXEMPT = ("protocol/generated/",)


def main() -> int:
    names = [name for name in _files() if not name.startswith(EXEMPT)]
    all_of, bad_of = Counter[str](), Counter[str]()
    problems: dict[str, list[str]] = {}
    for name in names:
        package = name.split("/")[0]
        for line, docstring in docstrings_of(_text(ROOT / name)):
            all_of[package] += 1
            if opening_of(docstring) in OPENINGS:
                bad_of[package] += 1
                problems.setdefault(package, []).append(f"{name}:{line}: {docstring.strip().splitlines()[0]}")
    over = [package for package in sorted(bad_of) if bad_of[package] * 100 > all_of[package] * MOST_PERCENT]
    for package in over:
        print(*problems[package], sep="\n")
    for package in sorted(all_of):
        print(f"{package:14}{bad_of[package]:6} of {all_of[package]:6}{' too many' if package in over else ''}")
    print(f"{all_of.total()} docstrings, {bad_of.total()} open with a question word or a preposition")
    return 1 if over else 0


def docstrings_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring of a module's source, those below constants and fields included."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node, clean=False)
            if docstring is not None:
                yield node.body[0].lineno, docstring
            for above, below in itertools.pairwise(node.body):
                match below:
                    case ast.Expr(ast.Constant(str() as text_below)) if isinstance(above, ast.Assign | ast.AnnAssign):
                        yield below.lineno, text_below


def opening_of(docstring: str) -> str:
    """Return the first word, in lower case; an empty string for a docstring that has none."""
    words = docstring.split(maxsplit=1)
    return words[0].strip("\"'`(.,:;").lower() if words else ""


def _text(path: Path) -> str:
    """Return an empty string for a link, and for a file that was deleted and not yet committed."""
    return path.read_text(encoding="utf-8") if path.is_file() and not path.is_symlink() else ""


def _files() -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(set(listed.split("\0")) - {""})


if __name__ == "__main__":
    sys.exit(main())
