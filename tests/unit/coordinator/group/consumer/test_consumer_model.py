"""Invariants of consumer groups: one owner per partition, growing epochs, and finally a complete assignment.

The members are as careless as clients may be: they send heartbeats late, lose answers and then send a full request, and
revoke partitions slowly; but they own only partitions that they were assigned.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shareq.broker.log.cleaner.survivors import latest_value
from shareq.coordinator.shard import at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from tests.unit.coordinator.group.consumer.world import INTERVAL_MS, REBALANCE_MS, ConsumerWorld
from tests.unit.coordinator.support import Topics

MEMBERS = st.sampled_from(["a", "b", "c", "d"])
SUBSCRIPTIONS = st.sampled_from([("foo",), ("bar",), ("foo", "bar"), ()])
PATTERNS = st.sampled_from(["", "f.*", ".*", "none"])
Owned = set[tuple[str, int]]


class Client:
    """A client's epoch, owned partitions and assignment. `lost`: an answer did not arrive."""

    def __init__(self, instance: str | None, topics: tuple[str, ...] = ()) -> None:
        self.instance = instance
        self.topics = topics
        self.lost = False
        self.epoch = 0
        self.owned: Owned = set()
        self.reported: Owned = set()


class Groups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = ConsumerWorld(Topics(foo=3, bar=2))
        self.clients: dict[str, Client] = {}
        self.highest_epoch = 0

    @initialize(interval=st.sampled_from([0, INTERVAL_MS]))
    def begin(self, interval: int) -> None:
        self.world.settings.consumer = self.world.settings.consumer._replace(assignment_interval_ms=interval)

    @rule(name=MEMBERS, topics=SUBSCRIPTIONS, regex=PATTERNS, static=st.booleans())
    def join(self, name: str, topics: tuple[str, ...], regex: str, static: bool) -> None:
        known = self.clients.get(name)
        client = Client(known.instance if known else (f"i-{name}" if static else None), topics)
        answer = self.world.join(name, topics, regex=regex, instance=client.instance)
        if answer.error_code == ErrorCode.UNRELEASED_INSTANCE_ID:
            assert known is not None
            return
        self.clients[name] = client
        self.hear(client, answer)

    @rule(name=MEMBERS, says_owned=st.booleans(), lost=st.booleans(), progress=st.integers(0, 3))
    def beat(self, name: str, says_owned: bool, lost: bool, progress: int) -> None:
        client = self.clients.get(name)
        if client is None or client.epoch <= 0:
            return
        self.obey(client, progress)
        answer = self.send(name, client, says_owned=says_owned)
        if lost:
            client.lost = True
        else:
            self.hear(client, answer)

    @rule(name=MEMBERS, topics=SUBSCRIPTIONS)
    def subscribe(self, name: str, topics: tuple[str, ...]) -> None:
        client = self.clients.get(name)
        if client is not None and client.epoch > 0 and not client.lost:
            client.topics = topics
            self.hear(client, self.world.beat(name, client.epoch, topics=topics, instance=client.instance))

    @rule(name=MEMBERS, for_a_while=st.booleans())
    def leave(self, name: str, for_a_while: bool) -> None:
        client = self.clients.get(name)
        if client is None or client.epoch <= 0:
            return
        away = for_a_while and client.instance is not None
        self.world.leave(name, -2 if away else -1, client.instance)
        client.owned, client.reported, client.epoch = set(), set(), 0
        if not away:
            del self.clients[name]

    @rule(ms=st.sampled_from([1, INTERVAL_MS, 20_000]))
    def wait(self, ms: int) -> None:
        self.world.log.advance(ms)
        self.forget_fenced()

    @rule()
    def restart(self) -> None:
        self.world.log.reload()

    @rule(upto=st.floats(0, 1), over=st.booleans())
    def restart_after_compaction(self, upto: float, over: bool) -> None:
        log = self.world.log
        before = self.state()
        log.shard = log.compacted(latest_value, int(upto * len(log.encoded)), over)
        at_once(log.shard.on_loaded(self.world.time.now_ms))
        assert self.state() == before

    @rule(topic=st.sampled_from(["foo", "bar"]))
    def grow(self, topic: str) -> None:
        image = self.world.topics.topic(topic)
        if image is not None and image.partitions < 5:
            self.world.topics.grow(topic, image.partitions + 1)
            self.world.log.shard.topics_changed((topic,))

    @rule()
    def settle(self) -> None:
        """Let members follow their answers until each partition of a subscribed topic has one owner."""
        for _ in range(12):
            self.world.log.advance(INTERVAL_MS)
            self.forget_fenced()
            for name, client in sorted(self.clients.items()):
                if client.epoch > 0:
                    client.owned = set(client.reported)
                    self.hear(client, self.send(name, client, says_owned=True))
        group = self.world.log.shard.consumer.group("g")
        if group is None or not group.members:
            return
        active = [name for name in group.members if name in self.clients and self.clients[name].epoch > 0]
        if set(active) != set(group.members):
            return  # a member is absent, with its partitions
        assert group.state_name == "Stable"
        wanted = {
            (topic.name, partition)
            for member in group.members.values()
            for name in group.topics_of(member)
            if (topic := self.world.topics.topic(name)) is not None
            for partition in range(topic.partitions)
        }
        found = Counter(each for name in active for each in self.clients[name].reported)
        assert found == Counter(wanted)

    @invariant()
    def nothing_is_with_two(self) -> None:
        owned = Counter(each for client in self.clients.values() for each in client.owned)
        assert all(count == 1 for count in owned.values()), owned
        group = self.world.log.shard.consumer.group("g")
        if group is not None:
            recorded = Counter(
                (topic_id, partition)
                for current in group.current.values()
                for partitions in (current.assigned, current.revoking)
                for topic_id, numbers in partitions.items()
                for partition in numbers
            )
            assert all(count == 1 for count in recorded.values()), recorded
            assert {m: c.member_epoch <= group.group_epoch for m, c in group.current.items()} == dict.fromkeys(
                group.current, True
            )

    @invariant()
    def epochs_only_grow(self) -> None:
        group = self.world.log.shard.consumer.group("g")
        if group is not None:
            assert group.assignment_epoch <= group.group_epoch
            assert group.group_epoch >= self.highest_epoch
            self.highest_epoch = group.group_epoch

    # -- the clients

    def send(self, name: str, client: Client, *, says_owned: bool) -> ConsumerGroupHeartbeatResponse:
        owned = self.parts(client.owned) if says_owned or client.lost else None
        if client.lost:
            return self.world.beat(
                name, client.epoch, owned, topics=client.topics, instance=client.instance, rebalance_ms=REBALANCE_MS
            )
        return self.world.beat(name, client.epoch, owned, instance=client.instance)

    def hear(self, client: Client, answer: ConsumerGroupHeartbeatResponse) -> None:
        if answer.error_code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
            client.owned, client.reported, client.epoch = set(), set(), 0
            return
        reported = self.world.reported(answer)
        client.lost = False
        client.epoch = answer.member_epoch
        if reported is not None:
            client.reported = {(name, partition) for name, partitions in reported.items() for partition in partitions}
            client.owned |= client.reported if client.owned <= client.reported else set()

    def obey(self, client: Client, progress: int) -> None:
        """Revoke some partitions, and take new ones only when all revocations are done."""
        for each in sorted(client.owned - client.reported)[:progress]:
            client.owned.discard(each)
        if client.owned <= client.reported:
            client.owned = set(client.reported)

    def forget_fenced(self) -> None:
        group = self.world.log.shard.consumer.group("g")
        for name, client in self.clients.items():
            if group is None or name not in group.members:
                client.owned, client.reported, client.epoch = set(), set(), 0

    def parts(self, owned: Owned) -> dict[str, set[int]]:
        return {name: {p for n, p in owned if n == name} for name in sorted({n for n, _ in owned})}

    def state(self) -> object:
        group = self.world.log.shard.consumer.group("g")
        if group is None:
            return None
        return (group.members, group.current, group.targets, group.group_epoch, group.assignment_epoch, group.resolved)


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
