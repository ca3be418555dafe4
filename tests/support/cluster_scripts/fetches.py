"""Scripts about fetches: their start offsets, sizes, waiting times, and incremental sessions."""

from __future__ import annotations

from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.fetch import FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from tests.support.cluster_scripts.building import batch, fetch, fetch_of, part, produce
from tests.support.cluster_scripts.conversation import Conversation


def where_it_begins(talk: Conversation) -> None:
    """Fetch within a batch, at the end, beyond it; and before the log start that DeleteRecords moved."""
    topic = talk.topic()
    produce(talk, topic, batch(b"a", b"b", b"c"))
    produce(talk, topic, batch(b"d"))
    for offset in (0, 1, 3, 4, 5, -1):
        fetch(talk, topic, offset)
    rows = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 2)])]
    talk.ask(DeleteRecordsRequest(rows, 10_000), DeleteRecordsResponse)
    for offset in (0, 1, 2):
        fetch(talk, topic, offset)


def what_does_not_exist(talk: Conversation) -> None:
    topic = talk.topic()
    produce(talk, topic, batch(b"a"))
    topics = [
        FetchTopic(talk.name("unknown"), b"\x02" * 16, [part()]),
        FetchTopic(topic, talk.id_of(topic), [part(partition=3), part()]),
    ]
    talk.ask(FetchRequest(topics=topics), FetchResponse)
    talk.ask(FetchRequest(topics=topics), FetchResponse, version=12)


def how_much(talk: Conversation) -> None:
    """Fetch with byte limits: the first batch is whole, the rest is cut, even within a batch."""
    topic = talk.topic(partitions=3)
    for partition in range(3):
        for value in (b"a" * 100, b"b" * 100, b"c" * 100):
            produce(talk, topic, batch(value), partition=partition)
    size = len(batch(b"a" * 100))
    for most in (1, size - 1, size, size + 1, size + 70, 2 * size, 2 * size + 3):
        talk.ask(fetch_of(talk, topic, part(max_bytes=most)), FetchResponse)
        talk.ask(fetch_of(talk, topic, part(), max_bytes=most), FetchResponse)
        both = fetch_of(talk, topic, part(max_bytes=most), part(partition=1, max_bytes=most), max_bytes=3 * size)
        talk.ask(both, FetchResponse)
    talk.ask(fetch_of(talk, topic, *(part(partition=each) for each in range(3)), max_bytes=4 * size), FetchResponse)
    talk.ask(fetch_of(talk, topic, part(max_bytes=0), part(partition=1, max_bytes=0)), FetchResponse)


def how_long(talk: Conversation) -> None:
    """Fetch without records: the timeout, the first record or `min_bytes` ends the wait."""
    topic = talk.topic()
    talk.ask(fetch_of(talk, topic, part(), wait_ms=300), FetchResponse)
    talk.begin(fetch_of(talk, topic, part(), wait_ms=20_000), on="waiting")
    talk.pass_ms(100)
    produce(talk, topic, batch(b"a"))
    talk.end(FetchResponse, on="waiting")
    talk.begin(fetch_of(talk, topic, part(), wait_ms=20_000, min_bytes=100), on="waiting")
    talk.pass_ms(100)
    produce(talk, topic, batch(b"b"))
    talk.end(FetchResponse, on="waiting")
    talk.ask(fetch_of(talk, topic, part(), wait_ms=300, min_bytes=100_000), FetchResponse)
    talk.ask(fetch_of(talk, topic, part(9), wait_ms=20_000), FetchResponse)
    talk.ask(FetchRequest(max_wait_ms=20_000, min_bytes=1), FetchResponse)


