"""The table of `docs/evidence/security-matrix.md`: protocol and mechanism by client, on both brokers.

`--update-security-matrix` writes the results of a run to `security_matrix.json`, beside this file, and rewrites the
table; cells of clients that did not run are kept: Spark's source has an environment of its own.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any, Final, NamedTuple

from devtools.documents import write_between
from devtools.kafka.apache_kafka import TOOLS_VERSION
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.clients.commands import OAUTHBEARER
from tests.interop.support.clients.features import LACKING, MECHANISMS, clients, kafka_go_version
from tests.interop.support.guarded_broker import PASSWORD
from tests.interop.support.tls_broker import USER, TlsBroker

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "evidence" / "security-matrix.md"
RESULTS: Final = Path(__file__).with_suffix(".json")
BEGIN: Final = "<!-- made by: pytest tests/interop/test_security_matrix.py --update-security-matrix -->"
END: Final = "<!-- end of what is made -->"


class Way(NamedTuple):
    listener: str
    mechanism: str | None = None

    def place(self, broker: TlsBroker) -> dict[str, object]:
        """Return `bootstrap`, `login` and `tls`, as client programs take them."""
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
BROKERS: Final[Mapping[Kind, str]] = {"ours": "shareq", "apache": "Apache Kafka 4.4.0"}
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
    """Return the headings with the tested versions.

    Raise PackageNotFoundError if the environment lacks one of them, as Spark's does.
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
    """Return the reason why the client cannot do a cell's task, or None."""
    if way.mechanism == OAUTHBEARER and client in _NO_TOKENS:
        return _NO_TOKENS[client]
    if way.mechanism is not None and (client, way.mechanism) in LACKING:
        return LACKING[client, way.mechanism]
    if task == "share" and (client, "share_group") in LACKING:
        return LACKING[client, "share_group"]
    return _WITHOUT.get((client, task))


Cells = dict[tuple[str, str], str]
"""The text of each cell, by row and client."""


def passed(client: str, row: str) -> str:
    """Return the cell if all of the client's tasks pass: letters, and the numbers of notes."""
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


class Results(NamedTuple):
    """The last outcome of each cell on both brokers, and clients' headings with versions."""

    headings: Sequence[str]
    cells: Mapping[Kind, Cells]


def results() -> Results:
    return _of(json.loads(RESULTS.read_text()))


def _of(written: Mapping[str, Any]) -> Results:
    cells: dict[Kind, Cells] = {}
    for kind in BROKERS:
        rows = written[kind].items()
        cells[kind] = {(row, client): cell for row, of_row in rows for client, cell in of_row.items()}
    return Results(written["headings"], cells)


def lines(found: Results) -> list[str]:
    made = ["", f"| | {' | '.join(BROKERS.values())} |", f"| --- |{' --- |' * len(BROKERS)}"]
    by_cells: dict[tuple[str, ...], list[str]] = {}
    for client, heading in zip(COLUMNS, found.headings, strict=True):
        words = tuple(_in_words(client, found.cells[kind]) for kind in BROKERS)
        by_cells.setdefault(words, []).append(heading)
    for (ours, theirs), clients_of in by_cells.items():
        made.append(f"| {'; '.join(clients_of)} | {ours} | {'the same' if theirs == ours else theirs} |")
    return [*made, "", *(f"{number}. It {why}." for number, why in enumerate(_notes(), 1)), ""]


def _in_words(client: str, cells: Cells) -> str:
    rows: dict[str, list[str]] = {}
    for row in WAYS:
        rows.setdefault(cells.get((row, client), "not tried"), []).append(row.replace(", ", "/"))
    usual, *others = sorted(rows, key=lambda cell: -len(rows[cell]))
    return "; ".join([usual, *(f"{cell}: {', '.join(rows[cell])}" for cell in others)])


def update(kind: Kind, seen: Cells) -> None:
    with RESULTS.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        written = json.load(file)
        for (row, client), cell in seen.items():
            written[kind].setdefault(row, {})[client] = cell
        with suppress(PackageNotFoundError):  # in Spark's environment, which leaves the headings as they are
            written["headings"] = headings()
        file.seek(0)
        file.truncate()
        file.write(json.dumps(written, indent=1) + "\n")
        file.flush()
        write_between(DOCUMENT, BEGIN, END, lines(_of(written)))
