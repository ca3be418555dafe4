"""Packages are folders at the root, to which `src/shareq/` links."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
OWN: Final = {"__init__.py", "__main__.py", "py.typed", "__pycache__"}
"""The entries of the package itself."""


def has_python(path: Path) -> bool:
    """Return whether the path is a module or contains one; a folder left by an earlier build contains none."""
    return path.suffix == ".py" or any(path.rglob("*.py"))


def test_every_package_is_a_folder_at_the_root_with_a_link_to_it() -> None:
    entries = {path.name: path for path in (ROOT / "src" / "shareq").iterdir() if path.name not in OWN}
    entries = {name: path for name, path in entries.items() if path.is_symlink() or has_python(path)}
    assert {name for name, path in entries.items() if not path.is_symlink()} == set()
    assert {name for name, path in entries.items() if path.resolve().relative_to(ROOT).parts[0] == "src"} == set()
    assert all(path.exists() for path in entries.values())
