from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.coordinator.ports import IsolationLevel
from shareq.protocol.names import BREAKER_LETTERS, PAUSED
from tests.simulation.breakers import BreakerLedger
from tests.simulation.deaths import Deaths
from tests.simulation.key_ledger import KeyLedger
from tests.simulation.ledger import GroupLedger
from tests.simulation.membership import MembershipLedger
from tests.simulation.pauses import PauseLedger, delivered_by
from tests.simulation.waits import Waits, properties_of

if TYPE_CHECKING:
    from tests.simulation.member import Member
    from tests.simulation.world import World

LOCKS_MS: Final = (1_000, 1_500, 3_000)


class Group:
    """A share group, which may be deleted and created again under its name."""

    def __init__(self, world: World, group_id: str) -> None:
        rng = world.rng
        self.world = world
        self.id = group_id
        self.mode = rng.choice((0, 0, 1))
        self.lock_ms = LOCKS_MS[0]
        self._lock_before_ms = self.lock_ms
        self._lock_changed_at = -1
        self.ledger = GroupLedger(world.topics.records, earliest=rng.random() < 0.7, limit=rng.randint(2, 5))
        self.ledger.on_isolation(rng.random() < 0.4)
        self.ledger.waits = Waits(world.backoff)
        self.ledger.order = KeyLedger(world.shares.per_key) if world.is_about_order else None
        self.membership = MembershipLedger(group_id)
        self.deaths = Deaths()
        self.pauses = PauseLedger()
        self.breaker = BreakerLedger()
        self.members: list[Member] = []
        self.cores: dict[int, object] = {}  # the leaders that were seen last, by slot
        self.assigned: set[int] = set()  # slots that a member was ever assigned
        self.administered = 0  # operations of administrators under way: members do not fetch meanwhile

    def configure(self) -> None:
        self._set("share.auto.offset.reset", "earliest" if self.ledger.earliest else "latest")
        self._set("share.delivery.count.limit", str(self.ledger.limit))
        self._set("share.isolation.level", "read_committed" if self.ledger.committed else "read_uncommitted")
        self.world.queues.configure(self)
        for name, value in properties_of(self.world.backoff).items():
            self._set(name, value)
        extensions = self.world.dates, self.world.expiries, self.world.breakers, self.world.shares
        for name, value in (each for extension in extensions for each in extension.properties().items()):
            self._set(name, value)
        if self.world.is_about_order:
            self._set("shareq.order", "key")

    def _set(self, name: str, value: str) -> bool:
        self.world.note(f"{self.id}: {name}={value}")
        change = PutConfig(ResourceName("group", self.id), name, value)
        failure = self.world.services.metadata.alter_configs([change]).value
        if failure:
            self.world.note(f"... and was not set: {failure.message}")
        return not failure

    def pause(self, *, paused: bool) -> None:
        self.world.seen["pauses" if paused else "resumptions"] += 1
        self.pauses.on_asked()
        self.breaker.on_begun_again()
        if self._set(PAUSED, str(paused).lower()):
            self.pauses.on_answered(paused, delivered_by(self))
        else:
            self.adopt_settings()

    def set_breaker(self, letters: int) -> None:
        """Set the number of dead letters that pause the group; 0: none do."""
        self._set(BREAKER_LETTERS, str(letters))

    def change_a_setting(self) -> None:
        """Change delivery limit, lock duration or isolation level from now on."""
        rng = self.world.rng
        self.world.seen["config changes"] += 1
        action = rng.random()
        if action < 0.15:
            self._set("share.isolation.level", "read_uncommitted" if self.ledger.committed else "read_committed")
        elif action < 0.6:
            self._set("share.delivery.count.limit", str(rng.randint(2, 5)))
        else:
            self._set("share.record.lock.duration.ms", str(rng.choice(LOCKS_MS)))
        self.adopt_settings()

    def adopt_settings(self) -> None:
        """Adopt the broker's settings: a change may have been cut off."""
        now = self.world.services.configs.share_group(self.id)
        if now.delivery_count_limit != self.ledger.limit:
            self.ledger.on_limit(now.delivery_count_limit)
        self.ledger.on_isolation(now.isolation_level is IsolationLevel.READ_COMMITTED)
        self.pauses.on_seen(self, now.paused, delivered_by(self))
        if now.record_lock_duration_ms != self.lock_ms:
            self._lock_before_ms, self._lock_changed_at = self.lock_ms, self.world.clock.now_ms()
            self.lock_ms = now.record_lock_duration_ms

    def shortest_lock_ms(self, now_ms: int) -> int:
        """Return the least time that records acquired at `now_ms` are locked."""
        return min(self.lock_ms, self._lock_before_ms) if now_ms == self._lock_changed_at else self.lock_ms

    def deleted(self) -> None:
        """Handle the group's deletion: the next group of its name starts afresh."""
        self.world.seen.update(self.ledger.seen)
        before = self.ledger
        self.ledger = GroupLedger(self.world.topics.records, earliest=before.earliest, limit=before.limit)
        self.ledger.on_isolation(before.committed)
        self.ledger.waits = Waits(before.waits.backoff)
        self.ledger.order = KeyLedger(self.world.shares.per_key) if self.world.is_about_order else None
        self.membership = self.membership.successor()
        self.cores.clear()

    def forget(self, slot: int) -> None:
        self.ledger.forget(slot)
        self.cores.pop(slot, None)
        for member in self.members:
            member.held = [place for place in member.held if place[0] != slot]
