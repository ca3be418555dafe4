"""The redrives of a broker: start, description, cancellation, and continuation after a start of the broker."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Begin
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.service import Service
from shareq.broker.foundation.turn_budget import LOOK
from shareq.broker.metadata.topic_names import name_error
from shareq.broker.quotas.fair_part import may_make
from shareq.broker.redrive.job import Redrive
from shareq.broker.redrive.letter import Letter, has_sent
from shareq.broker.redrive.ports import Committed, RedriveWorld
from shareq.broker.redrive.progress import PartitionProgress, Saved, State, What, saved_of
from shareq.broker.redrive.rounds import SentBefore
from shareq.broker.redrive.spec import RedriveSpec, Target, problem_of, target_topic
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.names import REDRIVES

logger = logging.getLogger(__name__)

MOST_RUNNING: Final = 16
"""The most running redrives as long as only one client has any; beyond that, see `may_make` for other clients."""

MOST_DESCRIBED: Final = 100
MOST_OF_A_QUEUE: Final = 1_000
"""The most ended redrives of a queue in which letters that they have sent back still are."""

LONGEST_TEXT: Final = 4_096
"""The characters that `offset.metadata.max.bytes` must allow."""


class RedriveReport(NamedTuple):
    """The present state of a redrive. `trouble` is what it waits for, or why it failed."""

    spec: RedriveSpec
    state: State
    trouble: str | None
    progress: Sequence[PartitionProgress]


class RedriveNumbers(NamedTuple):
    """Counters since the broker's start.

    Running redrives, the ones of them that wait because of trouble, ended redrives by state, and letters by outcome.
    """

    running: int
    waiting: int
    ended: Mapping[State, int]
    letters: Mapping[What, int]


class _Beginning(NamedTuple):
    """A redrive that does not run yet: its owner, and the answer to its start."""

    owner: str
    answer: Pending[ApiError]


class RedriveService(Service):
    """All redrives of the broker. An ended redrive is known as long as its committed state exists."""

    def __init__(self, env: Environment, begin: Begin, world: RedriveWorld) -> None:
        self._env = env
        self._begin_work = begin
        self._world = world
        self._running: dict[str, Redrive] = {}
        self._beginning: dict[str, _Beginning] = {}
        self._ended: Counter[State] = Counter()
        self._letters: Counter[What] = Counter()  # of those that ended
        self._over_before: dict[str, RedriveReport] = {}  # those that have sent letters back, as they were last read

    # -- requests

    async def start(self, spec: RedriveSpec) -> ApiError:
        """Begin a redrive; the answer comes when that is durable.

        Errors: INVALID_REQUEST, DUPLICATE_RESOURCE (the name was used), POLICY_VIOLATION (too many are running, and
        their owner, a user or the address of unauthenticated clients, has its part of them), INVALID_CONFIG (the
        group would not see the records), UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, and errors of the
        commit of progress.
        """
        problem = problem_of(spec)
        if problem is not None:
            return ApiError(ErrorCode.INVALID_REQUEST, problem)
        if spec.name in self._running or spec.name in self._beginning:
            return _used(spec.name)
        if not may_make(MOST_RUNNING, self._held(), spec.owner.name):
            running = len(self._running) + len(self._beginning)
            message = f"{running} redrives are running, of {MOST_RUNNING} for all users, and you have your part."
            return ApiError(ErrorCode.POLICY_VIOLATION, message)
        if self._world.longest_text() < LONGEST_TEXT:
            message = f"offset.metadata.max.bytes must be {LONGEST_TEXT} at least: progress is committed with offsets."
            return ApiError(ErrorCode.INVALID_CONFIG, message)
        held = sum(each.spec.queue == spec.queue for each in self._over_before.values())
        if held >= MOST_OF_A_QUEUE:
            message = f"{held} redrives have sent letters of {spec.queue} back that are still in it: drop those first."
            return ApiError(ErrorCode.POLICY_VIOLATION, message)
        begun = Pending[ApiError]()
        self._beginning[spec.name] = _Beginning(spec.owner.name, begun)

        try:
            await self._look_again()
            error = await self._begin(spec, await self._world.load(spec.group_id))
        finally:
            del self._beginning[spec.name]
        begun.complete(error)
        return error

    async def of_queue(self, queue: str) -> list[tuple[str, RedriveReport | ApiError]]:
        """Return the redrives of a queue that are running or have sent letters back."""
        await self._look_again()
        running = {name: _report_of(each) for name, each in self._running.items()}
        return [(name, row) for name, row in (self._over_before | running).items() if row.spec.queue == queue]

    async def _look_again(self) -> None:
        """Read again which letters ended redrives have sent back, because clients may delete the groups with their
        progress.

        Redrives of which no letter is left in the queue are dropped.
        """
        before = dict(self._over_before)
        rows = await self._reports(group_id.removeprefix(REDRIVES) for group_id in self._world.group_ids(REDRIVES))
        for name, report in before.items():
            if self._over_before.get(name) is report:  # else it was noted meanwhile
                del self._over_before[name]
        for name, row in rows:
            if isinstance(row, RedriveReport) and name not in self._over_before:
                self._note(name, row)

    def _note(self, name: str, report: RedriveReport) -> None:
        if report.state is State.RUNNING:
            return
        sent = [each for each in report.progress if each.counts.get(What.REDRIVEN)]
        if any(self._may_have(report.spec.queue, each) for each in sent):
            self._over_before[name] = report
        elif sent:  # it may expire now
            self._world.commit(report.spec, report.state, report.progress, report.trouble or "")

    def _may_have(self, queue: str, progress: PartitionProgress) -> bool:
        log = self._world.log(queue, progress.partition)
        return isinstance(log, ErrorCode) or log.log_start_offset < progress.sent_upto

    def _sent_before(self, spec: RedriveSpec) -> SentBefore:
        """Return a function that returns True for letters that another redrive of the queue has sent back, or is
        about to.
        """

        def sent(partition: int, letter: Letter) -> bool:
            running = ((each.spec, each.progress) for each in self._running.values())
            over = ((each.spec, each.progress) for each in self._over_before.values())
            return any(
                has_sent(other, progress, partition, letter)
                for other, progress in (*over, *running)
                if other.queue == spec.queue and other.name != spec.name
            )

        return sent

    async def describe(self, names: Iterable[str] | None) -> list[tuple[str, RedriveReport | ApiError]]:
        """Return redrives by name (None: all known ones), at most `MOST_DESCRIBED`, running ones first. An unknown
        name gets RESOURCE_NOT_FOUND.
        """
        if names is None:
            known = {group_id.removeprefix(REDRIVES) for group_id in self._world.group_ids(REDRIVES)}
            names = [*sorted(self._running), *sorted(known - self._running.keys())][:MOST_DESCRIBED]
        return await self._reports(dict.fromkeys(names))

    async def cancel(self, name: str) -> ApiError:
        """End a redrive; the answer comes when that is durable. A finished redrive stays unchanged; for one that is
        just starting, this waits. Errors: RESOURCE_NOT_FOUND, COORDINATOR_NOT_AVAILABLE (the broker is stopping).
        """
        await self._begun(name)
        running = self._running.get(name)
        if running is not None:
            return ApiError(await running.cancel())
        ((_, report),) = await self._reports((name,))
        return report if isinstance(report, ApiError) else NO_ERROR

    async def _begun(self, name: str) -> None:
        """Return once no redrive of this name is just starting."""
        while (beginning := self._beginning.get(name)) is not None:
            await beginning.answer

    def owner_of(self, name: str) -> str | None:
        """Return the principal that started a running redrive; None if the redrive does not run."""
        running = self._running.get(name)
        return None if running is None else running.spec.owner.principal

    def numbers(self) -> RedriveNumbers:
        """Return the sums over all redrives."""
        letters = self._letters.copy()
        for redrive in self._running.values():
            letters.update(redrive.counts)
        waiting = sum(redrive.trouble is not None for redrive in self._running.values())
        return RedriveNumbers(len(self._running), waiting, self._ended, letters)

    # -- start, stop, news of topics

    def recover(self) -> None:
        """Continue the redrives that were running when the broker stopped."""
        for group_id in self._world.group_ids(REDRIVES):
            self._begin_work(self._resume(group_id))

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """End the redrives of deleted queues."""
        names = {topic.name for topic in topics}
        for redrive in list(self._running.values()):
            if redrive.spec.queue in names:
                redrive.queue_deleted()

    def stop_waiting(self) -> None:
        """Answer the clients that wait for the end of a redrive."""
        for redrive in self._running.values():
            redrive.stop_waiting()

    def close(self) -> None:
        """Stop all redrives, without ending them."""
        for redrive in self._running.values():
            redrive.close()
        self._running.clear()

    # -- the details

    def _held(self) -> Counter[str]:
        """Return the number of redrives of each owner."""
        beginning = (each.owner for each in self._beginning.values())
        return Counter([*beginning, *(each.spec.owner.name for each in self._running.values())])

    async def _begin(self, spec: RedriveSpec, found: Sequence[Committed] | ErrorCode) -> ApiError:
        if isinstance(found, ErrorCode):
            return ApiError(found)
        if found:
            return _used(spec.name)
        progress = self._first_progress(spec)
        if isinstance(progress, ApiError):
            return progress
        if spec.target is Target.GROUP and (problem := await self._group_topic(spec)):
            return problem
        producer_id = await self._world.new_producer_id()
        if isinstance(producer_id, ErrorCode):
            return ApiError(producer_id)
        spec = spec._replace(producer_id=producer_id, started_ms=self._env.clock.wall_ms(), parts=len(progress))
        error = await self._world.commit(spec, State.RUNNING, progress)
        if error:
            return ApiError(error, f"The progress of the redrive cannot be committed: {error.name}.")
        logger.info(
            "redrive %s: begun by %s, from %s to %s",
            spec.name,
            spec.owner.principal,
            spec.queue,
            target_topic(spec) or "where each letter is from",
            extra={"fields": {"event": "redrive_begun", "redrive": spec.name, "principal": spec.owner.principal}},
        )
        self._run(spec, progress)
        return NO_ERROR

    def _first_progress(self, spec: RedriveSpec) -> list[PartitionProgress] | ApiError:
        """Return the offsets where the redrive begins and ends in each partition of the queue at present, or the
        error.
        """
        count = None if spec.queue.startswith("__") else self._world.partitions(spec.queue)
        if count is None or spec.partition >= count:
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        progress: list[PartitionProgress] = []
        for partition in range(count) if spec.partition < 0 else (spec.partition,):
            log = self._world.log(spec.queue, partition)
            if isinstance(log, ErrorCode):
                return ApiError(log)
            end = log.high_watermark if spec.last_offset < 0 else min(spec.last_offset + 1, log.high_watermark)
            first = max(spec.first_offset, log.log_start_offset)
            progress.append(PartitionProgress(partition, min(first, max(end, 0)), end))
        return progress

    async def _group_topic(self, spec: RedriveSpec) -> ApiError:
        """Create the topic of a group if it is missing. Return an error if the group would not see the records."""
        group_id, name = spec.letters.group_id or "", target_topic(spec) or ""
        problem = name_error(name)
        if problem is not None:
            message = f"Letters cannot go back to group {group_id!r} alone: {name!r} cannot be a topic. {problem}."
            return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        if not self._world.begins_at_the_start(group_id):
            message = (
                f"Group {group_id} would begin at the end of {name}, and never see what is in it: "
                "set its share.auto.offset.reset to earliest first."
            )
            return ApiError(ErrorCode.INVALID_CONFIG, message)
        return NO_ERROR if self._world.partitions(name) is not None else await self._world.create_topic(name)

    def _run(self, spec: RedriveSpec, progress: Sequence[PartitionProgress]) -> None:
        redrive = Redrive(
            env=self._env,
            begin=self._begin_work,
            spec=spec,
            progress=progress,
            world=self._world,
            ended=self._over,
            sent_before=self._sent_before(spec),
        )
        self._running[spec.name] = redrive
        redrive.start()

    def _over(self, redrive: Redrive) -> None:
        self._running.pop(redrive.spec.name, None)
        self._ended[redrive.state] += 1
        self._letters.update(redrive.counts)
        self._note(redrive.spec.name, _report_of(redrive))
        logger.info(
            "redrive %s: %s",
            redrive.spec.name,
            redrive.state.value,
            extra={"fields": {"event": "redrive_over", "redrive": redrive.spec.name, "state": redrive.state.value}},
        )

    async def _resume(self, group_id: str) -> None:
        saved = self._saved(group_id, await self._world.load(group_id))
        if isinstance(saved, ApiError):
            logger.error("%s: its redrive does not go on: %s", group_id, saved.message or saved.code.name)
        elif saved.state is State.RUNNING:
            logger.info("redrive %s: goes on where it was", saved.spec.name)
            self._run(saved.spec, saved.progress)
        else:
            self._note(saved.spec.name, saved)

    async def _reports(self, names: Iterable[str]) -> list[tuple[str, RedriveReport | ApiError]]:
        asked: list[tuple[str, Redrive | Pending[Sequence[Committed] | ErrorCode]]] = []
        for name in names:
            asked.append((name, self._running.get(name) or self._world.load(REDRIVES + name)))
            await self._env.budget.breathe(LOOK)  # it may have many partitions
        rows: list[tuple[str, RedriveReport | ApiError]] = []
        for name, known in asked:
            if isinstance(known, Redrive):
                rows.append((name, _report_of(known)))
            else:
                rows.append((name, self._saved(REDRIVES + name, await known)))
            await self._env.budget.breathe(LOOK)
        return rows

    def _saved(self, group_id: str, found: Sequence[Committed] | ErrorCode) -> RedriveReport | ApiError:
        """Return the redrive in a group's commits. It is running if any partition's commit says so, since all are
        ended together.
        """
        if isinstance(found, ErrorCode):
            return ApiError(found)
        if not found:
            return ApiError(ErrorCode.RESOURCE_NOT_FOUND, f"There is no redrive {group_id.removeprefix(REDRIVES)}.")
        rows: list[Saved] = []
        for row in found:
            try:
                saved = saved_of(row.partition, row.offset, row.text, self._world.sign)
            except ValueError as error:
                return ApiError(ErrorCode.INVALID_RECORD, f"{row.topic}-{row.partition}: {error}")
            if saved.spec.group_id != group_id or saved.spec.queue != row.topic:
                return ApiError(ErrorCode.INVALID_RECORD, f"{row.topic}-{row.partition}: of another redrive")
            rows.append(saved)
        if len(rows) != rows[0].spec.parts:
            message = f"{group_id}: of {rows[0].spec.parts} committed offsets {len(rows)} are left"
            return ApiError(ErrorCode.INVALID_RECORD, message)
        running = any(row.state is State.RUNNING for row in rows)
        state = State.RUNNING if running else rows[0].state
        progress = sorted((row.progress for row in rows), key=lambda each: each.partition)
        return RedriveReport(rows[0].spec, state, rows[0].why or None, progress)


def _report_of(redrive: Redrive) -> RedriveReport:
    return RedriveReport(redrive.spec, redrive.state, redrive.trouble, redrive.progress)


def _used(name: str) -> ApiError:
    message = f"There was a redrive {name} before; its group {REDRIVES}{name} has how far it came."
    return ApiError(ErrorCode.DUPLICATE_RESOURCE, message)
