"""Log lines on standard error: time, level, logger, message. Records, keys and secrets never reach a log.

A line may have fields in addition to its message, for programs: `logger.info("...", extra={"fields": {"group":
"g"}})`. In text they are left out, because the message says the same.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from copy import copy
from time import gmtime
from typing import Final, TextIO

from shareq.broker.foundation.bounded_log import AUDIT_LOG, cut

LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
FORMATS: Final = ("text", "json")
_SECONDS: Final = "%Y-%m-%dT%H:%M:%S"

# Control characters, and what else some readers take for the end of a line.
_ESCAPED: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))} | {
    0x2028: r"\u2028",
    0x2029: r"\u2029",
}


_WHOLE: Final = tuple(f"shareq.broker.{room}." for room in ("log", "data_folder", "disk", "maintenance", "process"))
"""Loggers whose texts are not cut: they log paths of files, and of clients only names of topics."""


_JOINED: Final = (AUDIT_LOG, "shareq.broker.network.")
"""Loggers whose texts are put together from names that have already been cut."""


def _with_short_names(record: logging.LogRecord) -> logging.LogRecord:
    """Return the record with long texts cut: group ids, member ids, names of users and the like may have 32,767
    bytes each, and many clients may send such names.
    """
    if record.name.startswith(_WHOLE) or not record.name.startswith("shareq."):
        return record
    short = copy(record)
    if not record.name.startswith(_JOINED) and isinstance(record.args, tuple):
        short.args = tuple(map(_cut_each, record.args))
    fields = getattr(record, "fields", None)
    if fields:
        short.__dict__["fields"] = {
            name: value if name == "reason" else _cut_each(value) for name, value in fields.items()
        }
    return short


def _cut_each(value: object) -> object:
    return list(map(cut, value)) if isinstance(value, list) else cut(value)


class _Lines(logging.Formatter):
    """A formatter with one line for each message, so that names that clients choose cannot forge another line."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(_with_short_names(record))

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.translate(_ESCAPED)
        return super().formatMessage(record)


class _JsonLines(logging.Formatter):
    """A formatter with one JSON object for each message, in ASCII, including the traceback.

    Keys: `time` (UTC, RFC 3339 with milliseconds), `level`, `logger`, `message`; and, if the message has them,
    `fields` (an object) and `exception` (the traceback, with line feeds).
    """

    converter = staticmethod(gmtime)

    def __init__(self) -> None:
        super().__init__()
        from json import JSONEncoder

        self._encode = JSONEncoder(default=str).encode

    def format(self, record: logging.LogRecord) -> str:
        record = _with_short_names(record)
        line: dict[str, object] = {
            "time": f"{self.formatTime(record, _SECONDS)}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields = getattr(record, "fields", None)
        if fields:
            line["fields"] = fields
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return self._encode(line)


def parse_levels(text: str) -> dict[str, int]:
    """Return levels by logger from `LEVEL[,LOGGER=LEVEL]...`; the logger "" stands for all others.

    The level of a logger also applies to the loggers below it: `shareq.broker.share` includes
    `shareq.broker.share.partitions`. Raise ValueError, which names the allowed levels.
    """
    levels: dict[str, int] = {}
    for part in text.split(","):
        name, _, level = part.rpartition("=")
        if level.strip().upper() not in LEVELS or ("=" in part and not name.strip()):
            raise ValueError(f"{text}: must be one of {', '.join(LEVELS)}, or LEVEL,LOGGER=LEVEL,...")
        levels[name.strip()] = getattr(logging, level.strip().upper())
    return levels


def formatter_of(log_format: str) -> logging.Formatter:
    return _JsonLines() if log_format == "json" else _Lines("%(asctime)s %(levelname)s %(name)s: %(message)s")


def configure(levels: Mapping[str, int] | None = None, log_format: str = "text", stream: TextIO | None = None) -> None:
    """Send the log lines of this process to `stream` (standard error).

    `levels` are the lowest levels logged, by logger; all other loggers log from INFO on. `log_format` is one of
    FORMATS.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter_of(log_format))
    logging.getLogger().handlers = [handler]
    for name, level in {"": logging.INFO, **(levels or {})}.items():
        logging.getLogger(name).setLevel(level)
