"""Lines of Python with indentation, wrapped as the formatter would."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

WIDTH: Final = 120
_STEP: Final = 4
_OPENING: Final = '"""'


class CodeBuffer:
    """Lines of code, and the current indentation."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str = "") -> None:
        """Append a line at the current indentation; an empty one gets no indentation."""
        self._lines.append(" " * (self._depth * _STEP) + text if text else "")

    @property
    def length(self) -> int:
        """The number of lines."""
        return len(self._lines)

    def fits(self, text: str) -> bool:
        """Return True if a line with this text stays within the width."""
        return self._depth * _STEP + len(text) <= WIDTH

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Append `header` (with its colon), and indent the lines inside the `with` below it."""
        self.line(header)
        with self.indented():
            yield

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indent the lines inside the `with` by one step."""
        self._depth += 1
        yield
        self._depth -= 1

    def blank(self, count: int = 2) -> None:
        """Append empty lines, unless the buffer is empty."""
        if self._lines:
            self._lines.extend([""] * count)

    def bracketed(
        self, head: str, items: Sequence[str], tail: str, *, one_per_line: bool = False, display: bool = False
    ) -> None:
        """Append `head`, comma-separated items and `tail`, on several lines if they are too long for one.

        First the arguments move to a line of their own; if they are still too long, each gets a line. The items of a
        `display` (tuple, dict) get one line each at once.
        """
        joined = ", ".join(items)
        if not one_per_line and self.fits(head + joined + tail):
            self.line(head + joined + tail)
            return
        self.line(head)
        with self.indented():
            if not (one_per_line or display) and self.fits(joined):
                self.line(joined)
            else:
                for item in items:
                    self.line(f"{item},")
        self.line(tail)

    def docstring(self, text: str) -> None:
        """Append a docstring with wrapped lines. Line breaks of the text stay."""
        width = WIDTH - self._depth * _STEP
        if "\n" not in text and len(text) + 6 <= width:
            self.line(f'"""{_in_docstring(text, ends=True)}"""')
            return
        wrapped: list[str] = []
        for paragraph in (_OPENING + text).split("\n"):
            wrapped.extend(textwrap.wrap(paragraph, width) or [""])
        first, *rest = wrapped
        self.line(_OPENING + _in_docstring(first.removeprefix(_OPENING)))
        for line in rest:
            self.line(_in_docstring(line))
        self.line('"""')

    def comment(self, text: str) -> None:
        """Append a `#` comment with wrapped lines."""
        for line in textwrap.wrap(text, WIDTH - self._depth * _STEP - 2):
            self.line(f"# {line}")

    def extend(self, other: CodeBuffer) -> None:
        """Append all lines of another buffer, with its indentation."""
        self._lines.extend(other._lines)

    def text(self) -> str:
        """Return the whole text, ending in one newline."""
        return "\n".join(self._lines).rstrip("\n") + "\n"


def literal(value: bool | int | float | str | bytes | None) -> str:
    """Return a Python literal with the formatter's quotes."""
    if isinstance(value, str):
        return '"' + _escaped(value).replace('"', '\\"') + '"'
    if isinstance(value, bytes):
        if not any(value) and len(value) == 16:
            return "ZERO_UUID"
        return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
    return repr(value)


def _in_docstring(line: str, *, ends: bool = False) -> str:
    """Return a line escaped for a docstring, so that it neither ends the docstring nor changes its closing quotes."""
    escaped = _escaped(line)
    if _OPENING in line or (ends and line.endswith('"')):
        return escaped.replace('"', '\\"')
    return escaped


def _escaped(text: str) -> str:
    """Return the text with escapes for backslashes, and for invisible or forbidden characters."""
    return "".join(_ESCAPES.get(char) or (char if char.isprintable() else _code(char)) for char in text)


_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _code(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
