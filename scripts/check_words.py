"""Check that no file uses a word that CONTRIBUTING.md replaces and that is never right here.

All text files that git tracks or would add are checked. In tests, tools and scripts the parts of names (`is_told`) are
checked as well, but not in the product. Schemas and generated code have the protocol's own texts.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTEAD = {
    "tell": "return, notify, log, show",
    "tells": "returns, notifies, logs, shows",
    "telling": "returning, notifying, logging, showing",
    "told": "returned, notified, logged, shown",
    "whoever": "the caller, the client, the member, the operator",
    "somebody": "the caller, the client, the member, the operator",
    "anew": "again",
    "lest": "so that ... not",
}
WORD = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)
PART_OF_A_NAME = re.compile(rf"(?<![a-z])({'|'.join(INSTEAD)})(?![a-z])", re.IGNORECASE)
PRODUCT_NAMES = re.compile(r"\bCANNOT_TELL\b")  # that tests import
BY_PARTS = ("tests/", "devtools/", "bench/", "examples/", "scripts/")
# The list itself, this check, and texts of others: the protocol's, and what Apache Kafka's tools print.
EXEMPT = (
    "CONTRIBUTING.md",
    "scripts/check_words.py",
    "tests/unit/scripts/test_check_words.py",
    "schemas/",
    "protocol/generated/",
    "tests/interop/transcripts/",
)


def main() -> int:
    names = [name for name in _files() if not name.startswith(EXEMPT)]
    problems = [problem for name in names for problem in problems_of(name, _text(ROOT / name))]
    for problem in problems:
        print(problem)
    print(f"{len(names)} files, {len(problems)} words to replace")
    return 1 if problems else 0


def problems_of(name: str, text: str) -> Iterator[str]:
    """Yield one line for each word. `name` is the file's path in the checkout."""
    pattern = PART_OF_A_NAME if name.startswith(BY_PARTS) else WORD
    for number, line in enumerate(text.splitlines(), 1):
        for found in pattern.findall(PRODUCT_NAMES.sub("", line)):
            yield f"{name}:{number}: {found}: write {INSTEAD[found.lower()]}"


def _text(path: Path) -> str:
    """Return the file's text, empty if it is not text, or was deleted and not yet committed."""
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return ""


def _files() -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(set(listed.split("\0")) - {""})


if __name__ == "__main__":
    sys.exit(main())
