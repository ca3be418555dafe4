"""The rights with which a redrive reads and writes, the clients that may see and end it, and forged commits."""

from __future__ import annotations

import logging

import pytest

from devtools.in_memory.mock_transport import MockConnection
from shareq.broker.security import rights as r
from shareq.broker.security.rights import Right
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from shareq.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from shareq.protocol.records.batch import RecordData
from tests.support.clients.access import ADMIN, AccessWorld, acl
from tests.support.clients.share_client import from_the_start
from tests.support.worlds.redrives import QUEUE, TOPIC, RedriveWorld, counts_of, letter

READS_QUEUE = (r.READ_TOPIC, QUEUE)
WRITES_TOPIC = (r.WRITE_TOPIC, TOPIC)
GROUP_TARGET = 1


class GuardedWorld(RedriveWorld):
    """A world where `alice` has granted rights and `admin` all; other connections are the admin's."""

    def __init__(self) -> None:
        self.world = self.access = AccessWorld()
        self.world.create_topic(QUEUE)
        self.alice = self.access.alice
        connect = self.world.connect

        def as_admin(**options: object) -> MockConnection:
            connection = connect(**options)  # type: ignore[arg-type]
            connection.side.principal = ADMIN
            return connection

        self.world.connect = as_admin  # type: ignore[method-assign]

    def grant(self, *rights: tuple[Right, str]) -> None:
        self.access.grant(acl(right, name) for right, name in rights)


@pytest.fixture
def world() -> GuardedWorld:
    return GuardedWorld()


def test_each_letter_needs_the_right_to_its_topic(world: GuardedWorld, caplog: pytest.LogCaptureFixture) -> None:
    """Each letter's destination is checked: every client that may write to the queue can forge a letter."""
    world.world.create_topic("secret")
    world.bury(letter(b"a", 0), letter(b"b", 1, topic="secret"))
    world.grant(READS_QUEUE, WRITES_TOPIC)
    with caplog.at_level(logging.INFO, "shareq.authorizer"):
        assert world.start(client=world.alice) is ErrorCode.NONE
        done = world.finish()
    assert counts_of(done) == {"REDRIVEN": 1, "NOT_AUTHORIZED": 1}
    assert (world.values(), world.values("secret")) == ([b"a"], [])
    assert "User:alice from 127.0.0.1 (client id 'a redrive') is denied WRITE on TOPIC:secret" in caplog.text


def test_content_and_headers_are_looked_up_only_where_the_owner_may_read(world: GuardedWorld) -> None:
    world.produce(TOPIC, RecordData(b"k", b"v", (("own", b"1"),)))
    world.bury(letter(None, 0, key=None), letter(b"v", 0))
    world.grant(READS_QUEUE, WRITES_TOPIC)
    world.start(client=world.alice)
    assert counts_of(world.finish()) == {"REDRIVEN": 1, "WITHOUT_CONTENT": 1}
    assert "own" not in dict(world.records()[-1].headers)
    world.grant(READS_QUEUE, WRITES_TOPIC, (r.READ_TOPIC, TOPIC))
    world.start("second", client=world.alice, again=True)
    assert counts_of(world.finish("second")) == {"REDRIVEN": 2}
    assert [dict(record.headers).get("own") for record in world.records()[-2:]] == [b"1", b"1"]


def test_a_right_that_is_taken_away_ends_it(world: GuardedWorld) -> None:
    world.bury(*(letter(b"%d" % number, number) for number in range(20)))
    world.grant(READS_QUEUE, WRITES_TOPIC)
    world.start(client=world.alice, records_per_second=10)
    world.world.clock.advance(500)
    world.grant(WRITES_TOPIC)
    done = world.finish()
    assert (done.state, done.trouble) == ("FAILED", "User:alice may not read dlq.t")
    assert 0 < len(world.values()) < 20
    world.world.restart()
    assert world.all_redrives() == {"again": "FAILED"}


def test_a_right_that_is_taken_away_within_a_round_leaves_what_went_back_counted(world: GuardedWorld) -> None:
    world.world.create_topic("u")
    world.bury(letter(b"a", 0), letter(b"b", 0, topic="u"))
    world.grant(READS_QUEUE, WRITES_TOPIC, (r.WRITE_TOPIC, "u"))
    world.world.fs.fail = lambda kind, path: OSError(28, "no space") if "/u-0/" in path else None
    world.start(client=world.alice)
    world.grant(WRITES_TOPIC)
    done = world.finish()
    assert (done.state, done.trouble) == ("FAILED", "User:alice may not read dlq.t")
    assert (world.values(), counts_of(done)) == ([b"a"], {"REDRIVEN": 1})


