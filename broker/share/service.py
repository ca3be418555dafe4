"""The share partitions this broker leads, as the handlers use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shareq.broker.config.service import GROUP, TOPIC
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.broker.foundation.service import Service
from shareq.broker.foundation.turn_budget import LOOK, PAUSE
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.share.acknowledgements import ShareAcknowledgements
from shareq.broker.share.core.effects import DeadLetter
from shareq.broker.share.core.fetch_plan import fetch_order
from shareq.broker.share.core.sessions import LOOKED_AT, ShareFetchContext
from shareq.broker.share.fetch import ShareFetch, ShareFetchHost, ShareFetchParams, WantedPartition
from shareq.broker.share.last_letters import LastLetters
from shareq.broker.share.leader import DeadLetterWriter, NoDeadLetters, Parked, SharePartitionLeader
from shareq.broker.share.partitions import SharePartitionManager
from shareq.broker.share.persister import Persister
from shareq.broker.share.ports import RecordSources
from shareq.broker.share.session_ends import ShareSessionService
from shareq.broker.topics.leaders import Leaders
from shareq.coordinator.ports import MetadataImage, ShareGroupSettingsSource, TopicImage
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.metadata.changes import ResourceName
    from shareq.broker.share.dlq.breakers import PauseGroup
    from shareq.broker.share.dlq.queues import DeadLetterQueues


class WaitingFetch(NamedTuple):
    """A share fetch that `ShareService.wait` began, with its session's context."""

    context: ShareFetchContext
    fetch: ShareFetch


class LazyDeadLetters:
    """A `DeadLetterWriter` that is created, and whose modules are imported, with the first dead letter."""

    def __init__(self, make: Callable[[], DeadLetterQueues | None]) -> None:
        self._make = make
        self.queues: DeadLetterQueues | None = None
        self._writer: DeadLetterWriter | None = None

    def write(
        self, leader: SharePartitionLeader, letters: Sequence[DeadLetter], done: Callable[[int, int], None]
    ) -> None:
        self._made().write(leader, letters, done)

    def records_came(self, leader: SharePartitionLeader) -> None:
        self._made().records_came(leader)

    def give_up(self, leader: SharePartitionLeader, letters: Sequence[DeadLetter], reason: str) -> None:
        self._made().give_up(leader, letters, reason)

    def _made(self) -> DeadLetterWriter:
        if self._writer is None:
            self.queues = self._make()
            self._writer = self.queues or NoDeadLetters()
        return self._writer

    def close(self) -> None:
        """Stop all timers."""
        if self.queues is not None:
            self.queues.close()


class ShareService(Service):
    """The share partitions (`partitions`) of a broker, and what consumers need for them.

    These are their sessions (`sessions`), the ends of these with their connections (`session_ends`),
    `acknowledgements`, and dead letters. `max_sessions` is the most sessions at a time. `make_queues` creates the
    writer of dead letters; if it returns None, no letters are written. `pause` pauses a group that gets too many dead
    letters.
    """

    def __init__(
        self,
        env: Environment,
        sources: RecordSources,
        settings: ShareGroupSettingsSource,
        other_leaders: Leaders,
        persister: Persister,
        metadata: MetadataImage,
        answer_budget: AnswerBudget,
        max_sessions: int,
        make_queues: Callable[[], DeadLetterQueues | None] = lambda: None,
        *,
        pause: PauseGroup | None = None,
    ) -> None:
        self._env = env
        self._settings = settings
        self._begin = beginner(env.budget, in_ticks(env.clock.call_soon))
        self.dead_letters = LazyDeadLetters(make_queues)
        self.partitions = SharePartitionManager(
            env, sources, settings, other_leaders, persister, self.dead_letters, pause=pause
        )
        self.last_letters = LastLetters(env, self.partitions, persister, metadata, other_leaders, self._letters_trouble)
        self.session_ends = ShareSessionService(self.partitions, max_sessions)
        self.sessions = self.session_ends.sessions
        self.acknowledgements = ShareAcknowledgements(self.partitions, metadata, env.budget)
        self._fetch_host = ShareFetchHost(env, self.partitions, metadata, answer_budget)

    def fetch(
        self,
        params: ShareFetchParams,
        wanted: Sequence[WantedPartition],
        refuse: Callable[[str], ErrorCode] | None = None,
        everything: Sequence[SharePartitionLeader] = (),
    ) -> ShareFetch:
        """Return a new share fetch, which is not started; see `ShareFetch`."""
        isolation_level = self._settings.share_group(params.group_id).isolation_level
        return ShareFetch(self._fetch_host, isolation_level, params, wanted, refuse, everything)

    def wait(self, params: ShareFetchParams, epoch: int) -> WaitingFetch | None:
        """Begin a ShareFetch that names no partition, if all partitions of its session are quiet.

        Otherwise, or if it is not the next request of a session, return None and change nothing.
        """
        session = self.sessions.get(params.group_id, params.member_id)
        if session is None:
            return None
        leaders = self.partitions.of_session(session)
        if not 0 < len(leaders) == len(session.partitions) <= LOOKED_AT:
            return None
        for leader in leaders:
            if not leader.is_quiet:
                return None
        if not self.sessions.repeat(session, epoch):
            return None
        fetch = self.fetch(params, ())
        fetch.wait(leaders if len(leaders) == 1 else fetch_order(leaders, epoch, LOOKED_AT))
        return WaitingFetch(ShareFetchContext(session, epoch, session.in_order()), fetch)

    def config_changed(self, changed: ResourceName) -> None:
        """Let the waiting fetches of a group, or of all groups, look again, because their properties have changed."""
        if changed.kind == TOPIC:
            return
        group_id = changed.name if changed.kind == GROUP else None
        self.partitions.config_changed(group_id)
        waiting = self.partitions.purgatory.parked_of(group_id)
        if waiting:
            self._begin(self._wake(waiting))

    async def _wake(self, waiting: Sequence[Parked]) -> None:
        await PAUSE  # other changes of this turn may still follow
        for fetch in waiting:
            if self.partitions.purgatory.is_parked(fetch):
                fetch.look_again()
            await self._env.budget.breathe(LOOK)  # one may look at a thousand share partitions

    def _letters_trouble(self, leader: SharePartitionLeader) -> str:
        queues = self.dead_letters.queues
        return "" if queues is None else queues.trouble(leader)

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Drop the topics' share partitions."""
        self.partitions.topics_deleted(topics)

    def leader_moved(self, topic: str, partition: int) -> None:
        """Drop the share partitions of a partition that another broker leads."""
        self.partitions.leader_moved(topic, partition)

    def share_groups_disabled(self) -> None:
        """Forget all sessions and share partitions, because share groups were switched off; the coordinators keep their
        states.
        """
        self.sessions.clear()
        self.partitions.forget_all()

    def stop_waiting(self) -> None:
        """Answer every waiting fetch, and release nothing when the connections close from now on."""
        self.partitions.purgatory.finish_all()
        self.session_ends.stop()

    def close(self) -> None:
        """Stop the timers."""
        self.dead_letters.close()
        self.partitions.close()
