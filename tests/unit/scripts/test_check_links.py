from __future__ import annotations

from pathlib import Path

import pytest

from scripts import check_links


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(check_links, "ROOT", tmp_path)
    check_links._files.cache_clear()
    check_links._anchors.cache_clear()
    (tmp_path / "broker").mkdir()
    (tmp_path / "broker" / "server.py").touch()
    return tmp_path


def problems(root: Path, text: str) -> list[str]:
    document = root / "README.md"
    document.write_text(text)
    return list(check_links._problems(document))


def test_links_to_files_folders_and_headings(root: Path) -> None:
    text = "# Big Title, here\n[a](broker/server.py) [b](broker) [c](#big-title-here) [d](https://example.org/x)\n"
    assert problems(root, text) == []


def test_broken_link_and_broken_heading(root: Path) -> None:
    assert len(problems(root, "[a](broker/gone.py) [b](#nowhere)")) == 2


def test_named_files_may_be_shortened(root: Path) -> None:
    assert problems(root, "`broker/server.py`, `server.py`, `x.y`, `a - b.py`") == []
    assert problems(root, "`client.py`") == ["README.md: `client.py`: no such file"]


def test_code_blocks_are_not_read(root: Path) -> None:
    assert problems(root, "```\n[a](gone) `gone.py`\n```\n") == []
