"""Documents with a part that a command makes: that part alone is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.documents import write_between


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
