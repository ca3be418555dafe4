"""The writing of one task's rows, and the commit of all tasks of a batch.

A task writes in a transaction, marked with the number of its batch, and hands it to the driver: readers of committed
records do not see it yet. Spark has the driver commit when each task has succeeded. The driver first marks, in a
transaction of its own, which rows the batch has in which task, and then commits the tasks' transactions one after the
other. When a batch is run again, a task whose transaction was committed finds its mark, writes nothing, and only
counts; and the driver finds its mark, and refuses a batch of other rows before it commits anything of it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.client import transactions
from shareq.client.admin import Admin
from shareq.client.bulk import BulkWriter
from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError, ClientError
from shareq.client.network import Network
from shareq.client.produce.delivery import TransactionId
from shareq.client.transactions import Mark, Transaction
from shareq.protocol.errors import ErrorCode
from shareq.spark.sink.options import SinkOptions
from shareq.spark.sink.rows import Digest, Placed, placed

if TYPE_CHECKING:
    import pyarrow

KILLED_AFTER_S: Final = 3.0
"""The time after which no task of a failed job runs: `spark.python.task.killTimeout` is 2 s by default."""
NAMES: Final = "shareq-spark-"
"""The prefix of all transactional ids, and of the groups that hold marks."""

_ENDED: Final = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE})

_networks: Final[dict[tuple[ClientConfig, int], Network]] = {}  # by process, too: workers are forked


class AnotherBatch(Exception):
    """A batch that was committed, at least in part, with other rows. The message is one line, with the remedy."""


class NotCommitted(Exception):
    """A transaction that was over before its commit. The message is one line, with the reasons."""


class Version(NamedTuple):
    """The identity of a batch that is to be written once: its writer and its number; None if it has no permanent
    number.
    """

    app_id: str
    number: int | None


class Part(NamedTuple):
    """One task's part of a batch. `topic`: a topic that it writes to; None without rows, or without transactions."""

    task: int
    topic: str | None = None
    rows: str = ""
    transaction: TransactionId | None = None
    """None if nothing remains to be committed."""


