"""The table of `docs/evidence/security-matrix.md`: protocol and mechanism by client, on both brokers.

`--update-security-matrix` writes what a run has seen, and leaves the cells of clients that it did not have as they are:
Spark's source has an environment of its own.
"""

from __future__ import annotations

import fcntl
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Final, NamedTuple

from devtools.kafka.apache_kafka import TOOLS_VERSION
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.clients.commands import OAUTHBEARER
from tests.interop.support.clients.features import LACKING, MECHANISMS, clients, kafka_go_version
from tests.interop.support.guarded_broker import PASSWORD
from tests.interop.support.tls_broker import USER, TlsBroker

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "evidence" / "security-matrix.md"


class Way(NamedTuple):
    """A row: how a client is let in."""

    listener: str
    mechanism: str | None = None

    def place(self, broker: TlsBroker) -> dict[str, object]:
        """`bootstrap`, `login` and `tls`, as client programs take them."""
        tls = None
        if self.listener not in ("PLAINTEXT", "CLEAR"):
            tls = broker.pki.tls(broker.pki.client if self.listener == "MUTUAL" else None)
        login = {"mechanism": self.mechanism, "username": USER, "password": PASSWORD} if self.mechanism else None
        if self.mechanism == OAUTHBEARER:
            login = {"mechanism": OAUTHBEARER, "token_file": str(broker.pki.token)}
        return {"bootstrap": broker.bootstrap(self.listener), "login": login, "tls": tls}


WAYS: Final[Mapping[str, Way]] = {
    "PLAINTEXT": Way("PLAINTEXT"),
    "SSL": Way("OPEN"),
    "SSL, client certificate": Way("MUTUAL"),
    **{f"SASL_PLAINTEXT, {name}": Way("CLEAR", name) for name in (*MECHANISMS, OAUTHBEARER)},
    **{f"SASL_SSL, {name}": Way("LOGIN", name) for name in (*MECHANISMS, OAUTHBEARER)},
}
TASKS: Final = {"produce": "p", "fetch": "c", "share": "s"}
BROKERS: Final[Mapping[Kind, str]] = {"ours": "shareq", "apache": "Apache Kafka"}
TOOLS, OURS, SPARK, KAFKA_GO = "java-tools", "shareq", "spark", "kafka-go"

_NO_SHARE: Final = "has no share consumer"
# (client, task) -> what the client lacks, beside `LACKING`.
_WITHOUT: Final[Mapping[tuple[str, str], str]] = {
    (KAFKA_GO, "share"): _NO_SHARE,
    (SPARK, "produce"): "has no producer",
    (SPARK, "fetch"): "reads as a member of a share group alone",
}
_NO_TOKENS: Final[Mapping[str, str]] = {
    KAFKA_GO: f"has no {OAUTHBEARER}",
    "kcat": "can only make tokens that nobody has signed, which no broker here accepts",
}
"""Clients that cannot be given a token."""

COLUMNS: Final = (
    *("java", TOOLS, "librdkafka", "kafka-python", "aiokafka", "franz-go", KAFKA_GO, "kafkajs", "platformatic", "kcat"),
    *(OURS, SPARK),
)


def headings() -> list[str]:
    """Return the headings, with the versions that are tested.

    Raise PackageNotFoundError in an environment without one of them, as Spark's is.
    """
    named = {
        **clients(),
        "java": f"Java clients {TOOLS_VERSION}",
        TOOLS: f"Java console tools {TOOLS_VERSION}",
        KAFKA_GO: f"kafka-go {kafka_go_version()}",
        OURS: "our client",
        SPARK: "our Spark source",
    }
    return [named[name] for name in COLUMNS]


def why_not(client: str, way: Way, task: str) -> str | None:
    """Return the reason why the client cannot do a cell's task; None if it can."""
    if way.mechanism == OAUTHBEARER and client in _NO_TOKENS:
        return _NO_TOKENS[client]
    if way.mechanism is not None and (client, way.mechanism) in LACKING:
        return LACKING[client, way.mechanism]
    if task == "share" and (client, "share_group") in LACKING:
        return LACKING[client, "share_group"]
    return _WITHOUT.get((client, task))


Cells = dict[tuple[str, str], str]
"""(row, client) -> what stands in the cell."""


def passed(client: str, row: str) -> str:
    """The cell when everything that the client has works: letters, and the numbers of notes."""
    done = [letter for task, letter in TASKS.items() if why_not(client, WAYS[row], task) is None]
    lacking = dict.fromkeys(why for task in TASKS if (why := why_not(client, WAYS[row], task)) is not None)
    notes = [str(_notes().index(why) + 1) for why in lacking]
    return " ".join([*(done or ["–"]), *([f"({', '.join(notes)})"] if notes else [])])


def _notes() -> list[str]:
    """Return the reasons why clients cannot do tasks, in the order of the tables."""
    cells = ((client, way, task) for way in WAYS.values() for client in COLUMNS for task in TASKS)
    return list(dict.fromkeys(why for cell in cells if (why := why_not(*cell)) is not None))


def everything_passes() -> Cells:
    return {(row, client): passed(client, row) for row in WAYS for client in COLUMNS}


def table(kind: Kind, cells: Cells, heads: Sequence[str]) -> str:
    """Markdown with its marks."""
    lines = [f"| | {' | '.join(heads)} |", f"| --- |{' :-: |' * len(heads)}"]
    lines += [f"| {row} | {' | '.join(cells.get((row, name), 'not tried') for name in COLUMNS)} |" for row in WAYS]
    return "\n".join([_begin(kind), "", *lines, "", _end(kind)])


def notes() -> str:
    """Return the meaning of the numbers in the tables."""
    lines = [f"{number}. The client {why}." for number, why in enumerate(_notes(), 1)]
    return "\n".join([_begin("notes"), "", *lines, "", _end("notes")])


def part(text: str, name: str) -> str:
    """Return the text between the marks of a table, or of the notes, with them."""
    return text[text.index(_begin(name)) : text.index(_end(name)) + len(_end(name))]


def _begin(name: str) -> str:
    return f"<!-- made by --update-security-matrix: {name} -->"


def _end(name: str) -> str:
    return f"<!-- end of {name} -->"


def _rows(made: str) -> list[list[str]]:
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in made.splitlines() if line[:2] == "| "]


def _read(made: str) -> Cells:
    rows = {row: cells for row, *cells in _rows(made) if row in WAYS}
    return {(row, name): cell for row, cells in rows.items() for name, cell in zip(COLUMNS, cells, strict=True)}


def _headings_of(made: str) -> list[str]:
    """Return the headings that a whole environment has written."""
    try:
        return headings()
    except PackageNotFoundError:
        line = next(line for line in made.splitlines() if line.startswith("| | "))
        return line.removeprefix("| | ").removesuffix(" |").split(" | ")


def update(kind: Kind, seen: Cells) -> None:
    """Write cells into the document."""
    with DOCUMENT.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        text = file.read()
        old = part(text, kind)
        text = text.replace(old, table(kind, _read(old) | seen, _headings_of(old))).replace(
            part(text, "notes"), notes()
        )
        file.seek(0)
        file.truncate()
        file.write(text)
