"""The lines of the log: one for each event, whatever clients call their groups."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from io import StringIO

import pytest

from shareq.broker.process import logging_setup


@pytest.fixture
def lines() -> Iterator[StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = StringIO()
    logging_setup.configure(stream=stream)
    yield stream
    root.handlers = handlers
    root.setLevel(level)


def test_a_name_with_line_breaks_forges_no_line(lines: StringIO) -> None:
    logging.getLogger("a").info("group %s: changed", "g\n2026-01-01 ERROR b: forged\r\x1b[2J\x85\u2028 Größe ☕")
    (line,) = lines.getvalue().split("\n")[:-1]
    assert line.endswith(r"INFO a: group g\x0a2026-01-01 ERROR b: forged\x0d\x1b[2J\x85\u2028 Größe ☕: changed")


def test_a_traceback_keeps_its_lines(lines: StringIO) -> None:
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("a").exception("it failed")
    first, *_, last = lines.getvalue().splitlines()
    assert first.endswith("ERROR a: it failed")
    assert last == "ValueError: why"
