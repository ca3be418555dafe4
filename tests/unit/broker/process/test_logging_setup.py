"""Log lines: one per event, whatever names clients choose."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from io import StringIO

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.network.audit_log import AuditLog
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


@pytest.fixture
def json_lines(lines: StringIO) -> StringIO:
    """Configure JSON lines; the fixture `lines` restores the configuration."""
    logging_setup.configure(log_format="json", stream=lines)
    return lines


def test_json_has_one_object_a_line_with_fields(json_lines: StringIO) -> None:
    name = "g\n{}\u2028 Größe \x85"
    logging.getLogger("a.b").warning("group %s", name, extra={"fields": {"group": name, "attempts": 5}})
    (line,) = json_lines.getvalue().splitlines()
    assert line.isascii()
    event = json.loads(line)
    time = event.pop("time")
    assert len(time) == len("2026-01-01T00:00:00.000Z")
    assert (time[10], time[-1]) == ("T", "Z")
    assert event == {
        "level": "WARNING",
        "logger": "a.b",
        "message": f"group {name}",
        "fields": {"group": name, "attempts": 5},
    }


def test_json_keeps_a_traceback_in_its_line(json_lines: StringIO) -> None:
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("a").exception("it failed")
    (line,) = json_lines.getvalue().splitlines()
    event = json.loads(line)
    assert set(event) == {"time", "level", "logger", "message", "exception"}
    assert event["exception"].splitlines()[-1] == "ValueError: why"


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("debug", {"": logging.DEBUG}),
        ("WARNING,a.b=DEBUG", {"": logging.WARNING, "a.b": logging.DEBUG}),
        (" a = ERROR , INFO ", {"a": logging.ERROR, "": logging.INFO}),
    ],
)
def test_levels_of_all_and_of_single_loggers(text: str, levels: dict[str, int]) -> None:
    assert logging_setup.parse_levels(text) == levels


@pytest.mark.parametrize("text", ["", "loud", "INFO,", "=DEBUG", "a=", "a=loud", "10", "NOTSET"])
def test_what_is_no_level_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match="must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL"):
        logging_setup.parse_levels(text)


def test_a_logger_has_the_level_it_was_given(lines: StringIO) -> None:
    part = logging.getLogger("test_logging_setup.part")
    try:
        logging_setup.configure({"": logging.WARNING, part.name: logging.DEBUG}, stream=lines)
        logging.getLogger("test_logging_setup").info("left out")
        part.debug("there")
    finally:
        part.setLevel(logging.NOTSET)
    assert [line.partition(": ")[2] for line in lines.getvalue().splitlines()] == ["there"]


LONG = "n" * 32_000
SHOWN = "n" * 256 + "... (32000 characters)"


def test_names_that_clients_choose_are_cut_in_every_line(lines: StringIO) -> None:
    """A hundred clients with names of 32,000 characters once wrote 2 MB of log per second."""
    record = ("group %s: member %s, %d", LONG, LONG, 5)
    logging.getLogger("shareq.coordinator.group.classic.rebalance").info(*record)
    (line,) = lines.getvalue().splitlines()
    assert line.endswith(f": group {SHOWN}: member {SHOWN}, 5")


def test_names_are_cut_in_json_and_its_fields_and_the_record_stays_whole(json_lines: StringIO) -> None:
    seen: list[logging.LogRecord] = []

    def note(record: logging.LogRecord) -> bool:
        seen.append(record)
        return True

    logger = logging.getLogger("shareq.broker.share.events")
    logger.addFilter(note)
    logger.info("group %s", LONG, extra={"fields": {"group": LONG, "members": [LONG, "m"], "attempts": 5}})
    logger.removeFilter(note)
    event = json.loads(json_lines.getvalue())
    assert event["message"] == f"group {SHOWN}"
    assert event["fields"] == {"group": SHOWN, "members": [SHOWN, "m"], "attempts": 5}
    assert seen[0].getMessage() == f"group {LONG}"


def test_paths_of_files_are_never_cut(lines: StringIO) -> None:
    path = f"/data/{'t' * 249}-0/00000000000000000000.log"
    logging.getLogger("shareq.broker.log.recovery.recover").error("%s: damaged", path)
    assert path in lines.getvalue()


def test_the_audit_log_names_a_hundred_resources_each_cut(lines: StringIO) -> None:
    clock = VirtualClock()
    log = AuditLog(clock, None)
    for number in range(200):
        log.log(f"{number}{LONG}", False, f"User:{LONG}", "1.2.3.4", LONG, "READ", "TOPIC")
    clock.run_until_idle()
    written = lines.getvalue()
    assert all(f"{number}nnn" in written for number in range(200))
    assert f"User:{LONG[:251]}... (32005 characters) from 1.2.3.4" in written
    assert "n" * 257 not in written
