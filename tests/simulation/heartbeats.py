"""A member's membership: it joins, stays, leaves, changes its subscription, loses answers, sends bad heartbeats."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message
from tests.simulation.ledger import InvariantBroken
from tests.simulation.membership import GONE, JOIN, LEAVE, LOG_FAILED, expected_error
from tests.simulation.topics import SECOND, TOPIC

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World

Names = tuple[str, ...]

SUBSCRIPTIONS: Final[tuple[Names, ...]] = (
    (TOPIC,),
    (TOPIC,),
    (TOPIC, SECOND),
    (TOPIC, SECOND),
    (SECOND,),
    (TOPIC, "none"),
)


TOO_MUCH: Final[Names] = tuple(f"{n:02}".ljust(32_765, "-") for n in range(32))
"""Names that take less than the largest batch, while their record takes more."""

TOO_MUCH_SHARE: Final = 0.15


class Heartbeats:
    def __init__(self, world: World, group: Group, member_id: str) -> None:
        self._world = world
        self._group = group
        self._connection = world.connect()
        self.member_id = member_id
        self.epoch = JOIN
        self.names: Names = world.rng.choice(SUBSCRIPTIONS)
        self.assigned: frozenset[int] = frozenset()  # slots
        self._reported: Names = ()  # the subscription that was answered last
        self._life = 0
        self._leaves = 0
        self._chance = Random(
            f"{world.transcript[0]} {member_id}"
        )  # apart: what has no effect must not change anything

    def act(self) -> None:
        if self._chance.random() < TOO_MUCH_SHARE:
            self._say_too_much()
        world, action = self._world, self._world.rng.random()
        if self.epoch == JOIN or action < 0.5:
            self.send()
        elif action < 0.62:
            self._lose_answer()
        elif action < 0.78:
            self.names = world.rng.choice(SUBSCRIPTIONS)
            world.seen["subscriptions that changed"] += 1
            self.send()
        elif action < 0.86:
            self.leave()
        elif action < 0.93:
            world.seen["heartbeats with a wrong epoch"] += 1
            self._send(max(1, self.epoch + world.rng.choice((-3, -2, 1, 5))), None)
        elif action < 0.97:
            self._send(JOIN, self.names)  # the client was started again with the same member id
        else:
            self.forget()  # nothing is heard of it for now

    def send(self, *, full: bool = False) -> None:
        """Send a valid heartbeat; `full` repeats the subscription, as a join does."""
        full = full or self.epoch == JOIN or self._reported != self.names
        self._send(self.epoch, self.names if full else None)

    def leave(self) -> None:
        if self.epoch != JOIN:
            self._world.seen["members that left"] += 1
            self._leaves += 1
            self._send(LEAVE, None)
            self.forget()

    def forget(self) -> None:
        self._life += 1
        self.epoch = JOIN
        self.assigned = frozenset()
        self._reported = ()

    def _lose_answer(self) -> None:
        self._world.seen["heartbeats whose answer was lost"] += 1
        self.send(full=self._world.rng.random() < 0.3)
        self._life += 1

    def _say_too_much(self) -> None:
        world, epoch = self._world, self.epoch
        live = world.live_group(self._group.id)
        expected = expected_error(live, self.member_id, epoch, world.services.started_with.group_share_max_size)
        if expected is ErrorCode.NONE:
            expected = ErrorCode.UNKNOWN_SERVER_ERROR
        request = ShareGroupHeartbeatRequest(self._group.id, self.member_id, epoch, None, list(TOO_MUCH))
        world.seen["subscriptions that were too large"] += 1

        def answered(response: Message) -> None:
            assert isinstance(response, ShareGroupHeartbeatResponse)
            self._judge(ErrorCode(response.error_code), expected, left=False)

        world.call("share_group_heartbeat", request, 1, self._connection).on_complete(answered)

    def _send(self, epoch: int, names: Names | None) -> None:
        world, group, life = self._world, self._group, self._life
        live = world.live_group(group.id)
        expected = expected_error(live, self.member_id, epoch, world.services.started_with.group_share_max_size)
        request = ShareGroupHeartbeatRequest(
            group.id, self.member_id, epoch, None, None if names is None else list(names)
        )
        deadline_ms = world.clock.now_ms() + world.session_timeout_ms
        if expected is ErrorCode.NONE:
            group.membership.on_sent(self.member_id, epoch, deadline_ms)
        world.seen["heartbeats"] += 1
        if names is not None:
            self._reported = ()  # until it is answered: the broker may have it or not
        world.note(f"{self.member_id} heartbeats at {epoch}, {'' if names is None else names}")
        refused_at_once, leaves = expected is not ErrorCode.NONE, self._leaves
        is_guess = epoch not in (JOIN, LEAVE, self.epoch)  # it may be right when an answer was lost

        def answered(response: Message) -> None:
            assert isinstance(response, ShareGroupHeartbeatResponse)
            error = ErrorCode(response.error_code)
            world.note(f"{self.member_id} heartbeat at {epoch}: {error.name} {response.member_epoch}")
            self._judge(error, expected, left=leaves != self._leaves)
            ledger = group.membership  # another one, when the group was deleted before the member joined
            if not refused_at_once:
                if error is ErrorCode.NONE:
                    ledger.on_answered(self.member_id, epoch, deadline_ms, response, world.live_group(group.id))
                else:
                    ledger.on_refused(self.member_id, epoch)
            if error in GONE:
                ledger.on_gone(self.member_id)
            if life == self._life and epoch != LEAVE and not (is_guess and error is ErrorCode.NONE):
                self._believe(response, error, names)

        world.call("share_group_heartbeat", request, 1, self._connection).on_complete(answered)

    def _judge(self, error: ErrorCode, expected: ErrorCode, *, left: bool) -> None:
        world = self._world
        if error is expected or (error in LOG_FAILED and world.faults.happened):
            return
        if expected is ErrorCode.NONE and error in GONE:
            live = world.live_group(self._group.id)
            if left or live is None or self.member_id not in live.members:
                return  # it went between the two phases, and is perhaps back already
        raise InvariantBroken(f"{self.member_id}: heartbeat answered {error.name}, due was {expected.name}")

    def _believe(self, response: ShareGroupHeartbeatResponse, error: ErrorCode, names: Names | None) -> None:
        world = self._world
        if error is not ErrorCode.NONE:
            world.seen["members that were expired"] += error is ErrorCode.UNKNOWN_MEMBER_ID
            world.seen["members that were fenced"] += error is ErrorCode.FENCED_MEMBER_EPOCH
            if error not in LOG_FAILED:
                self.forget()
            return
        self.epoch = response.member_epoch
        self._reported = names or self._reported
        if response.assignment is not None:
            self.assigned = frozenset(
                world.topics.slot(topic.topic_id, partition).index
                for topic in response.assignment.topic_partitions
                for partition in topic.partitions
            )
            self._group.assigned |= self.assigned
