"""A client's share session, with scripted answers and with the broker's own sessions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.share.core.sessions import ListedPartition, ShareSessions
from shareq.client.share.session import (
    AckRange,
    AcquiredOffsets,
    FetchLimits,
    ShareSession,
    TopicIdPartition,
    batches_of,
    portions,
)
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.share import AcknowledgeType

A, B = bytes(15) + b"a", bytes(15) + b"b"
LIMITS = FetchLimits(max_records=500, max_wait_ms=100, max_bytes=1 << 20)


def acknowledging(
    session: ShareSession, ranges: Sequence[AckRange], kind: AcknowledgeType = AcknowledgeType.ACCEPT
) -> ShareAcknowledgeRequest:
    return session.batches_request(batches_of(ranges, kind), kind is AcknowledgeType.RENEW)


def session(*partitions: TopicIdPartition) -> ShareSession:
    made = ShareSession("g", "m")
    made.assign(partitions)
    return made


def opened(*partitions: TopicIdPartition) -> ShareSession:
    made = session(*partitions)
    made.fetch_request(LIMITS)
    made.fetched(ShareFetchResponse())
    return made


def listed(request: ShareFetchRequest) -> list[TopicIdPartition]:
    return [(topic.topic_id, one.partition_index) for topic in request.topics for one in topic.partitions]


def forgotten(request: ShareFetchRequest) -> list[TopicIdPartition]:
    return [(topic.topic_id, one) for topic in request.forgotten_topics_data for one in topic.partitions]


def test_the_first_fetch_opens_the_session_with_all_partitions() -> None:
    request = session((B, 0), (A, 1), (A, 0)).fetch_request(LIMITS)
    assert (request.group_id, request.member_id, request.share_session_epoch) == ("g", "m", 0)
    assert (request.max_records, request.batch_size, request.share_acquire_mode) == (500, 500, 0)
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes) == (100, 1, 1 << 20)
    assert listed(request) == [(A, 0), (A, 1), (B, 0)]


def test_a_strict_fetch_takes_no_more_than_it_asks_for() -> None:
    """The fetch uses the acquire mode of version 2 (KIP-1206)."""
    request = session((A, 0)).fetch_request(LIMITS._replace(strict=True, max_records=1 << 40))
    assert request.share_acquire_mode == 1
    assert request.max_records == (1 << 31) - 1


def test_later_fetches_send_what_was_added_and_removed() -> None:
    made = opened((A, 0), (A, 1))
    made.assign([(A, 1), (B, 3)])
    request = made.fetch_request(LIMITS)
    assert (request.share_session_epoch, listed(request), forgotten(request)) == (1, [(B, 3)], [(A, 0)])
    made.fetched(ShareFetchResponse())
    request = made.fetch_request(LIMITS)
    assert (request.share_session_epoch, listed(request), forgotten(request)) == (2, [], [])


def test_fetches_and_acknowledgements_count_up_one_epoch() -> None:
    made = opened((A, 0))
    assert acknowledging(made, [AckRange(A, 0, 0, 9)]).share_session_epoch == 1
    made.acknowledged(ShareAcknowledgeResponse())
    assert made.fetch_request(LIMITS).share_session_epoch == 2


def test_the_epoch_after_the_largest_is_one() -> None:
    """0 would open a new session (KIP-932)."""
    made = opened((A, 0))
    made.epoch = 2**31 - 1
    made.fetched(ShareFetchResponse())
    assert made.epoch == 1


def test_what_a_fetch_brings() -> None:
    made = session((A, 0), (A, 1))
    made.fetch_request(LIMITS)
    good = share_fetch.PartitionData(
        0,
        records=b"never read",
        acquired_records=[share_fetch.AcquiredRecords(5, 9, 1), share_fetch.AcquiredRecords(10, 10, 3)],
    )
    bad = share_fetch.PartitionData(1, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    newer = share_fetch.PartitionData(2, error_code=9999)
    topics = [share_fetch.ShareFetchableTopicResponse(A, [good, bad, newer])]
    outcome = made.fetched(ShareFetchResponse(acquisition_lock_timeout_ms=15_000, responses=topics))
    assert outcome.error is ErrorCode.NONE
    assert outcome.acquired == [AcquiredOffsets((A, 0), 5, 9, 1), AcquiredOffsets((A, 0), 10, 10, 3)]
    assert outcome.errors == {(A, 1): ErrorCode.NOT_LEADER_OR_FOLLOWER, (A, 2): ErrorCode.UNKNOWN_SERVER_ERROR}
    assert outcome.lock_timeout_ms == 15_000


@pytest.mark.parametrize("error", [ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH])
def test_after_an_error_of_the_whole_request_the_session_is_opened_again(error: ErrorCode) -> None:
    made = opened((A, 0), (B, 1))
    made.fetch_request(LIMITS)
    assert made.fetched(ShareFetchResponse(error_code=error)).error is error
    assert not made.is_open
    request = made.fetch_request(LIMITS)
    assert (request.share_session_epoch, listed(request)) == (0, [(A, 0), (B, 1)])


def test_acknowledgements_by_partition() -> None:
    made = opened((A, 0), (A, 1))
    ranges = [AckRange(A, 0, 0, 9), AckRange(A, 0, 20, 20), AckRange(A, 1, 3, 4)]
    request = acknowledging(made, ranges, AcknowledgeType.RENEW)
    assert request.is_renew_ack
    (topic,) = request.topics
    assert [
        (one.partition_index, batch.first_offset, batch.last_offset, batch.acknowledge_types)
        for one in topic.partitions
        for batch in one.acknowledgement_batches
    ] == [(0, 0, 9, [4]), (0, 20, 20, [4]), (1, 3, 4, [4])]
    failed = share_acknowledge.PartitionData(1, error_code=ErrorCode.INVALID_RECORD_STATE)
    answer = share_acknowledge.ShareAcknowledgeTopicResponse(A, [share_acknowledge.PartitionData(0), failed])
    outcome = made.acknowledged(ShareAcknowledgeResponse(responses=[answer]))
    assert outcome.errors == {(A, 1): ErrorCode.INVALID_RECORD_STATE}
    assert not acknowledging(made, ranges).is_renew_ack


def test_a_partition_whose_id_was_unknown_leaves_the_session_and_comes_back() -> None:
    """The broker resolves an id only when its partition enters a session."""
    made = opened((A, 0), (B, 0))
    made.renew_entry((B, 0))
    request = made.fetch_request(LIMITS)
    assert (listed(request), forgotten(request)) == ([], [(B, 0)])
    made.fetched(ShareFetchResponse())
    request = made.fetch_request(LIMITS)
    assert (listed(request), forgotten(request)) == ([(B, 0)], [])


def test_closing_is_the_final_epoch() -> None:
    made = opened((A, 0))
    assert made.close_request().share_session_epoch == -1
    assert not made.is_open


def test_a_session_without_partitions_is_not_fetched_once_they_are_forgotten() -> None:
    made = opened((A, 0))
    made.assign([])
    assert made.needs_fetch
    made.fetch_request(LIMITS)
    made.fetched(ShareFetchResponse())
    assert not made.needs_fetch
    assert made.is_open  # its locks are still held


def test_portions_are_ordered_and_bounded() -> None:
    ranges = [AckRange(B, 0, 5, 5), AckRange(A, 1, 9, 9), AckRange(A, 1, 2, 3), AckRange(A, 0, 7, 7)]
    assert list(portions(ranges, 3)) == [sorted(ranges)[:3], sorted(ranges)[3:]]
    assert list(portions([])) == []


class BrokersView:
    """The broker's own sessions, fed with a client's requests. A step may lose the answer or the connection."""

    def __init__(self) -> None:
        self.sessions = ShareSessions(10)
        self.connection = 0

    def fetch(self, request: ShareFetchRequest) -> ShareFetchResponse:
        entries = [ListedPartition(topic_id, partition, "t") for topic_id, partition in listed(request)]
        result = self.sessions.open_or_update(
            "g",
            "m",
            request.share_session_epoch,
            entries,
            forgotten(request),
            has_acks=False,
            connection_id=self.connection,
        )
        return ShareFetchResponse(error_code=result if isinstance(result, ErrorCode) else 0)

    def acknowledge(self, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
        result = self.sessions.update("g", "m", request.share_session_epoch)
        return ShareAcknowledgeResponse(error_code=result if isinstance(result, ErrorCode) else 0)

    def partitions(self) -> set[TopicIdPartition]:
        found = self.sessions.get("g", "m")
        return set() if found is None else set(found.partitions)

    def drop(self) -> None:
        self.sessions.on_disconnect(self.connection)
        self.connection += 1


partitions = st.frozensets(st.tuples(st.sampled_from([A, B]), st.integers(0, 2)))
steps = st.lists(
    st.one_of(
        st.sampled_from(["fetch", "fetch", "acknowledge", "drop", "lost answer", "renew entry"]), partitions.map(sorted)
    ),
    max_size=40,
)


@given(steps)
def test_client_and_broker_agree_on_the_session_after_every_fetch(plan: list[str | list[TopicIdPartition]]) -> None:
    """An epoch error comes only after a lost answer on a connection that stayed open."""
    client, broker = session((A, 0)), BrokersView()
    astray = False
    for step in plan:
        if isinstance(step, list):
            client.assign(step)
        elif step == "drop":
            broker.drop()
            client.session_lost()
            astray = False
        elif step == "lost answer":
            broker.fetch(client.fetch_request(LIMITS))
            astray = True
        elif step == "renew entry":
            for topic_partition in client.partitions:
                client.renew_entry(topic_partition)
        elif step == "acknowledge" and client.is_open:
            outcome = client.acknowledged(broker.acknowledge(acknowledging(client, [])))
            assert outcome.error is ErrorCode.NONE or astray
            astray = astray and client.is_open
        else:
            result = client.fetched(broker.fetch(client.fetch_request(LIMITS)))
            assert result.error is ErrorCode.NONE or astray
            astray = False
            if client.is_open:
                assert broker.partitions() <= client.partitions
    for _ in range(3):
        client.fetched(broker.fetch(client.fetch_request(LIMITS)))
    assert client.is_open
    assert broker.partitions() == client.partitions
