"""Check that a release may be made of this checkout: `make release-check TAG=v0.2.0`.

The tag must name the version of src/shareq/__init__.py, its only place, and the changelog must have a dated section for
it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def version(root: Path = ROOT) -> str:
    """Return the version of the checkout."""
    found = re.search(r'^__version__ = "([^"]+)"$', (root / "src" / "shareq" / "__init__.py").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def problems(tag: str, root: Path = ROOT) -> Iterator[str]:
    """Yield the reasons against a release with that tag."""
    now = version(root)
    if tag != f"v{now}":
        yield f"the tag is {tag!r}, the version is {now}: it wants v{now}"
    heads = re.findall(r"^## (\S+), (.+)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if not heads or heads[0][0] != now:
        yield f"CHANGELOG.md does not begin with a section of {now}"
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", heads[0][1]):
        yield f"CHANGELOG.md has {heads[0][1]!r} for the date of {now}"


def main(tag: str) -> int:
    """Run the check; exit status 1 with a line for each problem."""
    found = list(problems(tag))
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
