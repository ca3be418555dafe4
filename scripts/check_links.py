"""Check that every relative link in the documentation has a target, and that every file it names exists.

Checked: `[text](path#heading)` in all Markdown files; in README, ARCHITECTURE and docs/ also names in backticks that
look like a file of this repository (`broker/process/server.py`, `state_batches.py`). Links to the web are not followed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = {
    ".git",
    ".venv",
    ".venv-spark",
    ".venv-mutation",
    ".venv-docs",
    ".venv-queues",
    ".cache",
    "dist",
    "build",
    "node_modules",
    "target",
    "shareq-data",
}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
NAMED_FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)*\.(?:py|md|json|toml|txt|sh|pom\.xml|xml))`")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
# Made at run time or belonging to the user, so never in the checkout.
ELSEWHERE = {"server.properties", "partition.metadata"}


def main() -> int:
    documents = [path for path in _files() if path.suffix == ".md"]
    problems = [problem for document in sorted(documents) for problem in _problems(document)]
    for problem in problems:
        print(problem)
    print(f"{len(documents)} documents, {len(problems)} broken links or names")
    return 1 if problems else 0


def _problems(document: Path) -> Iterator[str]:
    text = FENCE.sub("", document.read_text())
    where = document.relative_to(ROOT)
    for target in LINK.findall(text):
        if not re.match(r"[a-z]+:", target) and not _leads_somewhere(document, target):
            yield f"{where}: link to {target}: nothing there"
    if where.parts[0] == "docs" or where.name in ("README.md", "ARCHITECTURE.md"):
        for name in NAMED_FILE.findall(text):
            if name not in ELSEWHERE and not _is_a_file_here(name):
                yield f"{where}: `{name}`: no such file"


def _leads_somewhere(document: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (document.parent / path) if path else document
    if not file.exists():
        return False
    return not anchor or file.suffix != ".md" or anchor in _anchors(file)


def _is_a_file_here(name: str) -> bool:
    """Return True for a path from the root, or for the end of one, because documents shorten paths."""
    return any(str(path.relative_to(ROOT)) == name or str(path).endswith(f"/{name}") for path in _files())


@cache
def _anchors(document: Path) -> frozenset[str]:
    """Return the headings as GitHub's anchors: lower case, spaces to hyphens, punctuation dropped."""
    headings = HEADING.findall(FENCE.sub("", document.read_text()))
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


@cache
def _files() -> tuple[Path, ...]:
    def walk(folder: Path) -> Iterator[Path]:
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink() and path.name not in SKIPPED:
                yield from walk(path)
            elif path.is_file():
                yield path

    return tuple(walk(ROOT))


if __name__ == "__main__":
    sys.exit(main())