def sessions(talk: Conversation) -> None:
    topic = talk.topic(partitions=3)
    produce(talk, topic, batch(b"a"))
    parts = [part(partition=each) for each in range(3)]
    session = talk.ask(fetch_of(talk, topic, *parts, session=(0, 0)), FetchResponse).session_id
    talk.ask(fetch_of(talk, topic, session=(session, 1)), FetchResponse)
    talk.ask(fetch_of(talk, topic, part(1), session=(session, 2)), FetchResponse)
    produce(talk, topic, batch(b"b"), partition=2)
    talk.ask(fetch_of(talk, topic, session=(session, 3)), FetchResponse)
    talk.ask(fetch_of(talk, topic, part(1, 2), session=(session, 4)), FetchResponse)
    produce(talk, topic, batch(b"c"), partition=1)
    forgetting = fetch_of(talk, topic, session=(session, 5))
    forgetting.forgotten_topics_data = [ForgottenTopic(topic, talk.id_of(topic), [1])]
    talk.ask(forgetting, FetchResponse)
    talk.ask(fetch_of(talk, topic, session=(session, -1)), FetchResponse)
    talk.ask(fetch_of(talk, topic, session=(session, 6)), FetchResponse)


def epochs_of_sessions(talk: Conversation) -> None:
    """Fetch with a wrong session epoch and a missing session: both are refused as a whole."""
    topic = talk.topic()
    session = talk.ask(fetch_of(talk, topic, part(), session=(0, 0)), FetchResponse).session_id
    talk.ask(fetch_of(talk, topic, session=(session, 2)), FetchResponse)
    talk.ask(fetch_of(talk, topic, session=(session, 1)), FetchResponse)
    talk.ask(fetch_of(talk, topic, session=(session, 1)), FetchResponse)
    talk.ask(fetch_of(talk, topic, session=(session + 1 if session < 2**31 - 1 else 1, 1)), FetchResponse)
    talk.ask(fetch_of(talk, topic, part(), session=(session, 0)), FetchResponse)
    talk.ask(fetch_of(talk, topic, session=(session, 2)), FetchResponse)
    again = talk.ask(fetch_of(talk, topic, part(), session=(0, 0)), FetchResponse, version=12).session_id
    talk.ask(fetch_of(talk, topic, part(), session=(again, 1)), FetchResponse, version=13)


def errors_in_sessions(talk: Conversation) -> None:
    topic, doomed = talk.topic(), talk.topic("doomed")
    topics = [
        FetchTopic(topic, talk.id_of(topic), [part(5), part(partition=7)]),
        FetchTopic(doomed, talk.id_of(doomed), [part()]),
    ]
    session = talk.ask(FetchRequest(session_epoch=0, topics=topics), FetchResponse).session_id
    talk.ask(FetchRequest(session_id=session, session_epoch=1), FetchResponse)
    talk.ask(fetch_of(talk, topic, part(0), session=(session, 2)), FetchResponse)
    gone = DeleteTopicsRequest([DeleteTopicState(doomed)], [], 10_000)
    talk.ask(gone, DeleteTopicsResponse)
    talk.pass_ms(500)
    talk.ask(FetchRequest(session_id=session, session_epoch=3), FetchResponse)
    talk.ask(FetchRequest(session_id=session, session_epoch=4), FetchResponse)


def leader_epochs(talk: Conversation) -> None:
    """Fetch as a reader ahead of the leader, and as one whose last epoch the log lacks."""
    topic = talk.topic()
    produce(talk, topic, batch(b"a"))
    for epoch in (0, 1, 5):
        talk.ask(fetch_of(talk, topic, part(epoch=epoch)), FetchResponse)
    for last in (0, 1):
        talk.ask(fetch_of(talk, topic, part(1, last_epoch=last)), FetchResponse)
    talk.ask(fetch_of(talk, topic, part(5, last_epoch=0)), FetchResponse)


def by_name(talk: Conversation) -> None:
    """Fetch by name, before version 13."""
    topic = talk.topic()
    produce(talk, topic, batch(b"a"), version=9)
    talk.ask(fetch_of(talk, topic, part()), FetchResponse, version=4)
    talk.ask(fetch_of(talk, topic, part()), FetchResponse, version=7)
    talk.ask(fetch_of(talk, topic, part(), session=(0, 0)), FetchResponse, version=12)
