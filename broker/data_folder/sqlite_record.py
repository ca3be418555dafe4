"""`meta.db` as a start finds it, before the database can be trusted."""

from __future__ import annotations

import errno
import os
import sqlite3
from typing import Final

from shareq.broker.data_folder.comparison import Found, found_in_database
from shareq.broker.metadata.sqlite import SqliteMetaDb

META_DB_FILE: Final = "meta.db"

_SUFFIXES: Final = ("", "-wal", "-shm")
_LOG_HEADER_BYTES: Final = 32
_LOG_MAGIC: Final = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")  # the byte order of its checksums


class SqliteRecord:
    """The `FirstRecord` in the SQLite files at `path` and beside it. `unique` returns a text that no name has yet;
    `durable` is that of the database.
    """

    def __init__(self, path: str, unique: str, *, durable: bool = True) -> None:
        self.name = path
        self._durable = durable
        self._unique = unique
        self._database: SqliteMetaDb | None = None

    def look(self) -> Found:
        try:
            if os.path.getsize(self.name) == 0:
                return Found()
        except FileNotFoundError:
            return Found()
        log_problem = self._problem_of_log()
        try:
            self._database = SqliteMetaDb(self.name, create=False, immutable=log_problem != "", durable=self._durable)
            self._database.check()
            found = found_in_database(self._database.load())
            return found._replace(problem=log_problem, damaged=True) if log_problem and not found.problem else found
        except (OSError, sqlite3.Error, ValueError, TypeError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise  # the file itself may be intact
            return Found(problem=str(error), damaged=True)

    def _problem_of_log(self) -> str:
        """Return why the write-ahead log cannot be trusted, "" if it can. SQLite ignores a damaged one silently."""
        try:
            with open(f"{self.name}-wal", "rb") as file:
                head = file.read(_LOG_HEADER_BYTES)
        except OSError:
            return ""
        is_log = not head or (len(head) == _LOG_HEADER_BYTES and head[:4] in _LOG_MAGIC)
        return "" if is_log else "its write-ahead log is damaged, and later commits may be in it"

    def open(self) -> SqliteMetaDb:
        database, self._database = self._database, None
        if database is None:
            return SqliteMetaDb(self.name, durable=self._durable)
        try:
            database.make_tables()
        except OSError:
            database.close()
            raise
        return database

    def set_aside(self) -> list[str]:
        """Rename SQLite's files together: a write-ahead log is useless without its database."""
        folder, name = os.path.split(self.name)
        kept = []
        for suffix in _SUFFIXES:
            if os.path.lexists(self.name + suffix):
                aside = f"damaged-{self._unique}-{name}{suffix}"
                os.rename(self.name + suffix, os.path.join(folder, aside))
                kept.append(aside)
        self.close()  # after that: closing it would write the log into it, and remove the log
        return kept

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
