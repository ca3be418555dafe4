"""Scripts about producers: sequences, epochs, fencing (table 2.1 of the rules nodes rely on), and forgetting (2.2)."""

from __future__ import annotations

from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.support.cluster.coordinators import CoordinatorKind
from tests.support.cluster_scripts.building import ProducerId, batch, begin_producer, fetch, produce
from tests.support.cluster_scripts.conversation import Conversation


def without_producer_id(talk: Conversation) -> None:
    """Produce without a producer id: batches are appended in turn, duplicates again."""
    topic = talk.topic()
    for values in ((b"a", b"b"), (b"c",), (b"c",)):
        produce(talk, topic, batch(*values))
    produce(talk, topic, batch(b"d"), acks=1)
    fetch(talk, topic)


def repeated_batches(talk: Conversation) -> None:
    """Repeat a batch of the last five, which gets its first offset; older ones and gaps are out of order."""
    topic, producer = talk.topic(), begin_producer(talk)
    for sequence in range(0, 14, 2):
        produce(talk, topic, batch(b"x", b"y", producer=producer, sequence=sequence))
    for sequence in (12, 10, 8, 6, 4, 2, 0):
        produce(talk, topic, batch(b"x", b"y", producer=producer, sequence=sequence))
    produce(talk, topic, batch(b"x", producer=producer, sequence=12))
    produce(talk, topic, batch(b"x", b"y", b"z", producer=producer, sequence=12))
    produce(talk, topic, batch(b"gap", producer=producer, sequence=15))
    produce(talk, topic, batch(b"next", producer=producer, sequence=14))
    fetch(talk, topic)


def an_owner_is_fenced(talk: Conversation) -> None:
    """Take a new epoch, which fences nobody; its first batch fences the old epoch."""
    topic, owner = talk.topic(), talk.name("owner")
    old = begin_producer(talk, owner)
    produce(talk, topic, batch(b"1", producer=old, sequence=0))
    new = begin_producer(talk, owner)
    produce(talk, topic, batch(b"2", producer=old, sequence=1))
    produce(talk, topic, batch(b"take-over", producer=new, sequence=0))
    produce(talk, topic, batch(b"3", producer=old, sequence=2))
    produce(talk, topic, batch(b"2", producer=old, sequence=1))
    produce(talk, topic, batch(b"again", producer=old, sequence=0))
    begin_producer(talk, owner, old)
    produce(talk, topic, batch(b"4", producer=new, sequence=1))
    fetch(talk, topic)


def only_the_epoch_protects(talk: Conversation) -> None:
    """Write without a producer id, or with another one: neither is fenced."""
    topic = talk.topic()
    owner = begin_producer(talk, talk.name("owner"))
    produce(talk, topic, batch(b"take-over", producer=owner, sequence=0))
    produce(talk, topic, batch(b"nobody"))
    other = begin_producer(talk, talk.name("other"))
    produce(talk, topic, batch(b"another", producer=other, sequence=0))
    produce(talk, topic, batch(b"mine", producer=owner, sequence=1))


def a_fence_outlives_its_records(talk: Conversation) -> None:
    """Delete records: the state of their producers stays."""
    topic, owner = talk.topic(), talk.name("owner")
    old = begin_producer(talk, owner)
    produce(talk, topic, batch(b"1", producer=old, sequence=0))
    new = begin_producer(talk, owner)
    produce(talk, topic, batch(b"2", producer=new, sequence=0))
    rows = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, -1)])]
    talk.ask(DeleteRecordsRequest(rows, 10_000), DeleteRecordsResponse)
    produce(talk, topic, batch(b"3", producer=old, sequence=1))
    produce(talk, topic, batch(b"4", producer=new, sequence=1))
    produce(talk, topic, batch(b"2", producer=new, sequence=0))


def a_new_epoch_begins_with_zero(talk: Conversation) -> None:
    """Begin an epoch with sequence 0, as it must; an unknown producer may begin anywhere."""
    topic, owner = talk.topic(), talk.name("owner")
    old = begin_producer(talk, owner)
    produce(talk, topic, batch(b"anywhere", producer=old, sequence=7))
    produce(talk, topic, batch(b"8", producer=old, sequence=8))
    new = begin_producer(talk, owner)
    produce(talk, topic, batch(b"1", producer=new, sequence=1))
    produce(talk, topic, batch(b"0", producer=new, sequence=0))
    produce(talk, topic, batch(b"leap", producer=ProducerId(new.id, new.epoch + 5), sequence=0))
    produce(talk, topic, batch(b"1", producer=new, sequence=1))


