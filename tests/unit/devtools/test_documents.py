"""Documents with a generated part: only that part is replaced."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from devtools.documents import add_write_option, show_and_write, write_between


def test_only_what_stands_between_the_marks_is_replaced(tmp_path: Path) -> None:
    document = tmp_path / "result.md"
    document.write_text("before\n<!-- a -->\nold\n<!-- b -->\nafter\n")
    write_between(document, "<!-- a -->", "<!-- b -->", ["new", "and more"])
    assert document.read_text() == "before\n<!-- a -->\nnew\nand more\n<!-- b -->\nafter\n"


@pytest.mark.parametrize("text", ["nothing\n", "before\n<!-- a -->\nno end\n", "<!-- b -->\n<!-- a -->\n"])
def test_a_document_without_both_marks_is_refused(tmp_path: Path, text: str) -> None:
    document = tmp_path / "result.md"
    document.write_text(text)
    with pytest.raises(ValueError, match=r"has no <!-- a --> \.\.\. <!-- b -->"):
        write_between(document, "<!-- a -->", "<!-- b -->", ["new"])
    assert document.read_text() == text


def written(name: str) -> Path:
    """Parse `--write NAME`. Raise ArgumentError if it is refused."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_write_option(parser, "<!-- a -->", "<!-- b -->")
    named: Path = parser.parse_args(["--write", name]).write
    return named


@pytest.mark.parametrize(
    ("text", "has_place"),
    [("<!-- a -->\nold\n<!-- b -->\n", True), ("", False), ("<!-- a -->", False), ("<!-- b -->\n<!-- a -->", False)],
)
def test_an_option_names_a_document_with_both_marks(tmp_path: Path, text: str, has_place: bool) -> None:
    document = tmp_path / "benchmarks.md"
    document.write_text(text)
    if has_place:
        assert written(str(document)) == document
    else:
        with pytest.raises(argparse.ArgumentError, match=r"benchmarks.md must be a file with the lines <!-- a --> and"):
            written(str(document))


def test_a_document_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(argparse.ArgumentError, match="must be a file"):
        written(str(tmp_path / "none.md"))


def test_lines_are_shown_and_written_if_there_is_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "page.md"
    document.write_text("<!-- a -->\nold\n<!-- b -->\n")
    show_and_write(["one", "two"], None, "<!-- a -->", "<!-- b -->")
    assert "old" in document.read_text()
    show_and_write(["one", "two"], document, "<!-- a -->", "<!-- b -->")
    assert capsys.readouterr().out == "one\ntwo\n" * 2
    assert document.read_text() == "<!-- a -->\none\ntwo\n<!-- b -->\n"
