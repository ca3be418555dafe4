"""The jobs of a seed: groups that consume a topic and commit offsets, or copy it to another in transactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.transactions.markers import RETRY_MS
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.transaction.metadata import LAST_EPOCH, Transaction, TransactionState
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import TRANSACTION_STATE
from tests.simulation.jobs.admin import JobAdministrator
from tests.simulation.jobs.audit import audit_jobs
from tests.simulation.jobs.group import JobGroup
from tests.simulation.jobs.ledger import CopyLedger
from tests.simulation.jobs.settings import LOOK_FOR_TIMEOUTS_MS, SESSION_MS
from tests.simulation.jobs.view import View, judge
from tests.simulation.jobs.worker import Worker
from tests.simulation.jobs.zombie import Zombie
from tests.simulation.ledger import InvariantBroken
from tests.simulation.replayed import ReplayedGroups
from tests.simulation.topics import NAMES, SECOND, TOPIC

if TYPE_CHECKING:
    from tests.simulation.world import World

MOST_ZOMBIES: Final = 4
CONVERGENCE_ROUNDS: Final = 14
INTERVAL_MS: Final = 1_001
PATIENCE: Final = 150  # rounds until everything must be done


class Jobs:
    def __init__(self, world: World) -> None:
        self._world = world
        self.groups: list[JobGroup] = []
        self.zombies: list[Zombie] = []
        self.copies = CopyLedger()
        self.initialized: dict[str, int] = {}  # by transactional id: the process that initialized it last
        self.epochs: dict[int, int] = {}  # by producer id
        self.began_ms = 0  # the broker, time of day
        self.admin = JobAdministrator(world)
        self._view = View(world)
        self._number = 0
        self.last_epoch = LAST_EPOCH

    def begin(self) -> None:
        rng = self._world.rng
        self._world.topics.create(SECOND)
        if rng.random() < 0.3:
            self.last_epoch = rng.randint(1, 6)
        self.groups = [JobGroup(self._world, f"job{index}") for index in range(rng.choice((1, 2)))]
        for group in self.groups:
            group.workers = [Worker(group, index) for index in range(rng.choice((1, 2, 2, 3)))]
            kind = f"{group.protocol}, {'copies' if group.copies else 'commits'}, {group.committed}"
            self._world.note(f"{group.id}: {kind}, {len(group.workers)} workers")

    def next_number(self) -> int:
        self._number += 1
        return self._number

    # -- what happens

    def act(self) -> None:
        world, rng = self._world, self._world.rng
        if self.zombies and rng.random() < 0.15:
            rng.choice(self.zombies).act()
            return
        group = rng.choice(self.groups)
        worker = rng.choice(group.workers)
        for _ in range(rng.randint(1, 8)):
            worker.act()
            how = rng.random()
            if how < 0.55:
                world.settle()
            elif how < 0.75:
                world.clock.run_tick()
            else:
                world.advance(rng.choice((1, 20, 100)))
            self.look_at_groups()

    def let_time_pass(self) -> None:
        rng = self._world.rng
        if rng.random() < 0.7:
            for worker in self.workers():
                worker.heartbeat()
            self._world.settle()
            self.look_at_groups()
        self._world.advance(rng.choice((1, 50, 50, 500, 1_001, 2_001, 3_001, SESSION_MS + 1)))

    def trouble_at_an_end(self) -> None:
        world, rng = self._world, self._world.rng
        copying = [worker for worker in self.workers() if worker.producer is not None]
        if not copying:
            return
        worker = self.bring_to_an_end(rng.choice(copying))
        if worker is None:
            return
        world.seen["troubles at the end of a transaction"] += 1
        if rng.random() < 0.6:
            world.faults.crash_soon()
        else:
            world.faults.fail_writes(after=rng.randint(0, 3))
        while worker.is_about_to_end:
            worker.go_on()
        if rng.random() < 0.5:
            world.settle()

    def bring_to_an_end(self, worker: Worker) -> Worker | None:
        """Run the worker until only its transaction's end is missing; None if that does not happen."""
        for _ in range(16):
            if not worker.is_about_to_end:
                worker.go_on()
                self._world.advance(50)
        return worker if worker.is_about_to_end else None

    def bring_one_to_its_offsets(self, workers: Sequence[Worker]) -> None:
        for _ in range(40):
            for worker in workers:
                worker.go_on()
                if worker.commits_offsets:
                    return
            self._world.clock.run_tick()

    def grow(self) -> None:
        self._world.topics.grow(self._world.rng.choice((TOPIC, SECOND)))

    def on_broker_start(self) -> None:
        self.began_ms = self._world.clock.wall_ms()

    def on_broker_lost(self) -> None:
        for group in self.groups:
            for worker in group.workers:
                worker.on_broker_lost()
        del self.zombies[:-MOST_ZOMBIES]
        for zombie in self.zombies:
            zombie.on_broker_lost()

    # -- convergence, and the end

    def converge(self) -> None:
        world = self._world
        world.faults.clear()
        world.settle()
        if not self.all_is_well():
            return
        world.note("the jobs converge")
        world.seen["jobs that converged"] += 1
        for worker in self.workers():
            worker.settle_down()
        self._await_owners()
        for worker in self.workers():
            worker.steady = False

    def finish(self) -> None:
        """Work until everything is done; then check that every record was copied once, and nothing is open."""
        if not self.groups:
            return
        world = self._world
        for name in NAMES:
            if not world.topics.of(name):
                world.topics.create(name)
        world.settle()
        world.audit()
        for worker in self.workers():
            worker.settle_down()
        self._work()
        world.advance(SESSION_MS + LOOK_FOR_TIMEOUTS_MS)
        self._await_owners()
        world.audit()
        if not self._is_done():  # offsets have expired, while everybody was silent
            self._work()
            world.audit()
        if not self._is_done():
            raise InvariantBroken(f"the jobs are not done any more: {self._left()}")
        self._check_all_is_stable()

    def _work(self) -> None:
        for _ in range(PATIENCE):
            self._round()
            if self._is_done():
                return
        raise InvariantBroken(f"the jobs are never done: {self._left()}")

    def workers(self) -> list[Worker]:
        return [worker for group in self.groups for worker in group.workers]

    def _round(self) -> None:
        for _ in range(3):
            for worker in self.workers():
                worker.act()
            self._world.settle()
        self._world.advance(INTERVAL_MS)
        self._world.look_inside()

    def _await_owners(self) -> None:
        for _ in range(CONVERGENCE_ROUNDS):
            self._round()
            if all(_is_shared_out(group) for group in self.groups):
                return
        for group in self.groups:
            if not _is_shared_out(group):
                reported = [sorted(slot.index for slot in worker.membership.assigned) for worker in group.workers]
                raise InvariantBroken(f"{group.id}: after convergence its members own {reported}")

    def _left(self) -> dict[str, list[tuple[int, int]]]:
        """Return by group the slots not consumed to their ends, with positions."""
        left: dict[str, list[tuple[int, int]]] = {}
        for group in self.groups:
            for slot in group.source():
                committed = group.ledger.register(slot.index).base
                log = self._world.log(slot)
                if max(committed, log.log_start_offset) < log.high_watermark:
                    left.setdefault(group.id, []).append((slot.index, committed))
        return left

    def _is_done(self) -> bool:
        return not self._left()

    def _check_all_is_stable(self) -> None:
        for slot in self._world.topics.of(SECOND):
            log = self._world.log(slot)
            if log.last_stable_offset != log.high_watermark:
                raise InvariantBroken(
                    f"slot {slot.index} is stable up to {log.last_stable_offset}, and ends at {log.high_watermark}"
                )
        for value, (attempt, source) in self.copies.copies.items():
            is_seen = self.copies.seen.get(attempt.group_id, {}).get(source) == value
            if attempt.outcome and not is_seen and value not in self.copies.cut:
                raise InvariantBroken(f"{value!r} was committed, and readers of committed records never got it")

    # -- looking inside

    @property
    def transactional_ids(self) -> list[str]:
        return [worker.transactional_id for worker in self.workers()]

    def transaction(self, transactional_id: str) -> Transaction | None:
        """Return the coordinator's transaction; None also if it is unavailable."""
        partitions = self._world.folder.transactions.coordinator.partitions
        if not partitions.count:
            return None
        partition = partitions.get(group_partition_for(transactional_id, partitions.count))
        return None if partition.is_lost else partition.shard.get(transactional_id)

    def transactions(self) -> list[Transaction] | None:
        """Return all transactions; None if not all can be known."""
        folder = self._world.folder
        count = folder.transactions.coordinator.partitions.count
        logs = (folder.logs.get(TRANSACTION_STATE, at) for at in range(count))
        if any(log.refusal is not ErrorCode.NONE for log in logs):
            return None
        found = [self.transaction(name) for name in self.transactional_ids]
        return [transaction for transaction in found if transaction is not None]

    def is_ongoing(self, transactional_id: str, producer_id: int, epoch: int) -> bool:
        found = self.transaction(transactional_id)
        return (
            found is not None
            and found.state is TransactionState.ONGOING
            and (found.producer_id, found.producer_epoch) == (producer_id, epoch)
        )

    def is_torn(self) -> bool:
        """Return whether some markers of a transaction may still be unwritten."""
        known = self.transactions()
        return known is None or any(transaction.is_preparing for transaction in known)

    def all_is_well(self) -> bool:
        """Return whether no log is offline, as after a failed sync until the next start."""
        return all(log.refusal is ErrorCode.NONE for log in self._world.folder.logs.logs())

    def look_inside(self) -> None:
        self.look_at_groups()
        now = self._world.clock.wall_ms()
        for transaction in self.transactions() or ():
            # Looked for at intervals, the first of them after a start; a decision that cannot be written is made again.
            until = max(transaction.start_ms + transaction.timeout_ms, self.began_ms) + 2 * LOOK_FOR_TIMEOUTS_MS
            if transaction.state is TransactionState.ONGOING and now > until and not self._world.faults.happened:
                raise InvariantBroken(f"{transaction} is open at {now}")
            until = max(transaction.last_update_ms, self.began_ms) + 2 * RETRY_MS
            if transaction.is_preparing and now > until and not self._world.faults.happened:
                raise InvariantBroken(f"{transaction} is decided, and not ended at {now}")

    def look_at_groups(self) -> None:
        for group in self.groups:
            group.look()

    def audit(self, replayed: Sequence[ReplayedGroups]) -> None:
        """Check what holds when nothing is in progress.

        `replayed`: the group coordinator's shards beside their logs.
        """
        if not self.groups:
            return
        audit_jobs(self._world, replayed)
        self.admin.audit()
        for group in self.groups:
            group.retention.audit()
        for worker in self.workers():
            worker.check_waiting()
        self._view.look()
        if self.all_is_well() and not self.is_torn():
            hidden = self._view.hidden()
            for group in self.groups:
                judge(self._world, group, hidden)


def _is_shared_out(group: JobGroup) -> bool:
    slots = sorted(slot.index for slot in group.source())
    has = [[slot for slot in worker.membership.assigned if slot.index in slots] for worker in group.workers]
    owned = [slot for each in has for slot in each]
    loads = sorted(map(len, has))
    return sorted(slot.index for slot in owned) == slots and loads[-1] - loads[0] <= 1
