"""One group, and members of both protocols that send raw requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from shareq.coordinator.group.classic.embedded import read_assignment, write_assignment
from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.classic.rpc.join import Joining
from shareq.coordinator.group.classic.turn import ClassicGroupSettings
from shareq.coordinator.group.consumer_groups import ConsumerGroupLimits
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorSettings, GroupCoordinatorShard
from shareq.coordinator.shard import at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment
from shareq.protocol.generated.consumer_protocol_assignment import TopicPartition as Assigned
from shareq.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription
from shareq.protocol.generated.consumer_protocol_subscription import TopicPartition as Owned
from shareq.protocol.generated.heartbeat import HeartbeatRequest
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from shareq.protocol.primitives import Message
from tests.support.kafka.group_requests import join_request
from tests.unit.coordinator.group.consumer.world import GROUP, ConsumerWorld, Parts
from tests.unit.coordinator.support import Log, Topics

CLASSIC_CLIENT = Client("old", "/127.0.0.1")
CLASSIC_SESSION_MS = 10_000
CLASSIC_REBALANCE_MS = 30_000
DELAY_MS = 3_000

M = TypeVar("M", bound=Message)


def subscription(
    topics: Sequence[str] = ("foo",), owned: Parts | None = None, *, version: int = 3, rack: str | None = None
) -> bytes:
    parts = [Owned(name, sorted(numbers)) for name, numbers in (owned or {}).items()]
    message = ConsumerProtocolSubscription(list(topics), None, parts, -1, rack)
    return version.to_bytes(2, "big") + message.encode(version)


def assignment(parts: Parts, *, version: int = 3, user_data: bytes | None = None) -> bytes:
    topics = [Assigned(name, sorted(numbers)) for name, numbers in parts.items()]
    return write_assignment(ConsumerProtocolAssignment(topics, user_data), version)


def parts_of(data: bytes) -> dict[str, set[int]]:
    if not data:
        return {}
    return {each.topic: set(each.partitions) for each in read_assignment(data).assigned_partitions}


class MixedWorld(ConsumerWorld):
    """A group with members of both protocols; ids of new classic members count up."""

    def __init__(
        self,
        topics: Topics | None = None,
        policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL,
        *,
        classic_max: int = 2**31 - 1,
        consumer_max: int = 2**31 - 1,
    ) -> None:
        super().__init__(topics)
        self.ids = 0
        coordinator = GroupCoordinatorSettings(
            classic=ClassicGroupSettings(max_size=classic_max),
            consumer=ConsumerGroupLimits(max_size=consumer_max, migration_policy=policy),
        )
        self.log = Log(
            lambda: GroupCoordinatorShard(self.topics, self.settings, self.time.wall_ms, coordinator),
            GROUP_SERDE,
            self.time,
        )
        self._token = 0

    @property
    def classic(self) -> ClassicGroup:
        group = self.log.shard.classic.group(GROUP)
        assert group is not None
        return group

    @property
    def kind(self) -> str | None:
        kind = self.log.shard.group_kind(GROUP)
        return None if kind is None else kind.value

    # -- requests of members of the classic protocol

    def ask_join(
        self,
        member_id: str = "",
        topics: Sequence[str] = ("foo",),
        owned: Parts | None = None,
        *,
        instance: str | None = None,
        protocols: Mapping[str, bytes] | None = None,
        kind: str = "consumer",
        version: int = 9,
        session_ms: int = CLASSIC_SESSION_MS,
    ) -> int:
        """Send a JoinGroup; return the token of its answer in `log.answers`."""
        self._token += 1
        self.ids += 1
        offered = {"range": subscription(topics, owned)} if protocols is None else protocols
        times = {"session_ms": session_ms, "rebalance_ms": CLASSIC_REBALANCE_MS}
        request = join_request(GROUP, member_id, offered, instance=instance, kind=kind, **times)
        joining = Joining(request, version, CLASSIC_CLIENT, self._token, str(self.ids))
        self.log.run(at_once(self.log.shard.classic_protocol.join(joining, self.time.now_ms)))
        return self._token

    def ask_sync(
        self,
        member_id: str,
        generation: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance: str | None = None,
        kind: str | None = "consumer",
        protocol: str | None = "range",
    ) -> int:
        """Send a SyncGroup; return the token as `ask_join` does."""
        self._token += 1
        given = [SyncGroupRequestAssignment(each, data) for each, data in (assignments or {}).items()]
        request = SyncGroupRequest(GROUP, generation, member_id, instance, kind, protocol, given)
        self.log.run(self.log.shard.classic_protocol.sync(request, self._token, self.time.now_ms))
        return self._token

    def joined(self, token: int) -> JoinGroupResponse:
        response = self.log.answers[token]
        assert isinstance(response, JoinGroupResponse)
        return response

    def synced(self, token: int) -> SyncGroupResponse:
        response = self.log.answers[token]
        assert isinstance(response, SyncGroupResponse)
        return response

    def error(self, token: int) -> ErrorCode:
        return ErrorCode(self.log.answers[token].error_code)  # type: ignore[attr-defined]

    def rejoin(
        self,
        member_id: str = "",
        topics: Sequence[str] = ("foo",),
        owned: Parts | None = None,
        *,
        instance: str | None = None,
        version: int = 9,
    ) -> tuple[str, int, dict[str, set[int]]]:
        """Send JoinGroup and SyncGroup in a consumer group; return member id, generation and assigned partitions."""
        token = self.ask_join(member_id, topics, owned, instance=instance, version=version)
        if self.error(token) is ErrorCode.MEMBER_ID_REQUIRED:
            return self.rejoin(self.joined(token).member_id, topics, owned, version=version)
        joined = self.joined(token)
        assert joined.error_code == ErrorCode.NONE
        synced = self.synced(self.ask_sync(joined.member_id, joined.generation_id, instance=instance))
        assert synced.error_code == ErrorCode.NONE, ErrorCode(synced.error_code)
        return joined.member_id, joined.generation_id, parts_of(synced.assignment)

    def beat_classic(self, member_id: str, generation: int, *, instance: str | None = None) -> ErrorCode:
        request = HeartbeatRequest(GROUP, generation, member_id, instance)
        response = self.log.run(self.log.shard.classic_protocol.heartbeat(request, self.time.now_ms))
        return ErrorCode(response.error_code)

    def leave_classic(self, *members: str | MemberIdentity) -> list[ErrorCode]:
        identities = [MemberIdentity(each) if isinstance(each, str) else each for each in members]
        request = LeaveGroupRequest(GROUP, members=identities)
        response = self.log.run(self.log.shard.classic_protocol.leave(request, self.time.now_ms))
        return [ErrorCode(member.error_code) for member in response.members]

    # -- groups

    def stable_classic(self, *parts: Parts, statics: Sequence[str | None] = ()) -> list[str]:
        """Create a Stable classic group of members with these partitions; return their ids (static: instance ids)."""
        tokens: list[int] = []
        for number in range(len(parts)):
            instance = statics[number] if number < len(statics) else None
            token = self.ask_join(instance=instance)
            if instance is None:
                token = self.ask_join(self.joined(token).member_id)
            tokens.append(token)
        while any(token not in self.log.answers for token in tokens):
            self.log.advance(DELAY_MS)
        joins = [self.joined(token) for token in tokens]
        shares = {join.member_id: assignment(each) for join, each in zip(joins, parts, strict=True)}
        leader, generation = joins[0].leader, joins[0].generation_id
        for join in sorted(joins, key=lambda join: join.member_id == leader):
            given = shares if join.member_id == leader else None
            self.ask_sync(join.member_id, generation, given)
        assert self.classic.state_name == "Stable"
        return [join.member_id for join in joins]

    def rest(self, classic: Mapping[str, dict[str, set[int]]], *modern: str, rounds: int = 8) -> dict[str, Parts]:
        """Let members of a consumer group apply their answers at once; return the final partitions of the classic ones.

        `classic`: the partitions that these own, by member id. These members are cooperative.
        """
        owned = {member_id: dict(parts) for member_id, parts in classic.items()}
        for _ in range(rounds):
            self.log.advance(1_000)
            for member_id in modern:
                self.beat(member_id, owned=self.has(member_id))
            for member_id in owned:
                epoch = self.group.current_of(member_id).member_epoch
                if self.beat_classic(member_id, epoch) is ErrorCode.REBALANCE_IN_PROGRESS:
                    _, _, owned[member_id] = self.rejoin(member_id, owned=owned[member_id])
        return dict(owned)
