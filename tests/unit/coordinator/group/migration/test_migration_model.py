"""Consumers that come with one protocol, leave, and return with the other: finally all is assigned exactly once.

The clients are cooperative: they keep their partitions while they rejoin, and revoke those that they are not assigned.
The leader of a classic group lets all members keep what they own, and distributes the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shareq.broker.log.cleaner.survivors import latest_value
from shareq.coordinator.group.classic.embedded import read_subscription
from shareq.coordinator.shard import at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.join_group import JoinGroupResponse
from tests.unit.coordinator.group.consumer.world import INTERVAL_MS
from tests.unit.coordinator.group.migration.world import MixedWorld, assignment, parts_of
from tests.unit.coordinator.support import Topics

PARTITIONS: Final = 5
NAMES: Final = st.sampled_from(["a", "b", "c", "d"])
LOST: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID)
AGAIN: Final = ErrorCode.REBALANCE_IN_PROGRESS
WAITS: Final = -1


class Modern:
    """A consumer with KIP-848's protocol."""

    classic = False

    def __init__(self, world: MixedWorld, member_id: str, instance: str | None) -> None:
        self.world, self.member_id, self.instance = world, member_id, instance
        self.epoch = 0
        self.owned: set[int] = set()

    def step(self) -> None:
        if self.epoch == 0:
            answer = self.world.join(self.member_id, instance=self.instance)
        else:
            owned = {"foo": self.owned} if self.owned else {}
            answer = self.world.beat(
                self.member_id, self.epoch, owned=owned, instance=self.instance, rebalance_ms=60_000
            )
        if answer.error_code == ErrorCode.UNRELEASED_INSTANCE_ID:
            return
        if answer.error_code != ErrorCode.NONE:
            self.epoch, self.owned = 0, set()
            return
        self.epoch = answer.member_epoch
        reported = self.world.reported(answer)
        if reported is not None:
            self.owned = reported.get("foo", set())

    def leave(self) -> None:
        if self.epoch:
            self.world.leave(self.member_id, instance=self.instance)

    def broker_restarted(self) -> None:
        """Do nothing: it waits for no answer."""


class Classic:
    """A consumer with the classic protocol. `waiting`: the token of a request without an answer."""

    classic = True

    def __init__(self, world: MixedWorld, instance: str | None) -> None:
        self.world, self.instance = world, instance
        self.member_id, self.generation = "", 0
        self.owned: set[int] = set()
        self.waiting: int | None = None
        self.joins = True

    def step(self) -> None:
        if self.waiting is not None:
            self._hear()
        elif self.joins:
            owned = {"foo": self.owned} if self.owned else {}
            self.waiting = self.world.ask_join(self.member_id, owned=owned, instance=self.instance)
            self._hear()
        else:
            self._refused(self.world.beat_classic(self.member_id, self.generation, instance=self.instance))

    def _hear(self) -> None:
        assert self.waiting is not None
        answer = self.world.log.answers.get(self.waiting)
        if answer is None:
            return
        token, self.waiting = self.waiting, None
        if self._refused(self.world.error(token)):
            if isinstance(answer, JoinGroupResponse) and answer.member_id and answer.error_code not in LOST:
                self.member_id = answer.member_id
        elif isinstance(answer, JoinGroupResponse):
            self._has_joined(answer)
        else:
            self.owned = parts_of(self.world.synced(token).assignment).get("foo", set())

    def _has_joined(self, joined: JoinGroupResponse) -> None:
        self.member_id, self.generation, self.joins = joined.member_id, joined.generation_id, False
        shares = _dealt(joined) if joined.leader == joined.member_id else None
        self.waiting = self.world.ask_sync(self.member_id, self.generation, shares, instance=self.instance)
        self._hear()

    def _refused(self, error: ErrorCode) -> bool:
        if error is ErrorCode.NONE:
            return False
        assert error in (*LOST, AGAIN, ErrorCode.MEMBER_ID_REQUIRED), error
        self.joins = True
        if error in LOST:
            self.owned = set()
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.member_id = ""
        return True

    def leave(self) -> None:
        if self.member_id:
            self.world.leave_classic(self.member_id)

    def broker_restarted(self) -> None:
        if self.waiting is not None:
            self.waiting, self.joins = None, True