def sequences_wrap(talk: Conversation) -> None:
    topic, producer = talk.topic(), begin_producer(talk)
    produce(talk, topic, batch(b"a", b"b", producer=producer, sequence=2**31 - 2))
    produce(talk, topic, batch(b"c", producer=producer, sequence=0))
    produce(talk, topic, batch(b"d", producer=producer, sequence=1))
    produce(talk, topic, batch(b"a", b"b", producer=producer, sequence=2**31 - 2))


def producer_ids(talk: Conversation) -> None:
    """Ask for producer ids without a transactional id: each answer has a new one, whatever the request names."""
    first = begin_producer(talk)
    begin_producer(talk)
    begin_producer(talk, known=first)
    ask = talk.ask
    ask(InitProducerIdRequest("", 60_000, -1, -1), InitProducerIdResponse)
    name = talk.coordinated(talk.name("id"), CoordinatorKind.TRANSACTION)
    ask(InitProducerIdRequest(name, 0, -1, -1), InitProducerIdResponse)
    ask(InitProducerIdRequest(name, 2**31 - 1, -1, -1), InitProducerIdResponse)
    ask(InitProducerIdRequest(name, 60_000, -1, 3), InitProducerIdResponse)
    ask(InitProducerIdRequest(name, 60_000, first.id, -1), InitProducerIdResponse)


def epochs_of_an_id(talk: Conversation) -> None:
    """Ask for the next epoch with one's own epoch: repeated after a lost answer, fenced if others took newer epochs."""
    name = talk.name("id")
    first = begin_producer(talk, name)
    second = begin_producer(talk, name, first)
    begin_producer(talk, name, first)
    begin_producer(talk, name, second)
    begin_producer(talk, name, first)
    begin_producer(talk, name)
    begin_producer(talk, name, ProducerId(second.id, 2))
    begin_producer(talk, name, ProducerId(second.id + 1_000, 0))
    fenced = InitProducerIdRequest(name, 60_000, first.id, first.epoch)
    talk.ask(fenced, InitProducerIdResponse, version=3)


def an_idle_owner_is_forgotten(talk: Conversation) -> None:
    """Let a partition forget an owner: it accepts the previous epoch's writes and then refuses the owner."""
    topic, owner = talk.topic(), talk.name("owner")
    old = begin_producer(talk, owner)
    new = begin_producer(talk, owner)
    produce(talk, topic, batch(b"take-over", producer=new, sequence=0, timestamp_ms=talk.wall_ms()))
    produce(talk, topic, batch(b"zombie", producer=old, sequence=3, timestamp_ms=talk.wall_ms()))
    talk.pass_ms(2_500)
    produce(talk, topic, batch(b"zombie", producer=old, sequence=3, timestamp_ms=talk.wall_ms()))
    produce(talk, topic, batch(b"mine", producer=new, sequence=1, timestamp_ms=talk.wall_ms()))
    fetch(talk, topic)


def an_owner_whose_clock_is_slow(talk: Conversation) -> None:
    """Produce old timestamps: silence counts from the newest batch's timestamp, so the fence expires early."""
    topic, owner = talk.topic(), talk.name("owner")
    old = begin_producer(talk, owner)
    new = begin_producer(talk, owner)
    produce(talk, topic, batch(b"take-over", producer=new, sequence=0, timestamp_ms=talk.wall_ms() - 60_000))
    talk.pass_ms(500)
    produce(talk, topic, batch(b"zombie", producer=old, sequence=3, timestamp_ms=talk.wall_ms()))
    produce(talk, topic, batch(b"mine", producer=new, sequence=1, timestamp_ms=talk.wall_ms()))


def an_idle_id_is_forgotten(talk: Conversation) -> None:
    """Let a transactional id expire: InitProducerId returns a new producer id, and the old one is not fenced."""
    topic, owner = talk.topic(), talk.name("owner")
    old = begin_producer(talk, owner)
    talk.pass_ms(2_500)
    new = begin_producer(talk, owner)
    produce(talk, topic, batch(b"take-over", producer=new, sequence=0))
    produce(talk, topic, batch(b"zombie", producer=old, sequence=0))
