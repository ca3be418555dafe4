"""Share sessions tied to connections: which ends of a session release records, and which do not."""

from __future__ import annotations

from typing import cast

from shareq.broker.network.connection import Connection, Outlet
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.share.core.sessions import ClosedSession, ListedPartition, ShareSession
from shareq.broker.share.session_ends import ShareSessionService
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import FINAL_EPOCH, INITIAL_EPOCH, RecordState
from tests.support.fakes.share_rig import ShareRig


class Rig(ShareRig):
    """A session service over share partitions with one record each."""

    def __init__(self) -> None:
        super().__init__()
        for partition in (0, 1):
            self.source(partition).fill(b"0")
        self.service = ShareSessionService(self.manager, 10)

    def connection(self, number: int) -> Connection:
        return Connection(
            number,
            "127.0.0.1",
            "PLAINTEXT",
            handler_for=lambda _connection: lambda _frame: None,
            call_soon=self.clock.call_soon,
            outlet=cast(Outlet, Closing()),
            limits=RequestLimits(),
        )

    def open(self, member: str, connection: Connection, *partitions: int) -> ShareSession:
        listed = [ListedPartition(self.topic_id, each, "t") for each in partitions]
        opened = self.service.sessions.open_or_update(
            "g", member, INITIAL_EPOCH, listed, (), has_acks=False, connection_id=connection.id
        )
        assert not isinstance(opened, ErrorCode)
        self.service.watch(connection)
        self.acquire(*partitions, member=member)
        return opened.session

    def state(self, partition: int) -> RecordState | None:
        leader = self.manager.get(self.key(partition))
        return None if leader is None else leader.core.snapshot()[0].state


class Closing:
    def close(self) -> None: ...


def lose(connection: Connection) -> None:
    connection.lost()


def test_a_session_that_is_closed_gives_back_what_its_member_holds_on_its_partitions() -> None:
    rig = Rig()
    session = rig.open("m", rig.connection(1), 0)
    rig.acquire(1, member="m")  # not of the session
    rig.service.close(session)
    assert (rig.state(0), rig.state(1)) == (RecordState.AVAILABLE, RecordState.ACQUIRED)
    assert rig.service.sessions.get("g", "m") is None
    rig.service.close(session)


def test_a_session_that_gave_way_gives_back_what_its_member_holds() -> None:
    rig = Rig()
    rig.open("m", rig.connection(1), 0)
    rig.service.sessions.limit = 2
    rig.open("n", rig.connection(1))
    answer = rig.service.sessions.open_or_update("h", "late", INITIAL_EPOCH, (), (), has_acks=False, connection_id=2)
    assert not isinstance(answer, ErrorCode)
    assert answer.gave_way is not None
    assert answer.gave_way.member_id == "n"  # the newest
    rig.service.give_back(answer.gave_way)
    assert rig.state(0) is RecordState.ACQUIRED
    rig.service.give_back(ClosedSession("g", "m", ((rig.topic_id, 0),)))
    assert rig.state(0) is RecordState.AVAILABLE


def test_a_session_that_was_replaced_meanwhile_gives_nothing_back() -> None:
    """The member's records belong to the newer session."""
    rig = Rig()
    old = rig.open("m", rig.connection(1), 0)
    assert not isinstance(rig.service.sessions.update("g", "m", FINAL_EPOCH), ErrorCode)
    new = rig.open("m", rig.connection(2), 0)
    rig.service.close(old)
    assert rig.state(0) is RecordState.ACQUIRED
    assert rig.service.sessions.get("g", "m") is new


def test_a_connection_that_is_lost_ends_its_session_and_the_group_that_has_no_other() -> None:
    rig = Rig()
    first, second = rig.connection(1), rig.connection(2)
    rig.open("m1", first, 0)
    rig.open("m2", second, 1)
    lose(first)
    assert (rig.state(0), rig.state(1)) == (RecordState.AVAILABLE, RecordState.ACQUIRED)
    lose(second)
    assert (rig.state(0), rig.state(1), len(rig.service.sessions)) == (None, None, 0)


def test_a_connection_that_is_watched_twice_ends_its_session_once_and_its_number_may_come_again() -> None:
    rig = Rig()
    connection = rig.connection(1)
    rig.open("m", connection, 0)
    rig.service.watch(connection)
    lose(connection)
    assert (rig.state(0), rig.service.sessions.evicted) == (None, 1)
    again = rig.connection(1)
    rig.open("m", again, 0)
    assert rig.state(0) is RecordState.ACQUIRED
    lose(again)
    assert (rig.state(0), rig.service.sessions.evicted) == (None, 2)


def test_a_broker_that_stops_gives_nothing_back() -> None:
    """The records are delivered again after the restart, which is not a failed delivery."""
    rig = Rig()
    connection = rig.connection(1)
    rig.open("m", connection, 0)
    rig.service.stop()
    lose(connection)
    assert rig.state(0) is RecordState.ACQUIRED
    assert rig.service.sessions.get("g", "m") is not None
