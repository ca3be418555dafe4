"""The metadata log shared by nodes, on a simulated cluster: all nodes see all changes in one order."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from shareq.broker.foundation.loop.coroutines import Begin, beginner, in_ticks
from shareq.broker.foundation.pending import Pending
from shareq.broker.metadata.changes import (
    DropAcl,
    MetaChange,
    PutAcl,
    PutConfig,
    PutScram,
    PutTopic,
    ResourceName,
    TopicRow,
)
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.cluster.state import config_log
from shareq.cluster.state.config_log import CONFIG_TOPIC, WRITE_MS, ConfigLog, wanted_config_topic
from shareq.cluster.state.config_records import record_of
from shareq.cluster.state.topics import check_topic
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.generated.fetch import FetchRequest
from shareq.protocol.generated.produce import ProduceRequest
from shareq.protocol.records.batch import Compression, RecordData, build_batch, decode_records
from tests.support.cluster.faults import Direction
from tests.support.cluster.rights import Operation as ClusterOperation
from tests.support.cluster.rights import Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.world import ClusterWorld

GROUP = ResourceName("group", "g")


def config(key: str, value: str | None, group: str = "g") -> PutConfig:
    return PutConfig(ResourceName("group", group), key, value)


class Node:
    def __init__(self, world: ClusterWorld, name: str) -> None:
        self.world = world
        self.link = world.new_link(name)
        begin: Begin = beginner(world.env.budget, in_ticks(world.clock.call_soon))
        checked = world.wait(begin(check_topic(world.env, self.link, wanted_config_topic(3, 2))))
        assert checked.topic is not None, checked.refusals
        self.log = ConfigLog(world.env, self.link, checked.topic, begin)
        self.news: list[Sequence[MetaChange]] = []
        self.log.on_change(self.news.append)
        self.opened = begin(self.log.open())

    def open(self) -> Node:
        assert self.world.wait(self.opened) is None
        return self

    def write(self, *changes: MetaChange) -> ApiError:
        return self.world.wait(self.log.write(changes))


@pytest.fixture
def world() -> ClusterWorld:
    return ClusterWorld()


def test_a_change_is_answered_when_the_state_shows_it_and_comes_to_the_others(world: ClusterWorld) -> None:
    node, other = Node(world, "a").open(), Node(world, "b").open()
    changes = [config("share.order", "key"), config("share.order", "none", "h")]
    assert node.write(*changes) == NO_ERROR
    assert node.log.state.configs == {change.resource: {change.key: change.value} for change in changes}
    assert node.news == [changes]
    world.clock.advance(1)
    assert other.log.state == node.log.state
    assert other.news == [changes]
    assert other.write(config("share.order", None)) == NO_ERROR
    world.clock.advance(1)
    assert node.log.state.configs == {ResourceName("group", "h"): {"share.order": "none"}}


def test_a_node_that_begins_later_reads_what_there_is_compacted_or_not(world: ClusterWorld) -> None:
    node = Node(world, "a").open()
    for number in range(30):
        node.write(config("a", str(number)), config(f"k{number % 3}", str(number)))
    node.write(config("a", None))
    late = Node(world, "b").open()
    assert late.log.state == node.log.state
    world.cluster.compact(CONFIG_TOPIC)
    later = Node(world, "c").open()
    assert later.log.state == node.log.state
    assert later.log.state.configs[GROUP] == {"k0": "27", "k1": "28", "k2": "29"}
    assert {node.log.secret, late.log.secret, later.log.secret} == {node.log.secret}


def test_a_write_that_nobody_got_is_doubtful_and_not_sent_again(world: ClusterWorld) -> None:
    """Sent again, the write might follow a later change of the same client."""
    node = Node(world, "a").open()
    world.cluster.lose_request("a", world.cluster.leader(CONFIG_TOPIC), ProduceRequest)
    before = world.clock.now_ms()
    failure = node.write(config("k", "v"))
    assert failure.code is ErrorCode.REQUEST_TIMED_OUT
    assert world.clock.now_ms() - before <= WRITE_MS
    world.clock.advance(60_000)
    assert node.log.state.configs == {}
    assert node.write(config("k", "w")) == NO_ERROR


def test_an_unclean_election_takes_the_state_back_to_what_the_log_has(world: ClusterWorld) -> None:
    """Nodes that start later would otherwise know other ACLs than running ones."""
    node = Node(world, "a").open()
    acl = Acl(ResourceKind.TOPIC, "t", PatternType.LITERAL, "User:u", "*", Operation.READ, Permission.ALLOW)
    node.write(config("k", "old"))
    end = world.cluster.log(CONFIG_TOPIC).end
    node.write(config("k", "new"), config("l", "new"), PutAcl(acl))
    leader = world.cluster.leader(CONFIG_TOPIC)
    world.cluster.elect(CONFIG_TOPIC, 1 + leader % 3, keep_to=end)
    world.clock.advance(1_000)
    assert node.log.state.configs == {GROUP: {"k": "old"}}
    assert not node.log.state.acls
    assert {change for changes in node.news[2:] for change in changes} == {
        config("k", "old"),
        config("l", None),
        DropAcl(acl),
    }
    assert node.write(config("k", "newer")) == NO_ERROR
    assert Node(world, "b").open().log.state == node.log.state


def test_a_log_that_was_cut_and_has_grown_again_is_noticed(world: ClusterWorld) -> None:
    node = Node(world, "a").open()
    node.write(config("k", "lost"))
    log = world.cluster.log(CONFIG_TOPIC)
    end = log.end - 1
    world.cluster.cut("a")
    world.cluster.elect(CONFIG_TOPIC, 1 + world.cluster.leader(CONFIG_TOPIC) % 3, keep_to=end)
    for value in ("x", "y", "z"):
        record = record_of(config("other", value))
        world.cluster.append(CONFIG_TOPIC, build_batch([record], timestamp_ms=1))
    world.cluster.heal("a")
    world.clock.advance(60_000)
    assert node.log.state.configs == {GROUP: {"other": "z"}}


def test_what_nobody_can_read_is_passed_over(world: ClusterWorld, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    node = Node(world, "a").open()
    good = record_of(config("k", "v"))
    for records in (
        [RecordData(b"?", b"?")],
        [RecordData(b'["rules"]', b'{"format":1}'), good],
        [RecordData(None, None)],
    ):
        world.cluster.append(CONFIG_TOPIC, build_batch(records, timestamp_ms=1, compression=Compression.GZIP))
    world.clock.advance(10)
    assert node.log.state.configs == {GROUP: {"k": "v"}}
    assert node.log.skipped == 3
    assert "offset 1 is passed over: it is no JSON" in caplog.text
    assert Node(world, "b").open().log.state == node.log.state


def test_a_batch_that_is_damaged_for_good_is_passed_over(world: ClusterWorld) -> None:
    node = Node(world, "a").open()
    node.write(config("a", "1"))
    offset = world.cluster.append(CONFIG_TOPIC, build_batch([record_of(config("k", "v"))], timestamp_ms=1))
    stored = next(each for each in world.cluster.log(CONFIG_TOPIC).batches if each.header.base_offset == offset)
    at = world.cluster.log(CONFIG_TOPIC).batches.index(stored)
    damaged = stored.data[:-3] + b"\xff\xff\xff"
    world.cluster.log(CONFIG_TOPIC).batches[at] = stored._replace(data=damaged)
    late = Node(world, "b").open()
    assert late.write(config("c", "3")) == NO_ERROR
    assert late.log.state.configs == {GROUP: {"a": "1", "c": "3"}}
    assert late.log.reads == 2


def test_there_is_an_end_to_what_is_kept(world: ClusterWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_log, "MOST_STATE_BYTES", 2_000)
    node = Node(world, "a").open()
    written = 0
    while node.write(config(f"k{written}", "v" * 50)) == NO_ERROR:
        written += 1
    assert 5 < written < 30
    assert node.write(config("new", "v" * 50)).code is ErrorCode.POLICY_VIOLATION
    # Further records of another program are skipped, but deletions, which make room, are not.
    much = build_batch([record_of(config(f"m{number}", "v" * 99)) for number in range(20)], timestamp_ms=1)
    world.cluster.append(CONFIG_TOPIC, much)
    for number in range(written):
        assert node.write(config(f"k{number}", None)) == NO_ERROR
    assert node.log.state.configs == {}
    assert node.write(config("new", "v")) == NO_ERROR


def test_a_change_that_is_larger_than_a_batch_may_be_is_refused(world: ClusterWorld) -> None:
    node = Node(world, "a").open()
    failure = node.write(config("k", "v" * (2 << 20)))
    assert failure.code is ErrorCode.POLICY_VIOLATION
    assert "1048576 are allowed" in (failure.message or "")


def test_what_waits_is_bounded(world: ClusterWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_log, "MOST_WAITING_BYTES", 1_000)
    node = Node(world, "a").open()
    world.cluster.hold_replication(CONFIG_TOPIC)
    answers: list[Pending[ApiError]] = []
    for number in range(20):
        answers.append(node.log.write([config(f"k{number}", "v" * 50)]))
        world.clock.run_until_idle()
    refused = [answer.value.code for answer in answers if answer.done]
    assert refused
    assert set(refused) == {ErrorCode.REQUEST_TIMED_OUT}
    world.cluster.release_replication(CONFIG_TOPIC)
    outcomes = [world.wait(answer).code for answer in answers]
    assert outcomes.count(ErrorCode.NONE) == 20 - len(refused)


def test_a_node_that_may_not_write_says_so(world: ClusterWorld) -> None:
    node = Node(world, "a").open()
    world.cluster.rights.deny(Resource.TOPIC, CONFIG_TOPIC, ClusterOperation.WRITE)
    failure = node.write(config("k", "v"))
    assert (failure.code, "TOPIC_AUTHORIZATION_FAILED" in (failure.message or "")) == (
        ErrorCode.KAFKA_STORAGE_ERROR,
        True,
    )


def test_a_log_that_cannot_be_read_in_time_is_said_so() -> None:
    world = ClusterWorld(ClusterSettings())
    node = Node(world, "a")
    for broker in (1, 2, 3):
        world.cluster.kill(broker)
    problem = world.wait(node.opened)
    assert problem is not None
    assert problem.startswith(f"{CONFIG_TOPIC}-0: ")


def test_a_node_that_stops_answers_who_waits(world: ClusterWorld) -> None:
    node = Node(world, "a").open()
    world.cluster.hold_replication(CONFIG_TOPIC)
    answer = node.log.write([config("k", "v")])
    world.clock.run_until_idle()
    node.log.close()
    assert answer.value.code is ErrorCode.REQUEST_TIMED_OUT
    node.link.close()
    world.cluster.release_replication(CONFIG_TOPIC)
    world.clock.advance(60_000)
    assert node.news == []
    assert world.wait(node.log.write([config("k", "v")])).code is ErrorCode.REQUEST_TIMED_OUT


def test_a_thousand_users_are_one_batch_and_many_turns(world: ClusterWorld) -> None:
    node, other = Node(world, "a").open(), Node(world, "b").open()
    credential = ScramCredential(b"s" * 24, b"k" * 32, b"k" * 32, 4096)
    users = [PutScram(CredentialKey(f"u{number}", "SCRAM-SHA-256"), credential) for number in range(1_000)]
    assert node.write(*users) == NO_ERROR
    world.clock.advance(10)
    assert [len(changes) for changes in other.news] == [1_000]
    assert other.log.state.scram == {user.key: credential for user in users}


def test_what_is_not_the_nodes_is_not_written(world: ClusterWorld) -> None:
    node = Node(world, "a").open()
    with pytest.raises(ValueError, match="do not keep together"):
        node.log.write([PutTopic(TopicRow("t", b"t" * 16, 1, internal=False))])


def test_there_is_no_secret_before_the_log_is_open(world: ClusterWorld) -> None:
    node = Node(world, "a")
    with pytest.raises(RuntimeError, match="not open"):
        _ = node.log.secret


def test_a_batch_that_was_compacted_before_it_was_read_back_confirms_nothing(world: ClusterWorld) -> None:
    """The missing records are in later batches that the node has not read."""
    node, other = Node(world, "a").open(), Node(world, "b").open()
    node.write(config("k", "0"))
    world.cluster.delay("a", world.cluster.leader(CONFIG_TOPIC), 50, only=Direction.TO_BROKER)
    other.write(config("m", "0"))  # the node's next fetch is on its way, and comes late
    world.cluster.faults.delays.clear()
    shown: list[object] = []
    answer = node.log.write([config("l", "1"), config("k", "1")])
    answer.on_complete(lambda outcome: shown.append((outcome.code, node.log.state.configs[GROUP].get("k"))))
    world.clock.run_until_idle()
    assert other.write(config("k", "2")) == NO_ERROR
    world.cluster.compact(CONFIG_TOPIC)
    world.wait(answer)
    assert shown == [(ErrorCode.REQUEST_TIMED_OUT, "2")]
    assert node.log.state == other.log.state


def test_a_deposed_leader_that_does_not_know_it_takes_nothing_back(world: ClusterWorld) -> None:
    """With the leader's old Metadata and Fetch answers, revoked rights would be in force again."""
    node, other = Node(world, "a").open(), Node(world, "b").open()
    node.write(config("k", "old"))
    deposed = world.cluster.leader(CONFIG_TOPIC)
    world.cluster.hold_news(deposed)
    world.cluster.elect(CONFIG_TOPIC, 1 + deposed % 3)
    outcomes = [other.write(config("k", "new")) for _ in range(4)]
    assert outcomes[-1] == NO_ERROR
    world.clock.advance(30_000)
    assert node.log.state.configs[GROUP] == {"k": "new"}
    for _ in range(6):
        world.cluster.lose_answer("a", world.cluster.leader(CONFIG_TOPIC), FetchRequest)
        world.clock.advance(10_000)
    assert node.log.reads > 3
    seen = [change for changes in node.news for change in changes]
    assert seen[0] == config("k", "old")
    assert set(seen[1:]) == {config("k", "new")}


def test_an_offer_of_a_secret_is_never_made_twice(world: ClusterWorld) -> None:
    """Compaction would keep the second offer, and another node's would become the first in the log."""
    node = Node(world, "a")
    world.cluster.hold_replication(CONFIG_TOPIC)
    world.clock.advance(1_000)
    world.cluster.elect(CONFIG_TOPIC, 1 + world.cluster.leader(CONFIG_TOPIC) % 3)  # it was appended, and is refused
    world.cluster.release_replication(CONFIG_TOPIC)
    node.open()
    keys = [record.key for each in world.cluster.log(CONFIG_TOPIC).batches for record in decode_records(each.data)]
    assert len(keys) == len(set(keys))
    world.cluster.compact(CONFIG_TOPIC)
    assert Node(world, "b").open().log.secret == node.log.secret
