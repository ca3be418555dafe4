from __future__ import annotations

from pathlib import Path

import pytest

from scripts import check_words
from scripts.check_words import INSTEAD, main, problems_of


@pytest.mark.parametrize("word", INSTEAD)
def test_each_word_is_found_in_prose_of_every_folder(word: str) -> None:
    for name in ("ops/cli/main.py", "docs/tour.md", "tests/conftest.py"):
        assert list(problems_of(name, f"a\nb {word.title()}, c")) == [
            f"{name}:2: {word.title()}: write {INSTEAD[word]}"
        ]


@pytest.mark.parametrize("text", ["def test_it_is_told() -> None: ...", "TELL_EVERY_S = 1", "tell_nobody()"])
def test_names_are_looked_at_by_their_parts_in_tests_alone(text: str) -> None:
    assert len(list(problems_of("tests/unit/test_x.py", text))) == 1
    assert list(problems_of("broker/x.py", text)) == []


@pytest.mark.parametrize("text", ["storytelling", "retold", "tellers", "the latest", "celestial"])
def test_other_words_that_contain_one_are_right(text: str) -> None:
    assert list(problems_of("tests/unit/test_x.py", text)) == []


def test_the_list_is_that_of_contributing() -> None:
    text = (check_words.ROOT / "CONTRIBUTING.md").read_text()
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    assert INSTEAD.keys() - {"tells", "telling"} <= {word.strip(" ,") for row in rows for word in row.split()}


def test_one_word_fails_the_check_unless_its_file_is_exempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check_words, "ROOT", tmp_path)
    monkeypatch.setattr(check_words, "_files", lambda: ["README.md", "CONTRIBUTING.md", "image.png", "deleted.py"])
    (tmp_path / "README.md").write_text("plain words")
    (tmp_path / "CONTRIBUTING.md").write_text("told")
    (tmp_path / "image.png").write_bytes(b"\xff told")
    assert main() == 0
    (tmp_path / "README.md").write_text("somebody")
    assert main() == 1
    assert "README.md:1: somebody: write the caller" in capsys.readouterr().out
