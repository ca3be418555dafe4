"""Invariants of any classic group while members join, leave, fall silent and retry, across restarts."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shareq.coordinator.group.classic.group import ClassicGroup, ClassicState
from shareq.coordinator.group.classic.turn import NEW_MEMBER_JOIN_TIMEOUT_MS, ClassicGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.leave_group import MemberIdentity
from shareq.protocol.generated.sync_group import SyncGroupResponse
from tests.unit.coordinator.group.classic.world import GROUP, REBALANCE_MS, Asked, ClassicWorld

PROTOCOLS = (
    {"a": b"", "b": b""},
    {"b": b"", "a": b""},
    {"b": b"x", "c": b""},
    {"c": b"", "b": b""},
)
INSTANCES = ("i", "j", None, None, None)

clients = st.integers(0, len(INSTANCES) - 1)


@dataclass
class Client:
    instance: str | None
    member_id: str = ""
    generation: int = -1
    leader: str = ""
    protocol: str | None = None
    others: tuple[str, ...] = ()


class ClassicGroups(RuleBasedStateMachine):
    """Five clients, two of them static, that sometimes behave like real clients and sometimes not."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ClassicWorld(ClassicGroupSettings(max_size=4))
        self.clients = [Client(instance) for instance in INSTANCES]
        self.joins: list[tuple[Client, Asked[JoinGroupResponse]]] = []
        self.syncs: list[tuple[str, int, Asked[SyncGroupResponse]]] = []
        self.reported: dict[int, tuple[str, str | None]] = {}
        """Generation to leader and protocol, as JoinGroup returns it; a restart forgets what was not written."""
        self.generation = 0

    @property
    def group(self) -> ClassicGroup | None:
        return self.world.log.shard.classic.group(GROUP)

    # -- actions of clients

    @rule(number=clients, offered=st.sampled_from(PROTOCOLS), version=st.sampled_from([0, 3, 4, 8, 9]))
    def join(self, number: int, offered: dict[str, bytes], version: int) -> None:
        client = self.clients[number]
        instance = client.instance if version >= 5 else None
        join = self.world.join(client.member_id, instance=instance, protocols=offered, version=version)
        self.joins.append((client, join))
        self.receive()

    @rule(number=clients)
    def start_again(self, number: int) -> None:
        self.clients[number] = Client(INSTANCES[number])

    @rule(number=clients, late=st.booleans())
    def sync(self, number: int, late: bool) -> None:
        client = self.clients[number]
        if self.group is None:
            return
        generation = client.generation - late
        assignments = {}
        if client.leader == client.member_id:
            assignments = {each: f"{generation}:{each}".encode() for each in client.others}
        sync = self.world.sync(
            client.member_id, generation, assignments, instance=client.instance, protocol=client.protocol
        )
        self.syncs.append((client.member_id, generation, sync))
        self.receive()

    @rule(number=clients)
    def beat(self, number: int) -> None:
        client = self.clients[number]
        error = self.world.beat(client.member_id, client.generation, instance=client.instance)
        group = self.group
        if error is ErrorCode.NONE:
            assert group is not None
            assert client.member_id in group.members
            assert client.generation == group.generation

    @rule(number=clients, administrator=st.booleans())
    def leave(self, number: int, administrator: bool) -> None:
        client = self.clients[number]
        member_id = "" if administrator else client.member_id
        before = self.group
        was_member = before is not None and member_id in before.members
        (error,) = self.world.leave(MemberIdentity(member_id, client.instance))
        if error is ErrorCode.NONE and was_member:
            assert self.group is not None
            assert member_id not in self.group.members
        self.receive()

    @rule(number=clients)
    def behave(self, number: int) -> None:
        for _ in range(4):
            for client in self.clients:
                if any(each is client and join.waits for each, join in self.joins):
                    continue
                error = self.world.beat(client.member_id, client.generation, instance=client.instance)
                if error is not ErrorCode.NONE:
                    if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
                        client.member_id = ""
                    join = self.world.join(client.member_id, instance=client.instance, protocols={"b": b""})
                    self.joins.append((client, join))
                    self.receive()
            self.world.log.advance(3_000)
            self.receive()
            for at in range(len(self.clients)):
                if self.clients[at].generation > 0:
                    self.sync(at, False)

    @rule(ms=st.sampled_from([1, 2_999, 3_000, 9_999, 10_000, REBALANCE_MS]))
    def wait(self, ms: int) -> None:
        self.world.log.advance(ms)
        self.receive()

    @precondition(lambda self: self.group is not None)
    @rule()
    def restart(self) -> None:
        """Restart with the written state only; waiting clients lose their connections."""
        assert self.group is not None
        written = self.group.generation if self.is_written(self.group) else None
        self.world.log.reload()
        self.joins, self.syncs = [], []
        self.reported = {}
        self.generation = 0 if self.group is None else self.group.generation
        if written is not None:
            assert self.generation == written

    @staticmethod
    def is_written(group: ClassicGroup) -> bool:
        return group.state in (ClassicState.STABLE, ClassicState.EMPTY)

    # -- their answers

    def receive(self) -> None:
        arrived = [each for each in self.joins if not each[1].waits]
        self.joins = [each for each in self.joins if each[1].waits]
        for client, join in arrived:
            self.joined(client, join.response)
        synced = [each for each in self.syncs if not each[2].waits]
        self.syncs = [each for each in self.syncs if each[2].waits]
        for member_id, generation, sync in synced:
            if sync.error is ErrorCode.NONE:
                assert sync.response.assignment in (f"{generation}:{member_id}".encode(), b"", *self.handed_down())

    def handed_down(self) -> list[bytes]:
        """Return the assignments of static members, which a member that returns inherits from its old id."""
        group = self.group
        return [] if group is None else [group.members[each].assignment for each in group.static_members.values()]

    def joined(self, client: Client, response: JoinGroupResponse) -> None:
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = response.member_id
        if response.error_code != ErrorCode.NONE:
            return
        client.member_id, client.generation = response.member_id, response.generation_id
        client.leader, client.protocol = response.leader, response.protocol_name
        client.others = tuple(member.member_id for member in response.members)
        if response.skip_assignment:
            client.others = ()
        if response.members:
            assert response.leader == response.member_id
            assert response.member_id in client.others or response.skip_assignment

    # -- invariants

    @invariant()
    def generations_go_up(self) -> None:
        if self.group is not None:
            assert self.group.generation >= self.generation
            self.generation = self.group.generation

    @invariant()
    def a_generation_has_one_leader_and_one_protocol(self) -> None:
        group = self.group
        if group is None:
            return
        if not group.members:
            assert group.leader_id is None
            return
        assert group.leader_id in group.members
        if group.state in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
            assert group.protocol_name is not None
            for member in group.members.values():
                member.metadata(group.protocol_name)
            if group.state is ClassicState.COMPLETING_REBALANCE:
                known = self.reported.setdefault(group.generation, (group.leader_id, group.protocol_name))
                assert known == (group.leader_id, group.protocol_name)

    @invariant()
    def the_books_agree(self) -> None:
        group = self.group
        if group is None:
            return
        ids = set(group.members)
        assert set(group.joining) <= ids
        assert set(group.syncing) <= ids
        assert group.pending_syncs <= ids
        assert not group.pending_joins & ids
        assert set(group.static_members.values()) == {m.member_id for m in group.members.values() if m.instance_id}
        assert len(group.members) <= 4 or group.state is ClassicState.PREPARING_REBALANCE
        assert (group.state is ClassicState.EMPTY) <= (not ids)
        counts: dict[str, int] = {}
        for member in group.members.values():
            for name, _ in member.protocols:
                counts[name] = counts.get(name, 0) + 1
        assert group._supported == counts

    @invariant()
    def who_waits_is_waited_for(self) -> None:
        """Check that the group knows every request without an answer, and will answer it in time."""
        group = self.group
        tokens = {join.token for _, join in self.joins} | {sync.token for _, _, sync in self.syncs}
        known = set() if group is None else {*group.joining.values(), *group.syncing.values()}
        assert tokens == known
        if tokens:
            assert group is not None
            assert group.state in (ClassicState.PREPARING_REBALANCE, ClassicState.COMPLETING_REBALANCE)
            assert self.world.log.shard.classic.next_deadline_ms() is not None

    @invariant()
    def what_is_settled_is_written(self) -> None:
        group = self.group
        if group is None or not self.is_written(group):
            return
        loaded = self.world.log.loaded().classic.group(GROUP)
        assert loaded is not None
        assert (loaded.state, loaded.generation, loaded.leader_id) == (group.state, group.generation, group.leader_id)
        if group.state is ClassicState.STABLE:
            assert loaded.protocol_name == group.protocol_name
            assert list(loaded.members) == list(group.members)
            assert [m.assignment for m in loaded.members.values()] == [m.assignment for m in group.members.values()]

    def teardown(self) -> None:
        """Let all clients fall silent: the group becomes empty, and no request waits."""
        for _ in range(8):
            self.world.log.advance(NEW_MEMBER_JOIN_TIMEOUT_MS)
        self.receive()
        assert not self.joins
        assert not self.syncs
        group = self.group
        if group is not None:
            assert (group.state, group.members, group.pending_joins) == (ClassicState.EMPTY, {}, set())
        assert self.world.log.shard.classic.next_deadline_ms() is None


ClassicGroups.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestClassicGroups = ClassicGroups.TestCase
