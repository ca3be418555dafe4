from __future__ import annotations

from pathlib import Path

import pytest

from scripts import docstring_openings
from scripts.docstring_openings import docstrings_of, main, opening_of

SOURCE = '''"""Module."""

class Thing:
    """A thing."""

    async def wait(self):
        """
        Wait.
        """

    def silent(self): return "What it is"
'''


def test_docstrings_of_modules_classes_and_functions_are_found() -> None:
    found = [(line, docstring.strip()) for line, docstring in docstrings_of(SOURCE)]
    assert found == [(1, "Module."), (4, "A thing."), (7, "Wait.")]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ('MOST = 3\n"""Of one part."""\n', 2),
        ('class Thing:\n    names: str\n    """Of one part."""\n', 3),
    ],
    ids=["constant", "field"],
)
def test_a_text_below_a_constant_or_a_field_is_found(source: str, line: int) -> None:
    assert list(docstrings_of(source)) == [(line, "Of one part.")]


@pytest.mark.parametrize(
    ("docstring", "opening"),
    [
        ("What it is.", "what"),
        ('\n    "Of": a word', "of"),
        ("(As before.)", "as"),
        ("Whatever", "whatever"),
        (" ", ""),
    ],
)
def test_the_opening_is_a_whole_word_without_marks(docstring: str, opening: str) -> None:
    assert opening_of(docstring) == opening


def test_a_package_fails_alone_and_only_above_one_in_a_hundred(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broker").mkdir()
    (tmp_path / "client").mkdir()
    monkeypatch.setattr(docstring_openings, "ROOT", tmp_path)
    monkeypatch.setattr(
        docstring_openings, "_files", lambda: ["broker/a.py", "client/b.py", "deleted.py", "protocol/generated/c.py"]
    )
    (tmp_path / "client" / "b.py").write_text('"""A module."""\n')
    functions = [f'def f{n}():\n    """Return {n}."""\n' for n in range(98)]
    (tmp_path / "broker" / "a.py").write_text('"""How."""\n' + "".join(functions) + 'class A:\n    """A class."""\n')
    assert main() == 0
    (tmp_path / "broker" / "a.py").write_text('"""How."""\n' + "".join(functions))
    assert main() == 1
    out = capsys.readouterr().out.splitlines()
    assert "broker/a.py:1: How." in out
    assert out[-1] == "100 docstrings, 1 open with a question word or a preposition"