def test_the_groups_topic_needs_the_group_alone(world: GuardedWorld) -> None:
    from_the_start(world.world)
    world.bury(letter(b"a", 0))
    world.grant(READS_QUEUE)
    refused = world.start(client=world.alice, target=GROUP_TARGET, group_id="g")
    assert refused is ErrorCode.GROUP_AUTHORIZATION_FAILED
    world.grant(READS_QUEUE, (r.READ_GROUP, "g"))
    assert world.start(client=world.alice, target=GROUP_TARGET, group_id="g") is ErrorCode.NONE
    world.finish()
    assert world.values("redrive.g") == [b"a"]


def test_which_client_sees_it_and_which_ends_it(world: GuardedWorld) -> None:
    world.bury(letter(b"a", 0), letter(b"b", 1))
    assert world.start("of-admin", records_per_second=1) is ErrorCode.NONE
    world.grant(READS_QUEUE, WRITES_TOPIC)
    assert world.start("of-alice", client=world.alice, records_per_second=1) is ErrorCode.NONE
    assert world.all_redrives(world.alice) == {"of-admin": "RUNNING", "of-alice": "RUNNING"}
    assert world.cancel("of-admin", world.alice) is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert world.cancel("of-alice", world.alice) is ErrorCode.NONE
    assert world.cancel("of-admin") is ErrorCode.NONE
    world.grant(WRITES_TOPIC)
    assert world.all_redrives(world.alice) == {}


def committed(world: GuardedWorld) -> tuple[int, str]:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("shareq.redrive.again", topics=None)])
    answer = world.world.connect().call(request, 9, OffsetFetchResponse)
    row = answer.groups[0].topics[0].partitions[0]
    return row.committed_offset, row.metadata or ""


def commit(world: GuardedWorld, name: str, offset: int, text: str) -> None:
    rows = [OffsetCommitRequestPartition(0, offset, committed_metadata=text)]
    request = OffsetCommitRequest(f"shareq.redrive.{name}", topics=[OffsetCommitRequestTopic(QUEUE, partitions=rows)])
    answer = world.world.connect().call(request, 9, OffsetCommitResponse)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE


TAMPERED = [
    ("again", 0, lambda text: text),
    ("again", 1, lambda text: text.replace('"end":4', '"end":5')),
    ("again", 1, lambda text: text.replace("User:alice", "User:admin")),
    ("other", 1, lambda text: text),
    ("again", 1, lambda _text: ""),
    ("again", 1, lambda _text: "[]"),
    ("again", 1, lambda _text: '{"by":1}'),
    ("again", 1, lambda _text: "[" * 2_000),
]


@pytest.mark.parametrize(("name", "offset", "change"), TAMPERED)
def test_progress_that_a_client_has_committed_is_not_believed(
    world: GuardedWorld, name: str, offset: int, change: object, caplog: pytest.LogCaptureFixture
) -> None:
    """A client that forged a redrive's progress could otherwise write with another's rights."""
    world.bury(*(letter(b"%d" % number, number) for number in range(4)))
    world.grant(READS_QUEUE, WRITES_TOPIC)
    world.start(client=world.alice, records_per_second=1)
    world.world.clock.advance(1_000)
    world.world.folder.redrives.close()
    sent = len(world.values())
    saved_offset, text = committed(world)
    assert saved_offset == 1
    commit(world, name, offset, change(text))  # type: ignore[operator]
    if name == "other":
        commit(world, "again", 1, "")
    world.world.crash()
    world.world.clock.advance(60_000)
    assert len(world.values()) == sent
    found = world.describe(name)
    assert found.error_code == ErrorCode.INVALID_RECORD
    assert f"shareq.redrive.{name}: its redrive does not go on" in caplog.text
    assert world.start(name) is ErrorCode.DUPLICATE_RESOURCE


def test_what_the_broker_has_committed_is_believed(world: GuardedWorld) -> None:
    """The broker's own commit counts; a client's does not."""
    world.bury(*(letter(b"%d" % number, number) for number in range(4)))
    world.grant(READS_QUEUE, WRITES_TOPIC)
    world.start(client=world.alice, records_per_second=1)
    world.world.clock.advance(1_000)
    world.world.folder.redrives.close()
    commit(world, "again", *committed(world))
    world.world.crash()
    world.finish()
    assert world.values() == [b"0", b"1", b"2", b"3"]
