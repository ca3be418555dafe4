"""A member of a share group with scripted brokers: several leaders, moves, losses, refusals."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from devtools.ports import free_port
from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError, ClientError, Unreachable, UnsupportedApi
from shareq.client.share.range_consumer import ShareRangeConsumer, _FairLock, new_member_id
from shareq.client.share.session import AckRange, AcquiredRange
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersion
from shareq.protocol.share import AcknowledgeType
from tests.support.fakes import scripted_peer
from tests.support.fakes.scripted_share_cluster import TOPIC, TOPIC_ID, Node, ShareCluster, topic_partition

ACCEPT, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RENEW
WAIT_S = 20

Member = Callable[[ShareCluster], ShareRangeConsumer]


@pytest.fixture
def join() -> Iterator[Member]:
    joined: list[ShareRangeConsumer] = []

    def join(cluster: ShareCluster) -> ShareRangeConsumer:
        consumer = ShareRangeConsumer(cluster.config(), "g", [TOPIC])
        joined.append(consumer)
        return consumer

    yield join
    for consumer in joined:
        consumer.close(timeout_ms=500)


@pytest.fixture
def two() -> Iterator[ShareCluster]:
    with ShareCluster(2) as cluster:
        yield cluster


def poll(consumer: ShareRangeConsumer, *, max_records: int = 100) -> list[AcquiredRange]:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if acquired := consumer.poll(max_records=max_records, max_wait_ms=100):
            return acquired
    raise AssertionError("nothing came")


def poll_until(consumer: ShareRangeConsumer, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        consumer.poll(max_records=100, max_wait_ms=20)


def ranges(acquired: Sequence[AcquiredRange]) -> list[tuple[int, int, int]]:
    return sorted((one.partition, one.first, one.last) for one in acquired)


def ack(partition: int, first: int, last: int) -> AckRange:
    return AckRange(TOPIC_ID, partition, first, last)


def epochs(node: Node) -> list[int]:
    return [request.share_session_epoch for request in node.fetches]


def both_filled(cluster: ShareCluster, join: Member) -> ShareRangeConsumer:
    """Return a member that holds offsets 0-9 of both partitions, each from its leader."""
    consumer = join(cluster)
    cluster.nodes[1].ready[0].append((0, 9))
    cluster.nodes[2].ready[1].append((0, 9))
    acquired = poll(consumer)
    while len(acquired) < 2:
        acquired += poll(consumer)
    assert ranges(acquired) == [(0, 0, 9), (1, 0, 9)]
    return consumer


def test_all_leaders_are_asked_at_once(two: ShareCluster, join: Member) -> None:
    consumer = join(two)
    two.nodes[1].ready[0].append((0, 9))
    two.nodes[2].ready[1].append((5, 7))
    assert ranges(consumer.poll(max_records=101, max_wait_ms=10_000)) == [(0, 0, 9), (1, 5, 7)]
    assert sorted(node.fetches[0].max_records for node in two.nodes.values()) == [50, 51]
    assert consumer.lock_timeout_ms == 30_000
    assert consumer.assignment == {topic_partition(0), topic_partition(1)}


def test_a_limit_smaller_than_the_leaders_goes_round(two: ShareCluster, join: Member) -> None:
    consumer = join(two)
    poll_until(consumer, lambda: all(node.fetches for node in two.nodes.values()))
    asked = [len(node.fetches) for node in two.nodes.values()]
    for _ in range(4):
        consumer.poll(max_records=1, max_wait_ms=0, strict=True)
    for node, before in zip(two.nodes.values(), asked, strict=True):
        assert [request.max_records for request in node.fetches[before:]] == [1, 1]
        assert {request.share_acquire_mode for request in node.fetches[before:]} == {1}


def test_a_leader_without_records_does_not_keep_those_of_another(two: ShareCluster, join: Member) -> None:
    consumer = join(two)
    poll_until(consumer, lambda: all(node.fetches for node in two.nodes.values()))
    two.nodes[2].ready[1].append((0, 0))
    started = time.monotonic()
    assert ranges(consumer.poll(max_records=100, max_wait_ms=15_000)) == [(1, 0, 0)]
    assert time.monotonic() - started < 5
    assert {request.max_wait_ms <= 100 for node in two.nodes.values() for request in node.fetches} == {True}


def test_a_lost_connection_takes_the_locks_of_its_broker_alone(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    before = dict(consumer.generation)
    two.hang_up(2)
    assert dict(consumer.acknowledge([ack(0, 0, 9), ack(1, 0, 9)], ACCEPT)) == {
        ack(0, 0, 9): ErrorCode.NONE,
        ack(1, 0, 9): ErrorCode.NETWORK_EXCEPTION,
    }
    assert consumer.generation[topic_partition(0)] == before[topic_partition(0)]
    assert consumer.generation[topic_partition(1)] > before[topic_partition(1)]
    assert dict(consumer.acknowledge([ack(1, 0, 9)], ACCEPT)) == {ack(1, 0, 9): ErrorCode.SHARE_SESSION_NOT_FOUND}
    two.nodes[2].ready[1].append((0, 9))
    assert ranges(poll(consumer)) == [(1, 0, 9)]
    assert epochs(two.nodes[2]).count(0) == 2


def test_a_session_is_not_used_over_another_connection(two: ShareCluster, join: Member) -> None:
    """A broker that notices the lost connection late would accept the old session, then end it."""
    consumer = both_filled(two, join)
    before = consumer.generation[topic_partition(1)]
    asked = len(two.nodes[2].fetches)
    two.nodes[2].broker.hang_up()
    poll_until(consumer, lambda: len(two.nodes[2].fetches) > asked + 1)
    assert epochs(two.nodes[2])[asked : asked + 2] == [0, 1]
    assert consumer.generation[topic_partition(1)] > before


def test_records_come_before_the_refusal_that_came_with_them(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    two.nodes[1].ready[0].append((10, 19))
    two.nodes[2].fetch_errors[1] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert ranges(poll(consumer)) == [(0, 10, 19)]
    with pytest.raises(BrokerError, match=f"partition {TOPIC}-1: ShareFetch: TOPIC_AUTHORIZATION_FAILED"):
        poll(consumer)


@pytest.mark.parametrize("error", [ErrorCode.SHARE_SESSION_LIMIT_REACHED, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_what_all_leaders_answer_all_the_time_is_an_error_in_the_end(two: ShareCluster, error: ErrorCode) -> None:
    """The error is raised even if heartbeats are answered in between."""

    def poll_among_errors(consumer: ShareRangeConsumer) -> None:
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            for node in two.nodes.values():
                if error is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
                    node.session_error = error
                else:
                    node.fetch_errors = dict.fromkeys(two.leaders, error)
            consumer._member.due_ms = 0
            consumer.poll(max_records=100, max_wait_ms=10)

    config = two.config(default_api_timeout_ms="300")
    with ShareRangeConsumer(config, "g", [TOPIC]) as consumer, pytest.raises(BrokerError, match=error.name):
        poll_among_errors(consumer)


def test_trouble_with_one_leader_does_not_stop_the_other(two: ShareCluster) -> None:
    with ShareRangeConsumer(two.config(default_api_timeout_ms="100"), "g", [TOPIC]) as consumer:
        started = time.monotonic()
        while time.monotonic() < started + 0.5:
            two.nodes[1].session_error = ErrorCode.SHARE_SESSION_LIMIT_REACHED
            consumer.poll(max_records=100, max_wait_ms=10)
        two.nodes[2].ready[1].append((0, 9))
        assert ranges(poll(consumer)) == [(1, 0, 9)]


# -- membership


def test_an_empty_poll_returns_whether_all_leaders_have_answered(two: ShareCluster, join: Member) -> None:
    consumer = join(two)
    poll_until(consumer, lambda: all(node.fetches for node in two.nodes.values()) and consumer.absence is None)
    two.nodes[2].fetch_errors[1] = ErrorCode.KAFKA_STORAGE_ERROR
    two.nodes[1].ready[0].append((0, 9))
    assert ranges(consumer.poll(max_records=100, max_wait_ms=0)) == [(0, 0, 9)]
    assert "partition t-1: ShareFetch: KAFKA_STORAGE_ERROR" in str(consumer.absence)
    two.nodes[2].fetch_errors.clear()
    poll_until(consumer, lambda: consumer.absence is None)
    two.nodes[2].broker.close()
    two.hang_up(2)
    consumer.poll(max_records=100, max_wait_ms=50)
    assert "broker 2" in str(consumer.absence)


def test_the_coordinator_moves(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    two.coordinator = 2
    consumer._member.due_ms = 0
    poll_until(consumer, lambda: bool(two.nodes[2].heartbeats))
    assert two.nodes[2].heartbeats[0].member_epoch == 2
    assert two.nodes[2].heartbeats[0].member_id == consumer.member_id


def test_leaders_are_asked_while_the_coordinator_is_away(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    two.nodes[1].broker.close()
    consumer._member.due_ms = 0
    two.nodes[2].ready[1].append((10, 19))
    assert ranges(poll(consumer)) == [(1, 10, 19)]


def test_heartbeats_are_sent_only_when_they_are_due(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    asked = len(two.nodes[1].heartbeats)
    consumer.heartbeat_if_due()
    consumer.poll(max_records=1, max_wait_ms=0)
    assert len(two.nodes[1].heartbeats) == asked


# -- acknowledgements


def test_many_ranges_go_in_bounded_requests(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    many = [ack(partition, 2 * n, 2 * n) for n in range(4500) for partition in (0, 1)]
    results = consumer.acknowledge(many, ACCEPT)
    assert sorted(one for one, _ in results) == sorted(many)
    assert {error for _, error in results} == {ErrorCode.NONE}
    for node in two.nodes.values():
        sizes = [
            sum(len(one.acknowledgement_batches) for topic in request.topics for one in topic.partitions)
            for request in node.acknowledgements
        ]
        assert sizes == [2000, 2000, 500]
        assert len({request.share_session_epoch for request in node.acknowledgements}) == 3


def test_a_range_whose_lock_is_gone_is_found_by_halving(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    two.nodes[1].ack_errors[0] = ErrorCode.INVALID_RECORD_STATE
    several = [ack(0, n, n) for n in range(1000)]
    results = consumer.acknowledge(several, ACCEPT)
    assert sorted(one for one, _ in results) == several
    assert {error for _, error in results} == {ErrorCode.INVALID_RECORD_STATE}
    assert len(two.nodes[1].acknowledgements) < 150  # and not one for each range


def test_what_was_never_held_is_not_sent(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    assert consumer.acknowledge([ack(7, 0, 9)], ACCEPT) == [(ack(7, 0, 9), ErrorCode.SHARE_SESSION_NOT_FOUND)]
    assert consumer.acknowledge([], ACCEPT) == []


def test_renewals_say_so(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    assert dict(consumer.acknowledge([ack(0, 0, 9)], RENEW)) == {ack(0, 0, 9): ErrorCode.NONE}
    assert two.nodes[1].acknowledgements[-1].is_renew_ack


def test_brokers_of_kafka_4_1_can_do_all_but_renewals_and_strict_limits(
    two: ShareCluster, join: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Renewals and strict limits are refused without a request, so that the session continues."""
    older = {ApiKey.SHARE_FETCH: 1, ApiKey.SHARE_ACKNOWLEDGE: 1}
    rows = [
        ApiVersion(row.api_key, row.min_version, older.get(ApiKey(row.api_key), row.max_version))
        for row in scripted_peer.EVERYTHING
    ]
    monkeypatch.setattr(scripted_peer, "EVERYTHING", rows)
    consumer = both_filled(two, join)
    with pytest.raises(UnsupportedApi, match=r"renewing acquisition locks needs Apache Kafka 4\.2"):
        consumer.acknowledge([ack(0, 0, 9)], RENEW)
    with pytest.raises(UnsupportedApi, match=r"exact record limits need Apache Kafka 4\.2"):
        consumer.poll(max_records=1, max_wait_ms=0, strict=True)
    before = dict(consumer.generation)
    assert dict(consumer.acknowledge([ack(0, 0, 9)], ACCEPT)) == {ack(0, 0, 9): ErrorCode.NONE}
    assert consumer.generation == before


