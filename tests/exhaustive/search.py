"""A breadth-first search through every history of a scope, one world of each form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

from shareq.protocol.share import TERMINAL, AcknowledgeType, AcquireMode
from tests.exhaustive.form import digest
from tests.exhaustive.ledger import Broken
from tests.exhaustive.scope import Acknowledge, EndTransaction, Fetch, LettersDone, Pass, Scope, Step, Written
from tests.exhaustive.steps import alphabet, is_possible
from tests.exhaustive.world import World

Life = bytes
"""The steps from the beginning on, each by its index in the alphabet."""
CHUNK = 64


@dataclass(frozen=True, slots=True)
class Found:
    """A history that broke a promise, last step included; `drained`: during the final work."""

    life: Life
    why: str
    drained: bool

    def listed(self, scope: Scope) -> str:
        steps = [str(alphabet(scope)[at]) for at in self.life]
        return "\n".join([*steps, *(["then all is worked off"] if self.drained else []), f"=> {self.why}"])


@dataclass(slots=True)
class Searched:
    """The result: `states[n]` new forms at depth n, `steps` taken in all; `found` ends the search."""

    states: list[int] = field(default_factory=lambda: [1])
    steps: int = 0
    found: Found | None = None

    @property
    def depth(self) -> int:
        return len(self.states) - 1


def search(
    scope: Scope, depth: int, executor: Executor | None = None, deeper: Callable[[Searched], bool] = lambda _: True
) -> Searched:
    """Search every history of up to `depth` steps, each followed by its final work; in an executor's processes if
    given.

    `deeper` is asked before each further level, and may end the search at the depth reached.
    """
    searched = Searched()
    seen = {digest(World(scope))}
    level: list[Life] = [b""]
    further = True
    while further:
        further = searched.depth < depth and deeper(searched)
        following: list[Life] = []
        for result in _looked_at(scope, level, executor, further=further):
            searched.steps += result.steps
            if result.found is not None:
                searched.found = result.found
                return searched
            for key, life in result.lives:
                if key not in seen:
                    seen.add(key)
                    following.append(life)
        if further:
            level = following
            searched.states.append(len(level))
    return searched


@dataclass(slots=True)
class _Look:
    lives: list[tuple[bytes, Life]] = field(default_factory=list)
    steps: int = 0
    found: Found | None = None


def _looked_at(scope: Scope, level: Sequence[Life], executor: Executor | None, *, further: bool) -> Iterable[_Look]:
    chunks = [(scope, level[at : at + CHUNK], further) for at in range(0, len(level), CHUNK)]
    return map(_look, chunks) if executor is None else executor.map(_look, chunks)


def _look(task: tuple[Scope, Sequence[Life], bool]) -> _Look:
    """Finish the work of each world, and take one further step from it."""
    scope, lives, further = task
    look = _Look()
    for life in lives:
        try:
            work_off(lived(scope, life))
        except Exception as broken:
            look.found = Found(life, _why(broken), drained=True)
            return look
        if further and not _go_on(scope, life, look):
            return look
    return look


def _go_on(scope: Scope, life: Life, look: _Look) -> bool:
    world = lived(scope, life)
    for at in [at for at, step in enumerate(alphabet(scope)) if is_possible(step, world)]:
        longer = life + bytes((at,))
        look.steps += 1
        try:
            world = lived(scope, longer)
        except Exception as broken:
            look.found = Found(longer, _why(broken), drained=False)
            return False
        look.lives.append((digest(world), longer))
    return True


def _why(broken: Exception) -> str:
    return str(broken) if isinstance(broken, Broken) else repr(broken)


def lived(scope: Scope, life: Life) -> World:
    """Return the world after these steps, checked after the last one. Raises Broken, or the leader's exceptions."""
    world, steps = World(scope), alphabet(scope)
    for number, at in enumerate(life, 1):
        world.perform(steps[at], check=number == len(life))
    return world


def work_off(world: World) -> None:
    """Let everything succeed: each remaining record must be delivered, and the start offset reach the log end."""
    ledger = world.ledger
    due = set(range(world.scope.log_end)) - ledger.finished - set(ledger.given_up)
    due -= ledger.may_be_finished | ledger.may_be_dead
    came: set[int] = set(ledger.held)
    for step in _working_off(world):
        world.perform(step)
        came |= set(ledger.held)
    lost = due - came - ledger.finished - set(ledger.given_up)
    if lost:
        raise Broken(f"offsets {sorted(lost)} never came")
    unburied = ledger.dead - ledger.buried if world.scope.dead_letters else set()
    if unburied:
        raise Broken(f"offsets {sorted(unburied)} are dead, and have no dead letters")
    if not _is_worked_off(world):
        raise Broken(
            f"the rest never ends, from {world.core.start_offset} of {world.scope.log_end} on: {world.core.snapshot()}"
        )


def _working_off(world: World) -> Iterator[Step]:
    for _ in range(2 * world.scope.log_end * (world.scope.delivery_count_limit + 1)):
        yield from _settling(world)
        yield from _timers(world)
        if _is_worked_off(world):
            return
        if world.ledger.staged:
            yield EndTransaction(commit=world.outcome is not False)
            yield from _settling(world)
        yield Fetch(0, AcquireMode.BATCH_OPTIMIZED, world.scope.log_end)
        for offset in sorted(world.ledger.held):
            yield Acknowledge(0, offset, offset, AcknowledgeType.ACCEPT)


def _timers(world: World) -> Iterator[Step]:
    for _ in range(16 * world.scope.log_end):
        if world.core.next_deadline_ms() is None:
            return
        yield Pass("the deadline")
        yield from _settling(world)
    raise Broken("the timer never comes to rest")


def _settling(world: World) -> Iterator[Step]:
    while world.writes or world.letters:
        yield Written("durable") if world.writes else LettersDone(copied=True)


def _is_worked_off(world: World) -> bool:
    """Return whether everything is finished.

    A start offset after a filled gap waits for the next record.
    """
    core, left = world.core, range(world.core.start_offset, world.scope.log_end)
    finished = sum(row.last_offset - row.first_offset + 1 for row in core.snapshot() if row.state in TERMINAL)
    return finished == len(left)
