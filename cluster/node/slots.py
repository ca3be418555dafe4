"""The slots of a node: taken over, loaded, served, given up.

    take over ---> log ---> the coordinator loads it ---> served: topics are led, records handed out
       ^                                                      |
       +------ heard from the membership <---- lost: the log is over, or was never to be had

When a slot is given up or lost, all that was loaded from its log is dropped: the coordinator resigns the partition, and
share partitions are closed.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple, Protocol

from shareq.broker.foundation.durations import Durations
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Begin, sleep
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import LOOK
from shareq.cluster.link.ports import Link
from shareq.cluster.membership.lease import Leases
from shareq.cluster.membership.nodes import SlotId
from shareq.cluster.membership.ownership import Ownership
from shareq.cluster.node.leaders import NodeLeaders
from shareq.cluster.node.slot_logs import SlotLogs
from shareq.cluster.node.state_topics import STATES, topic_of
from shareq.cluster.state.log import SlotLog
from shareq.cluster.state.pruning import Pruning, PruningSettings
from shareq.cluster.state.slot import Slot, StateTopic
from shareq.cluster.state.take_over import TakeOver, TakeOverSettings
from shareq.cluster.state.upkeep import Upkeep

logger = logging.getLogger(__name__)

LOST_TOGETHER_MS: Final = 200
"""The time in which lost slots are reported in one line, because they have one reason."""
MOST_TOGETHER: Final = 8
"""The most take-overs under way at a time; loads are done one after the other."""
AGAIN_MS: Final = 500
"""The pause after a failed take-over, before a heartbeat decides whether it is tried again."""
UNREADABLE_AGAIN_MS: Final = 10_000
"""The same pause if the log could not be loaded, which is not expected to change soon."""


class Coordinator(Protocol):
    """The coordinator whose partitions are the slots of one state topic."""

    def take_over(self, partition: int) -> Pending[bool]:
        """Load a partition from its new log; see `CoordinatorPartitions.take_over`."""


class SlotServices(NamedTuple):
    """The parts that serve slots, and the ownership of slots. They exist only when the node opens.

    `needed_from` returns the lowest offset that a load of a partition of the states still needs (see `NeededFrom`);
    other state topics are compacted. `led` yields topic id, topic and partition of all partitions with records in
    memory.
    """

    ownership: Ownership
    hear_soon: Callable[[], None]
    coordinators: Mapping[str, Coordinator]  # by state topic
    needed_from: Callable[[int], Pending[int | None]]
    led: Callable[[], list[tuple[bytes, str, int]]]


class SlotSettings(NamedTuple):
    """The settings for taking slots over and pruning them."""

    take_over: TakeOverSettings
    pruning: PruningSettings = PruningSettings()


class NodeSlots:
    """`Slots` of `Ownership`. `take_overs` counts successful ones, `lost` the logs that ended while this node owned
    them.
    """

    def __init__(
        self,
        env: Environment,
        link: Link,
        begin: Begin,
        *,
        topics: Mapping[str, StateTopic],
        logs: SlotLogs,
        leaders: NodeLeaders,
        leases: Leases,
        slot_of_topic: Callable[[bytes], SlotId],
        settings: SlotSettings,
    ) -> None:
        self.take_overs: Final = Durations()
        self.lost = 0
        self._lost_lately: list[str] = []
        self._env: Final = env
        self._link: Final = link
        self._begin: Final = begin
        self._topics: Final = {topic.name: topic for topic in topics.values()}
        self._logs: Final = logs
        self._leaders: Final = leaders
        self._leases: Final = leases
        self._slot_of_topic: Final = slot_of_topic
        self._settings: Final = settings
        self._services: SlotServices | None = None
        self._tries: dict[SlotId, object] = {}  # that are under way, or wait for their turn
        self._waiting: deque[tuple[SlotId, object]] = deque()
        self._under_way = 0
        self._notifying: dict[SlotId, Pending[None]] = {}

    def open(self, services: SlotServices) -> None:
        """Set the services. Must be called before the first take-over."""
        self._services = services

    # -- Slots

    def take_over(self, slot: SlotId) -> None:
        """Queue a take-over; it begins when fewer than MOST_TOGETHER are under way."""
        self._tries[slot] = token = object()
        self._waiting.append((slot, token))
        self._go_on()

    def give_up(self, slot: SlotId) -> None:
        """Stop serving the slot."""
        self._tries.pop(slot, None)
        self._leave(slot, "given up")

    def hear_soon(self) -> None:
        """Have a heartbeat sent now."""
        self._opened.hear_soon()

    # -- what else the node needs

    @property
    def waiting(self) -> int:
        """The number of this node's slots that are not served yet."""
        return len(self._tries.keys() - self._opened.ownership.holds.keys()) if self._services is not None else 0

    def say_alive(self, slot: SlotId) -> None:
        """Have an owned slot append a sign of life, which proves the ownership."""
        log = self._logs.of(slot)
        if log is not None:
            log.say_alive()

    def close(self) -> None:
        """Give up all slots, without notifying the membership."""
        self._tries.clear()
        self._waiting.clear()
        slots = list(self._logs.all())
        if slots:
            logger.info("slots: %d are given up: the node stops", len(slots))
        for slot in slots:
            self._leave(slot, "the node stops")

    @property
    def _opened(self) -> SlotServices:
        assert self._services is not None, "slots are taken over when the node is open"
        return self._services

    # -- take-overs

    def _go_on(self) -> None:
        while self._waiting and self._under_way < MOST_TOGETHER:
            slot, token = self._waiting.popleft()
            if self._tries.get(slot) is token:
                self._under_way += 1
                self._begin(self._take(slot, token)).on_complete(lambda _none: self._took())

    def _took(self) -> None:
        self._under_way -= 1
        self._go_on()

    async def _take(self, slot: SlotId, token: object) -> None:
        ownership, topic = self._opened.ownership, self._topics[slot.topic]
        at_cluster = Slot(self._link, topic, slot.partition)
        taking = TakeOver(self._env, at_cluster, self._settings.take_over)
        began_ns = self._env.clock.now_ns()

        def wanted() -> bool:
            return self._tries.get(slot) is token and ownership.still_wanted(slot)

        log = await taking.run(partial(self._leases.attempt, slot), wanted)
        if isinstance(log, SlotLog):
            if not wanted():
                log.end("the slot is wanted no more")
            else:
                if await self._load(slot, token, at_cluster, taking, log):
                    self.take_overs.add(self._env.clock.now_ns() - began_ns)
                return
        else:
            logger.warning("%s", log.text)
        await self._try_later(slot, token, AGAIN_MS)

    async def _load(self, slot: SlotId, token: object, at_cluster: Slot, taking: TakeOver, log: SlotLog) -> bool:
        """Let the coordinator load a taken-over log, then serve the slot; return True if it is served."""
        self._logs.put(slot, log)
        log.over.on_complete(lambda reason: self._over(slot, token, log, reason))
        self._leaders.begins_to_load(slot)
        loaded = await self._opened.coordinators[slot.topic].take_over(slot.partition)
        owner, notifying = log.owner, self._notifying.pop(slot, None)
        if notifying is not None:
            await notifying  # or what was loaded by an earlier incarnation would be taken for this one's
        if log.is_over or self._logs.of(slot) is not log:
            return False
        if not loaded or owner is None:
            self._leave(slot, "it could not be loaded")
            await self._try_later(slot, token, UNREADABLE_AGAIN_MS)
            return False
        self._leaders.serves(slot, owner.generation)
        self._opened.ownership.taken_over(slot, owner.generation)
        logger.debug("%s: served, in epoch %d", at_cluster.name, owner.generation)
        if not self.waiting:
            logger.info("slots: all %d that are this node's are served", len(self._opened.ownership.holds))
        Upkeep(self._env.clock, log, lambda: self._begin(taking.new_producer()))
        if not at_cluster.topic.compacted:
            needed_from = partial(self._opened.needed_from, slot.partition)
            Pruning(self._env.clock, at_cluster, log, needed_from, self._settings.pruning)
        return True

    async def _try_later(self, slot: SlotId, token: object, after_ms: int) -> None:
        await sleep(self._env.clock, after_ms)
        if self._tries.get(slot) is token:
            self._opened.ownership.lost(slot)

    # -- ends

    def _over(self, slot: SlotId, token: object, log: SlotLog, reason: str) -> None:
        """React to the end of a log that this node has not ended itself: leave the slot, and note that it is lost."""
        if self._logs.of(slot) is log:
            self.lost += 1
            if not self._lost_lately:
                self._env.clock.call_at(self._env.clock.now_ms() + LOST_TOGETHER_MS, self._log_lost)
            self._lost_lately.append(reason)
            self._leave(slot, "its log is over")
            if self._tries.get(slot) is token:
                self._opened.ownership.lost(slot)

    def _log_lost(self) -> None:
        lost, self._lost_lately = self._lost_lately, []
        others = f"; and {len(lost) - 1} more" if len(lost) > 1 else ""
        logger.warning("slots: lost %s%s", lost[0], others)

    def _leave(self, slot: SlotId, reason: str) -> None:
        """Stop leading the partitions of a slot; then notify all parts that depend on them."""
        log = self._logs.remove(slot)
        self._leaders.leaves(slot)
        if log is None:
            return
        log.end(reason)
        self._leaders.moved(topic_of(slot), slot.partition)
        if slot.topic == STATES:
            self._notifying[slot] = self._begin(self._notify_of_topics(slot))

    async def _notify_of_topics(self, slot: SlotId) -> None:
        for topic_id, topic, partition in self._opened.led():
            if self._slot_of_topic(topic_id) == slot:
                self._leaders.moved(topic, partition)
            await self._env.budget.breathe(LOOK)