# -- time, threads, the end


def nobody(**properties: str) -> ClientConfig:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return ClientConfig.from_properties({"bootstrap.servers": f"127.0.0.1:{free_port()}", **given})


def test_a_poll_ends_in_time_without_any_broker() -> None:
    with ShareRangeConsumer(nobody(), "g", [TOPIC]) as consumer:
        started = time.monotonic()
        assert consumer.poll(max_records=1, max_wait_ms=100) == []
        assert time.monotonic() - started < 6
        consumer.heartbeat_if_due()


def test_patience_has_an_end() -> None:
    config = nobody(default_api_timeout_ms="300")
    with ShareRangeConsumer(config, "g", [TOPIC]) as consumer, pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        consumer.poll(max_records=1, max_wait_ms=60_000)


def test_a_poll_without_a_limit_is_refused() -> None:
    with ShareRangeConsumer(nobody(), "g", [TOPIC]) as consumer, pytest.raises(ValueError, match="max_records is 0"):
        consumer.poll(max_records=0, max_wait_ms=0)


def test_closing_ends_sessions_and_membership(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    consumer.close()
    for node in two.nodes.values():
        assert node.acknowledgements[-1].share_session_epoch == -1
        assert len(node.sessions) == 0
    assert two.nodes[1].heartbeats[-1].member_epoch == -1
    consumer.close()
    for call in (
        lambda: consumer.poll(max_records=1, max_wait_ms=0),
        consumer.heartbeat_if_due,
        lambda: consumer.acknowledge([ack(0, 0, 9)], ACCEPT),
    ):
        with pytest.raises(ClientError, match="the member of share group g is closed"):
            call()


def test_a_renewal_is_not_kept_waiting_by_a_long_poll(two: ShareCluster, join: Member) -> None:
    consumer = both_filled(two, join)
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(consumer.poll(max_records=100, max_wait_ms=15_000)))
    two.nodes[1].waits.clear()
    thread.start()
    assert two.nodes[1].waits.wait(WAIT_S)
    started = time.monotonic()
    assert dict(consumer.acknowledge([ack(0, 0, 9)], RENEW)) == {ack(0, 0, 9): ErrorCode.NONE}
    assert time.monotonic() - started < 10
    assert thread.is_alive()
    two.nodes[1].ready[0].append((10, 19))
    thread.join(WAIT_S)
    assert len(results) == 1


def test_a_turn_goes_to_a_waiting_thread() -> None:
    lock = _FairLock()
    waiting, taken = threading.Event(), threading.Event()

    def wait() -> None:
        waiting.set()
        with lock:
            taken.set()

    thread = threading.Thread(target=wait)
    with lock:
        thread.start()
        assert waiting.wait(WAIT_S)
        while not lock._next.locked():
            taken.wait(0.001)
    for _ in range(3):
        with lock:
            pass
    assert taken.is_set()
    thread.join()


def test_member_ids_are_those_of_kafkas_clients() -> None:
    made = {new_member_id() for _ in range(200)}
    assert len(made) == 200
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", one) for one in made)
