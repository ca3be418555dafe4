"""Scripts about transactions as readers see them: the last stable offset, and aborted transactions."""

from __future__ import annotations

from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from shareq.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from tests.support.cluster_scripts.building import ProducerId, batch, begin_producer, fetch, produce
from tests.support.cluster_scripts.conversation import Conversation

_BEFORE_890 = 4
_PRODUCE_BEFORE_890 = 11


def _add(talk: Conversation, name: str, producer: ProducerId, *topics: str) -> None:
    rows = [AddPartitionsToTxnTopic(topic, [0]) for topic in topics]
    request = AddPartitionsToTxnRequest([], name, producer.id, producer.epoch, rows)
    talk.ask(request, AddPartitionsToTxnResponse, version=3)


def _end(talk: Conversation, name: str, producer: ProducerId, *, commit: bool) -> None:
    talk.ask(EndTxnRequest(name, producer.id, producer.epoch, commit), EndTxnResponse, version=_BEFORE_890)
    talk.pass_ms(300)  # markers are written behind the answer


def _write(talk: Conversation, topic: str, name: str, producer: ProducerId, sequence: int) -> None:
    records = batch(b"%d" % sequence, producer=producer, sequence=sequence, transactional=True)
    produce(talk, topic, records, transactional_id=name, version=_PRODUCE_BEFORE_890)


def committed_and_aborted(talk: Conversation) -> None:
    """Read committed records: readers stop before an open transaction and get the list of aborted ones."""
    topic, name = talk.topic(), talk.name("id")
    producer = begin_producer(talk, name)
    _add(talk, name, producer, topic)
    _write(talk, topic, name, producer, 0)
    produce(talk, topic, batch(b"plain"))
    for committed in (False, True):
        fetch(talk, topic, committed=committed)
    _end(talk, name, producer, commit=False)
    for offset in (0, 1, 2, 3):
        fetch(talk, topic, offset, committed=True)
    fetch(talk, topic)
    _add(talk, name, producer, topic)
    _write(talk, topic, name, producer, 1)
    _end(talk, name, producer, commit=True)
    for offset in (0, 3):
        fetch(talk, topic, offset, committed=True)


def side_by_side(talk: Conversation) -> None:
    """Open several transactions: the oldest open one holds readers back, even if later ones have ended."""
    topic = talk.topic()
    first, second = talk.name("first"), talk.name("second")
    slow, fast = begin_producer(talk, first), begin_producer(talk, second)
    _add(talk, first, slow, topic)
    _add(talk, second, fast, topic)
    _write(talk, topic, first, slow, 0)
    _write(talk, topic, second, fast, 0)
    _end(talk, second, fast, commit=False)
    fetch(talk, topic, committed=True)
    for isolation in (0, 1):
        rows = [ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, -1)])]
        talk.ask(ListOffsetsRequest(-1, isolation, rows), ListOffsetsResponse)
    _end(talk, first, slow, commit=True)
    fetch(talk, topic, committed=True)
    fetch(talk, topic, 2, committed=True)


def what_is_refused(talk: Conversation) -> None:
    """Try writes outside a transaction, with another epoch, of an unknown id; and plain ones within one."""
    topic, name = talk.topic(), talk.name("id")
    producer = begin_producer(talk, name)
    _write(talk, topic, name, producer, 0)
    _end(talk, name, producer, commit=True)
    _add(talk, name, producer, talk.name("unknown"), topic)
    _add(talk, name, ProducerId(producer.id, producer.epoch + 1), topic)
    _add(talk, name, ProducerId(producer.id + 999, producer.epoch), topic)
    _add(talk, name, producer, topic)
    _write(talk, topic, name, producer, 0)
    produce(talk, topic, batch(b"plain", producer=producer, sequence=1))
    _end(talk, name, ProducerId(producer.id, producer.epoch + 1), commit=True)
    _end(talk, name, producer, commit=True)


def a_new_owner_aborts(talk: Conversation) -> None:
    topic, name = talk.topic(), talk.name("id")
    old = begin_producer(talk, name)
    _add(talk, name, old, topic)
    _write(talk, topic, name, old, 0)
    begin_producer(talk, name)
    talk.pass_ms(500)
    new = begin_producer(talk, name)
    _write(talk, topic, name, old, 1)
    _end(talk, name, old, commit=True)
    _add(talk, name, new, topic)
    _write(talk, topic, name, new, 0)
    _end(talk, name, new, commit=True)
    fetch(talk, topic, committed=True)
