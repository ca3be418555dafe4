from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from shareq.protocol.share import AcknowledgeType, AcquireMode
from tests.exhaustive.scope import (
    LOCK_MS,
    Acknowledge,
    Crash,
    EndSession,
    EndTransaction,
    Fetch,
    LettersDone,
    Pass,
    Scope,
    Stage,
    Step,
    Trim,
    Written,
)
from tests.exhaustive.world import World

ONE_RECORD = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW)
STAGED = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT)
SEVERAL = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.RENEW)
"""The types of acknowledgements for several records. GAP is left out, because its effect is that of REJECT."""


@cache
def alphabet(scope: Scope) -> tuple[Step, ...]:
    """Return all steps, at most 256, because a history is stored as bytes."""
    steps = tuple(_alphabet(scope))
    assert len(steps) <= 256
    return steps


def _alphabet(scope: Scope) -> Iterator[Step]:
    for member in range(scope.members):
        yield Fetch(member, AcquireMode.BATCH_OPTIMIZED, 1)
        yield Fetch(member, AcquireMode.BATCH_OPTIMIZED, scope.log_end)
        yield Fetch(member, AcquireMode.RECORD_LIMIT, 1)
        for first in range(scope.log_end):
            for last in range(first, scope.log_end):
                for kind in ONE_RECORD if first == last else SEVERAL:
                    yield Acknowledge(member, first, last, kind)
        yield EndSession(member)
    if scope.transactions:
        yield from _in_transactions(scope)
    yield Written("durable")
    yield Written("failed")
    yield Written("answer lost")
    yield Pass("half a lock")
    yield Pass("the deadline")
    yield Crash(durable=False)
    yield Crash(durable=True)
    if scope.dead_letters:
        yield LettersDone(copied=True)
    if scope.trimmed:
        for log_start in range(1, scope.log_end):
            yield Trim(log_start)


def _in_transactions(scope: Scope) -> Iterator[Step]:
    for member in range(scope.members):
        for first in range(scope.log_end):
            for kind in STAGED:
                yield Stage(member, first, first, kind)
        yield Stage(member, 0, scope.log_end - 1, AcknowledgeType.ACCEPT)
    yield EndTransaction(commit=True)
    yield EndTransaction(commit=False)


def is_possible(step: Step, world: World) -> bool:
    """Return whether the step is possible, and no other one is equivalent."""
    ledger = world.ledger
    match step:
        case Fetch():
            return not step.member or _is_known(world)
        case Acknowledge():
            return _is_worth_it(step, world)
        case Stage():
            return world.outcome is None and _may_stage(step, world)
        case EndTransaction():
            return world.may_end(commit=step.commit)
        case EndSession():
            return any(step.member in members for members in ledger.believed.values())
        case Written():
            # A client that got no answer to its staging aborts, and its leader has nothing to end.
            unanswered = (
                step.outcome == "answer lost" and bool(world.writes) and world.writes[0].write_id in world.stagings
            )
            return bool(world.writes) and not unanswered
        case Pass():
            deadline = world.core.next_deadline_ms()
            if deadline is None:
                return False
            return step.until == "half a lock" or deadline > world.now_ms + LOCK_MS // 2
        case Crash():
            return bool(world.writes) or (not step.durable and world.core.end_offset > 0)
        case LettersDone():
            return bool(world.letters)
        case Trim():
            return not world.log_start


def _is_known(world: World) -> bool:
    """Return True if the first member has been seen: until then it stands for all members."""
    return bool(world.ledger.believed) or world.core.end_offset > 0


def _may_stage(step: Stage, world: World) -> bool:
    """Return True if the member has the records, or believes so, and has not acknowledged them without a transaction
    before, which may have been durable.
    """
    ledger, offsets = world.ledger, range(step.first, step.last + 1)
    if step.first == step.last and step.kind is AcknowledgeType.ACCEPT and not world.rightly(step):
        return step.member in ledger.believed.get(step.first, ())
    if any(offset in ledger.may_be_finished or offset in ledger.may_be_dead for offset in offsets):
        return False
    return all(ledger.may_acknowledge(step.member, offset) for offset in offsets)


def _is_worth_it(step: Acknowledge, world: World) -> bool:
    ledger = world.ledger
    offsets = range(step.first, step.last + 1)
    if all(ledger.may_acknowledge(step.member, offset) for offset in offsets):
        later = world.now_ms + LOCK_MS
        return step.kind is not AcknowledgeType.RENEW or any(ledger.held[at].deadline_ms != later for at in offsets)
    # A member that does not know better: it is refused, whatever it says, or the record is finished.
    wrongly = step.first == step.last and step.kind is AcknowledgeType.ACCEPT
    return wrongly and step.member in ledger.believed.get(step.first, ())
