"""A release: the version is in one place, and the tag agrees with the changelog."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import shareq
from scripts import release


def checkout(root: Path, version: str, head: str) -> Path:
    (root / "src" / "shareq").mkdir(parents=True)
    (root / "src" / "shareq" / "__init__.py").write_text(f'"""shareq."""\n\n__version__ = "{version}"\n')
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n## {head}\n\n* Text.\n\n## 0.1.0, 2026-01-01\n")
    return root


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((release.ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"] == {"path": "src/shareq/__init__.py"}
    assert release.version() == shareq.__version__


def test_the_changelog_begins_with_this_version() -> None:
    assert not any("does not begin" in problem for problem in release.problems(f"v{shareq.__version__}"))


@pytest.mark.parametrize(
    ("tag", "head", "problem"),
    [
        ("v0.2.0", "0.2.0, 2026-12-01", None),
        ("0.2.0", "0.2.0, 2026-12-01", "the tag is"),
        ("v0.3.0", "0.2.0, 2026-12-01", "the tag is"),
        ("", "0.2.0, 2026-12-01", "the tag is"),
        ("v0.2.0", "0.3.0, 2026-12-01", "does not begin"),
        ("v0.2.0", "0.2.0, unreleased", "'unreleased' for the date"),
    ],
)
def test_what_does_not_agree_is_named(tmp_path: Path, tag: str, head: str, problem: str | None) -> None:
    found = list(release.problems(tag, checkout(tmp_path, "0.2.0", head)))
    assert len(found) == (problem is not None)
    assert problem is None or problem in found[0]