def _dealt(joined: JoinGroupResponse) -> Mapping[str, bytes]:
    shares: dict[str, set[int]] = {}
    taken: set[int] = set()
    for member in joined.members:
        held = {n for each in read_subscription(member.metadata).owned_partitions for n in each.partitions} - taken
        shares[member.member_id] = held
        taken |= held
    for number in sorted(set(range(PARTITIONS)) - taken):
        min(shares.values(), key=len).add(number)
    return {member_id: assignment({"foo": share}) for member_id, share in shares.items()}


class Groups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = MixedWorld(Topics(foo=PARTITIONS))
        self.clients: dict[str, Modern | Classic] = {}
        self.silent: list[Modern | Classic] = []
        self.count = 0

    @initialize(interval=st.sampled_from([0, INTERVAL_MS]))
    def begin(self, interval: int) -> None:
        self.world.settings.consumer = self.world.settings.consumer._replace(assignment_interval_ms=interval)

    @rule(name=NAMES, classic=st.booleans(), static=st.booleans(), goes=st.sampled_from(["leaves", "dies", "rolls"]))
    def start(self, name: str, classic: bool, static: bool, goes: str) -> None:
        """Start a client of that name with either protocol, after the earlier one has left or died."""
        before = self.clients.pop(name, None)
        if before is not None and goes == "leaves":
            before.leave()
        self.count += 1
        instance = f"i-{name}" if static else None
        client = Classic(self.world, instance) if classic else Modern(self.world, f"{name}-{self.count}", instance)
        self.clients[name] = client
        client.step()

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        client = self.clients.pop(name, None)
        if client is not None:
            client.leave()

    @rule(name=NAMES, steps=st.integers(1, 3))
    def step(self, name: str, steps: int) -> None:
        client = self.clients.get(name)
        for _ in range(steps if client is not None else 0):
            assert client is not None
            client.step()

    @rule(ms=st.sampled_from([1, INTERVAL_MS, 9_000, 31_000]))
    def wait(self, ms: int) -> None:
        self.world.log.advance(ms)

    @rule()
    def restart(self) -> None:
        self.world.log.reload()
        self._notify_clients()

    @rule(upto=st.floats(0, 1), over=st.booleans())
    def restart_after_compaction(self, upto: float, over: bool) -> None:
        log = self.world.log
        log.reload()
        before = self._state()
        log.shard = log.compacted(latest_value, int(upto * len(log.encoded)), over)
        at_once(log.shard.on_loaded(self.world.time.now_ms))
        assert self._state() == before
        self._notify_clients()

    def _notify_clients(self) -> None:
        for client in self.clients.values():
            client.broker_restarted()

    @rule()
    def settle(self) -> None:
        """Let the remaining clients become stable after the sessions of dead ones have expired."""
        for _ in range(90):
            self.world.log.advance(INTERVAL_MS)
            for client in self.clients.values():
                for _ in range(3):
                    client.step()
        if not self.clients:
            return
        owned = Counter(number for client in self.clients.values() for number in client.owned)
        assert owned == Counter(range(PARTITIONS)), {name: c.owned for name, c in self.clients.items()}
        all_classic = all(client.classic for client in self.clients.values())
        assert self.world.kind == ("classic" if all_classic else "consumer")
        group = self.world.classic if all_classic else self.world.group
        assert (group.state_name, len(group.members)) == ("Stable", len(self.clients))

    @invariant()
    def nothing_is_with_two(self) -> None:
        group = self.world.log.shard.consumer.group("g")
        if group is None:
            return
        recorded = Counter(
            (topic_id, number)
            for current in group.current.values()
            for partitions in (current.assigned, current.revoking)
            for topic_id, numbers in partitions.items()
            for number in numbers
        )
        assert all(count == 1 for count in recorded.values()), recorded
        assert all(group.owner(*place) is not None for place in recorded)

    def _state(self) -> object:
        shard = self.world.log.shard
        classic, modern = shard.classic.group("g"), shard.consumer.group("g")
        if modern is not None:
            epochs = (modern.group_epoch, modern.assignment_epoch, modern.metadata_hash)
            return (epochs, modern.members, modern.current, modern.targets, modern.static_members)
        if classic is None:
            return None
        members = [(m.member_id, m.instance_id, m.assignment, m.protocols) for m in classic.members.values()]
        return (classic.state, classic.generation, classic.leader_id, members)


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
