"""Incremental fetch sessions with a broker that follows KIP-227."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shareq.cluster.records.cache import Place
from shareq.cluster.records.fetch_session import FetchLimits, FetchRow, FetchSession
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchRequest

PLACES = [Place(bytes([topic]) * 16, partition) for topic in (1, 2) for partition in (0, 1)]
LIMITS = FetchLimits(500, 1000, 0)
Known = dict[Place, tuple[int, int]]

_rows = st.dictionaries(st.sampled_from(PLACES), st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=4)
_fates = st.sampled_from(["answered", "answered", "answered", "lost", "evicted", "no room"])


class Sessions:
    def __init__(self) -> None:
        self.sessions: dict[int, tuple[int, Known]] = {}
        self.made = 0

    def handle(self, request: FetchRequest, *, has_room: bool) -> tuple[ErrorCode, int, Known]:
        named = {
            Place(topic.topic_id, row.partition): (row.fetch_offset, row.current_leader_epoch)
            for topic in request.topics
            for row in topic.partitions
        }
        if request.session_epoch == 0:
            self.sessions.pop(request.session_id, None)
            if not has_room:
                return ErrorCode.NONE, 0, named
            self.made += 1
            self.sessions[self.made] = (1, named)
            return ErrorCode.NONE, self.made, named
        if request.session_id not in self.sessions:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, {}
        epoch, known = self.sessions[request.session_id]
        if epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, {}
        known.update(named)
        for topic in request.forgotten_topics_data:
            for partition in topic.partitions:
                del known[Place(topic.topic_id, partition)]
        self.sessions[request.session_id] = (epoch + 1, known)
        return ErrorCode.NONE, request.session_id, dict(known)


@given(st.lists(st.tuples(_rows, _fates), max_size=30))
def test_a_broker_always_fetches_what_is_wanted(steps: list[tuple[Known, str]]) -> None:
    session, broker, lost = FetchSession(), Sessions(), 0
    for wanted, fate in steps:
        rows = [FetchRow(f"t{place.topic_id[0]}", place, *row, 100) for place, row in wanted.items()]
        if fate == "evicted":
            broker.sessions.clear()
        request = session.request(rows, LIMITS)
        if fate == "lost":
            if len(rows) % 2:
                broker.handle(request, has_room=True)  # it arrived, but its answer was lost
            session.reset()
            lost += 1
            continue
        error, session_id, fetched = broker.handle(request, has_room=fate != "no room")
        session.answered(error, session_id)
        assert fetched == wanted or error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert len(broker.sessions) <= 1 + lost, "a session is begun in the place of the one before"


def test_only_what_changed_is_sent() -> None:
    session = FetchSession()
    rows = [FetchRow("t1", place, 5, 1, 100) for place in PLACES[:2]]
    assert session.request(rows, LIMITS).session_epoch == 0
    session.answered(ErrorCode.NONE, 9)
    request = session.request([rows[0], rows[1]._replace(offset=6)], LIMITS)
    assert (request.session_id, request.session_epoch) == (9, 1)
    assert [(row.partition, row.fetch_offset) for topic in request.topics for row in topic.partitions] == [(1, 6)]
    session.answered(ErrorCode.NONE, 9)
    request = session.request(rows[:1], LIMITS)
    assert request.topics == []
    assert [topic.partitions for topic in request.forgotten_topics_data] == [[1]]
