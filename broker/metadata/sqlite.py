"""`meta.db`: cluster metadata in SQLite, write-ahead log, synchronous=FULL, so that a commit survives power loss.

Tables (the format version is kept in `meta` under `format.version`; version 1 has no `deleted`):

    topics   name, topic_id (16 bytes), partitions, internal (0/1)
    deleted  the same, of topics that were deleted and may still have folders
    configs  kind (topic, broker, group), name, key, value
    features name, level
    meta     key, value
    acls     kind, name, pattern, principal, host, operation, permission (the protocol's numbers)
    scram    name, mechanism, salt, stored_key, server_key, iterations
    quotas   user, client_id, ip ("": does not matter, *: the default, = and a name), key, value (a number's text)
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Sequence
from typing import Final

from shareq.broker.metadata.change_kinds import BY_TAG, TABLES, ChangeKind, Effect, Value, kind_of
from shareq.broker.metadata.changes import DropTopic, MetaChange, MetaState, ResourceName, TopicRow
from shareq.broker.security.acls import Acl
from shareq.broker.security.credentials import CredentialKey, ScramCredential

_TABLES: Final = """
BEGIN;
CREATE TABLE IF NOT EXISTS topics (
    name TEXT PRIMARY KEY, topic_id BLOB NOT NULL UNIQUE, partitions INTEGER NOT NULL, internal INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deleted (
    topic_id BLOB PRIMARY KEY, name TEXT NOT NULL, partitions INTEGER NOT NULL, internal INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS configs (
    kind TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, name, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS features (name TEXT PRIMARY KEY, level INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS acls (
    kind INTEGER NOT NULL, name TEXT NOT NULL, pattern INTEGER NOT NULL, principal TEXT NOT NULL, host TEXT NOT NULL,
    operation INTEGER NOT NULL, permission INTEGER NOT NULL,
    UNIQUE (kind, name, pattern, principal, host, operation, permission)
);
CREATE TABLE IF NOT EXISTS scram (
    name TEXT NOT NULL, mechanism TEXT NOT NULL, salt BLOB NOT NULL, stored_key BLOB NOT NULL, server_key BLOB NOT NULL,
    iterations INTEGER NOT NULL, PRIMARY KEY (name, mechanism)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS quotas (
    user TEXT NOT NULL, client_id TEXT NOT NULL, ip TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (user, client_id, ip, key)
) WITHOUT ROWID;
COMMIT;
"""

_TOPIC_COLUMNS: Final = ", ".join(TABLES["topics"])
_REMEMBER: Final = (
    f"INSERT OR REPLACE INTO deleted ({_TOPIC_COLUMNS}) SELECT {_TOPIC_COLUMNS} FROM topics WHERE name = ?"
)
_ACL_COLUMNS: Final = ", ".join(TABLES["acls"])
_SCRAM_COLUMNS: Final = ", ".join(TABLES["scram"])
_QUOTA_COLUMNS: Final = ", ".join(TABLES["quotas"])

_NO_ROOM: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)

_Statement = tuple[str, tuple[Value, ...]]


class SqliteMetaDb:
    """A `MetaDb` in one file, created if missing. Raise OSError, which names the file, if it cannot be opened or
    read.

    Without `create` it is opened for inspection: `make_tables` must be called before the first commit. With
    `immutable` its files stay unchanged, and its write-ahead log is ignored. Unless `durable`, commits survive the
    end of the process, but not a power loss.
    """

    def __init__(self, path: str, *, create: bool = True, immutable: bool = False, durable: bool = True) -> None:
        self._path = path
        self._durable = durable
        try:
            if create:
                # It contains keys of SCRAM users, which other users of this machine must not read. Files that SQLite
                # creates beside it get the same mode.
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            # One thread uses it; the transactions are ours, so the module must not start its own.
            name = _immutable_uri(path) if immutable else path
            self._connection = sqlite3.connect(name, isolation_level=None, check_same_thread=False, uri=immutable)
        except (OSError, sqlite3.Error) as error:
            raise self._failure("opened", error) from error
        if create:
            try:
                self.make_tables()
            except OSError:
                self._connection.close()
                raise

    def make_tables(self) -> None:
        """Create missing tables, and make commits durable from now on."""
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
            # No client relies on empty tables.
            self._connection.execute(f"PRAGMA synchronous={'NORMAL' if self._durable else 'OFF'}")
            if not self._tables() >= TABLES.keys():
                self._connection.executescript(_TABLES)
            if self._durable:
                self._connection.execute("PRAGMA synchronous=FULL")
        except sqlite3.Error as error:
            raise self._failure("opened", error) from error

    def check(self) -> None:
        """Raise OSError if the file is damaged: in its tables, or in an index that is not used for reading a table."""
        try:
            (result,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        except sqlite3.Error as error:
            raise self._failure("read", error) from error
        if result != "ok":
            raise self._failure("read", sqlite3.DatabaseError(result))

    def load(self) -> MetaState:
        try:
            return self._read()
        except sqlite3.Error as error:
            raise self._failure("read", error) from error

    def commit(self, changes: Sequence[MetaChange]) -> None:
        cursor = self._connection.cursor()
        try:
            cursor.execute("BEGIN IMMEDIATE")
            for statement, values in _statements(changes):
                cursor.execute(statement, values)
            cursor.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                cursor.execute("ROLLBACK")
            raise self._failure("written", error) from error

    def close(self) -> None:
        self._connection.close()

    def _tables(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}

    def _read(self) -> MetaState:
        state = MetaState()
        execute = self._connection.execute
        tables = self._tables()
        if "topics" not in tables:
            return state
        if "deleted" in tables:
            for row in execute(f"SELECT {_TOPIC_COLUMNS} FROM deleted"):
                topic = _topic(*row)
                state.deleted[topic.topic_id] = topic
        for row in execute(f"SELECT {_TOPIC_COLUMNS} FROM topics"):
            topic = _topic(*row)
            state.topics[topic.name] = topic
        for kind, name, key, value in execute("SELECT kind, name, key, value FROM configs"):
            state.configs.setdefault(ResourceName(kind, name), {})[key] = value
        state.features.update(execute("SELECT name, level FROM features"))
        state.meta.update(execute("SELECT key, value FROM meta"))
        for row in execute(f"SELECT {_ACL_COLUMNS} FROM acls ORDER BY rowid"):
            state.acls[Acl(*row)] = None
        for user, mechanism, *secrets in execute(f"SELECT {_SCRAM_COLUMNS} FROM scram"):
            state.scram[CredentialKey(user, mechanism)] = ScramCredential(*secrets)
        if "quotas" in tables:  # added later than the others
            for row in execute(f"SELECT {_QUOTA_COLUMNS} FROM quotas"):
                state.apply(BY_TAG["quota"].made_of(*row))
        return state

    def _failure(self, verb: str, error: Exception) -> OSError:
        failure = OSError(f"metadata database {self._path} could not be {verb}: {error}")
        if getattr(error, "sqlite_errorcode", None) in _NO_ROOM:
            failure.errno = errno.ENOSPC  # for a caller that may be able to make room; the sentence stays as it is
        return failure


def _topic(name: str, topic_id: bytes, partitions: int, internal: int) -> TopicRow:
    return TopicRow(name, bytes(topic_id), partitions, bool(internal))


def _statements(changes: Sequence[MetaChange]) -> list[_Statement]:
    statements: list[_Statement] = []
    for change in changes:
        kind = kind_of(change)
        values = kind.values(change)
        if isinstance(change, DropTopic):
            statements.append((_REMEMBER, values))
        statements.append((_STATEMENTS[kind.tag], values))
    return statements


def _statement(kind: ChangeKind) -> str:
    columns, marks = ", ".join(kind.columns), ", ".join("?" * len(kind.columns))
    match kind.effect:
        case Effect.PUT:
            return f"INSERT OR REPLACE INTO {kind.table} ({columns}) VALUES ({marks})"
        case Effect.ADD:
            return f"INSERT OR IGNORE INTO {kind.table} ({columns}) VALUES ({marks})"
        case Effect.REMOVE:
            return f"DELETE FROM {kind.table} WHERE ({columns}) = ({marks})"


_STATEMENTS: Final = {tag: _statement(kind) for tag, kind in BY_TAG.items()}


def _immutable_uri(path: str) -> str:
    """Return the URI with which SQLite reads the file without expecting or making changes."""
    from urllib.parse import quote  # not for an ordinary start

    return f"file:{quote(path)}?immutable=1"