def write(batches: Iterable[pyarrow.RecordBatch], options: SinkOptions, version: Version, task: int) -> Part:
    """Write a task's rows.

    Raises AnotherBatch, RowError, and what BulkWriter and Transaction raise; nothing of this task is committed then.
    """
    found = placed(batches, options.topic, time.time_ns() // 1_000_000)
    first = next(found, None)
    if first is None:
        return Part(task)
    rows: Iterator[Placed] = chain([first], found)
    with _network(options.client) as network:
        if not options.transactional:
            _write_all(BulkWriter(network, compression=options.compression), rows)
            return Part(task)
        name = f"{_name(version)}-{task}"
        transaction = Transaction.begin(network, name, timeout_ms=options.timeout_ms)
        digest = Digest()
        if version.number is not None:
            if _is_marked(network, name, version.number):
                for row in rows:
                    digest.add(row)
                return Part(task, first.topic, digest.text)
            rows = digest.counting(rows)
        try:
            writer = BulkWriter(network, compression=options.compression, transaction=transaction)
            _write_all(writer, rows)
            if version.number is not None:
                transaction.mark(name, (first.topic, writer.partitions_of(first.topic)[0]), Mark(version.number, ""))
        except BaseException:
            with contextlib.suppress(ClientError):  # else the next attempt ends it, or its timeout
                transactions.end(network, transaction.id, committed=False)
            raise
        return Part(task, first.topic, digest.text, transaction.id)


def commit(options: SinkOptions, version: Version, parts: Sequence[Part]) -> None:
    """Commit a batch, one task after the other.

    Raises AnotherBatch, with nothing committed; NotCommitted and ClientError, with earlier tasks committed.
    """
    topic = next((part.topic for part in parts if part.topic is not None), None)
    if topic is None:
        return
    with _network(options.client) as network:
        if version.number is not None:
            _decide(network, options, version, version.number, topic, parts)
        for part in parts:
            if part.transaction is not None:
                _commit(network, part.transaction)


def abort(options: SinkOptions, version: Version, parts: Sequence[Part | None]) -> None:
    """Abort the transactions of a batch; `parts` has None for each task whose success is not known.

    Such a task may have been killed before it ended its transaction, or may still run: Spark gives it two seconds. So
    its transactional id is taken over, twice, which aborts an open transaction: readers of committed records would
    otherwise wait until its timeout. Ends at the first failure to reach the cluster.
    """
    if not options.transactional:
        return
    with contextlib.suppress(ClientError), _network(options.client) as network:
        for part in parts:
            if part is not None and part.transaction is not None:
                with contextlib.suppress(BrokerError):  # taken over by another attempt
                    transactions.end(network, part.transaction, committed=False)
        unknown = [f"{_name(version)}-{number}" for number, part in enumerate(parts) if part is None]
        known = Admin(network).transactions
        for pause_s in (0.0, KILLED_AFTER_S) if unknown else ():
            time.sleep(pause_s)
            for name, found in known.describe(unknown):
                if not isinstance(found, BrokerError):  # else the task has begun none
                    known.fence(name)


def _decide(
    network: Network, options: SinkOptions, version: Version, number: int, topic: str, parts: Sequence[Part]
) -> None:
    """Mark the batch with its rows. Raises AnotherBatch if it was marked with others."""
    name = _name(version)
    whole = blake2b(digest_size=16)
    for part in sorted(parts):
        whole.update(f"{part.task} {part.rows}\n".encode())
    text = f"{len(parts)} {whole.hexdigest()}"
    transaction = Transaction.begin(network, name, timeout_ms=options.timeout_ms)
    if _is_marked(network, name, number, text):
        return
    transaction.mark(name, (topic, network.partitions(network.topic_ids([topic])[topic])[0]), Mark(number, text))
    _commit(network, transaction.id)


def _is_marked(network: Network, name: str, number: int, text: str | None = None) -> bool:
    """Return True if the batch was committed. Raises AnotherBatch if a later one was, or one with another text."""
    mark = transactions.last_mark(network, name)
    if mark is None or mark.number < number:
        return False
    if mark.number > number:
        raise AnotherBatch(
            f"kafka-share: {name} has committed batch {mark.number} and is to write batch {number}: an older "
            "checkpoint is in the place of a newer one. A new checkpoint, or a higher txnVersion, goes on from here"
        )
    if text is not None and mark.text != text:
        raise AnotherBatch(
            f"kafka-share: {name} began to commit batch {number} with other rows, or other rows in its tasks (tasks "
            f"and digest were {mark.text}, are {text}): the query, its partitions or its results have changed since. "
            "transactional=false writes the whole batch, so that some records may be there twice"
        )
    return True


def _commit(network: Network, transaction: TransactionId) -> None:
    try:
        transactions.end(network, transaction, committed=True)
    except BrokerError as error:
        if error.code not in _ENDED:
            raise
        raise NotCommitted(
            f"kafka-share: {transaction.name} could not be committed ({error}): it was open for longer than "
            "kafka.transaction.timeout.ms, or another query has the same name"
        ) from None


def _name(version: Version) -> str:
    return f"{NAMES}{version.app_id}"


def _write_all(writer: BulkWriter, rows: Iterable[Placed]) -> None:
    for row in rows:
        writer.add(row.topic, row.record, row.partition)
    writer.flush()


@contextmanager
def _network(client: ClientConfig) -> Iterator[Network]:
    """Yield this process's connections, which Spark's workers keep between tasks."""
    key = client, os.getpid()
    network = _networks.get(key)
    if network is None:
        network = _networks[key] = Network(client)
    try:
        yield network
    except BaseException:  # an answer may be left on a connection
        _networks.pop(key, None)
        network.close()
        raise
