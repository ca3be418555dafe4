"""The next step of a sequence: a pure function of the seed, the step's number and the previous answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Final

from tests.differential.acks import mistaken_acks, sound_acks
from tests.differential.answers import Answer
from tests.differential.steps import (
    BATCH_OPTIMIZED,
    LONG_LOCK_MS,
    MEMBERS,
    PARTITIONS,
    QUEUE,
    RECORD_LIMIT,
    REJECT,
    RELEASE,
    SHORT_LOCK_MS,
    UNKNOWN_PARTITION,
    Acknowledge,
    AckRange,
    AlterOffsets,
    Configure,
    DeleteRecords,
    DescribeOffsets,
    Drop,
    Fetch,
    Heartbeat,
    MemberEpoch,
    Pause,
    Produce,
    ReadState,
    Restart,
    Step,
    batch_sizes,
    setup_of,
)
from tests.differential.view import View

PAUSE_MS = SHORT_LOCK_MS + 300
COLD_WAIT_MS = 500
"""The longest wait of a fetch from share partitions that the broker has to load first."""
PLENTY = 100_000
"""A MaxRecords above the number of available records: with a smaller one, each broker chooses the partition that is
served first.
"""
NEVER_ENOUGH = 8 << 20
"""The MinBytes of a fetch that waits for its full time, so that all partitions are loaded when it is answered."""
LOCK_MS = "share.record.lock.duration.ms"
QUEUE_NAME = "errors.deadletterqueue.topic.name"
QUEUE_COPIES = "errors.deadletterqueue.copy.record.enable"


class Sequence:
    """One seed's sequence.

    `next` makes a step, `note` learns from its answer. It uses no clock, and no randomness but the seed's.

    `delete_records`: both brokers have that RPC. `dead_letters`: both have dead-letter queues.
    """

    def __init__(self, seed: int, *, delete_records: bool = False, dead_letters: bool = False) -> None:
        self.seed = seed
        self.setup = setup_of(seed)
        self.view = View(self.setup)
        self.number = 0
        self._plan: list[str] = []
        self._kinds = dict(KINDS)
        if not delete_records:
            del self._kinds["delete records"]
        if self.setup.begins == "altered":
            del self._kinds["heartbeat"]
        if dead_letters and self.setup.dead_letters:
            self._kinds |= DEAD_LETTER_KINDS
        self._begin()

    def _begin(self) -> None:
        for partition, sizes in enumerate(self.setup.first_batches):
            self.view.log_end[partition] = sum(sizes)
        if self.setup.begins != "altered":
            self.view.joined.update(range(MEMBERS))

    def begin_again(self) -> None:
        self.view = View(self.setup)
        self._plan.clear()
        self._begin()

    def next(self) -> Step:
        chance = Random(f"{self.seed}/{self.number}")
        self.number += 1
        if self.number - 1 == self.setup.restart_at:
            self._plan.clear()
            return Restart("SIGKILL" if self.setup.kill else "SIGTERM", self.setup.kill)
        while True:
            if not self._plan:
                name = chance.choices(list(self._kinds), list(self._kinds.values()))[0]
                self._plan = list(PLANS.get(name, (name,)))
            step = MAKERS[self._plan.pop(0)](chance, self.view)
            if step is not None:
                return step

    def note(self, step: Step, answer: Answer) -> None:
        self.view.note(step, answer)


# -- share fetches


def _fetch(chance: Random, view: View) -> Step:
    """Return a member's usual ShareFetch, which opens a session if the member has none."""
    member = chance.randrange(MEMBERS)
    session = view.sessions.get(member)
    if session is None:
        return _open_of(chance, view, member)
    named = chance.choice(((), (), (), (0,), (1,), (0, 1), (1, 0)) if len(session.partitions) > 1 else ((),))
    step = Fetch("fetch", member, session.epoch, named, **_limits(chance))  # type: ignore[arg-type]
    if chance.random() < 0.07:
        step = replace(step, kind="fetch, forgetting", forgotten=chance.choice(((0,), (1,), (0, 1))))
    elif chance.random() < 0.02:
        step = replace(step, kind="fetch, unknown partition", partitions=(*named, UNKNOWN_PARTITION))
    elif UNKNOWN_PARTITION in session.partitions:
        step = replace(step, forgotten=(UNKNOWN_PARTITION,))
    if chance.random() < 0.3:
        acks = sound_acks(chance, view, member, renew=False)
        if acks:
            step = replace(step, kind="fetch with acks", acks=acks)
    return _sized(step, view)


def _shared_budget(chance: Random, view: View) -> Step | None:
    member = chance.randrange(MEMBERS)
    session = view.sessions.get(member)
    if session is None or not view.loaded.issuperset(range(PARTITIONS)):
        return None
    return Fetch("fetch, shared budget", member, session.epoch, (0, 1), max_records=chance.choice((1, 2, 10)))


def _open(chance: Random, view: View) -> Step:
    return _open_of(chance, view, chance.randrange(MEMBERS))


def _open_of(chance: Random, view: View, member: int) -> Step:
    """Return a fetch that opens a session with one partition or both, even if the member already has a session."""
    named = chance.choices(((0, 1), (1, 0), (0,), (1,), ()), (5, 3, 6, 6, 1))[0]
    kind = "reopen" if member in view.sessions else "open"
    return _sized(Fetch(kind, member, 0, named, **_limits(chance)), view)  # type: ignore[arg-type]


def _limits(chance: Random) -> dict[str, int]:
    version = 1 if chance.random() < 0.1 else 2
    return {
        "max_records": chance.choice((1, 1, 2, 3, 5, 10, 20, 50, 500, 500, 500, 0, -1 if chance.random() < 0.2 else 4)),
        "batch_size": chance.choice((1, 2, 5, 10, 50, 500, 0, -1)),
        "mode": BATCH_OPTIMIZED if version == 1 else chance.choice((BATCH_OPTIMIZED, RECORD_LIMIT)),
        "min_bytes": chance.choices((1, 0, 150, 3000), (12, 2, 1, 1))[0],
        "max_bytes": chance.choice((16 << 20, 16 << 20, 16 << 20, 4000, 300, 100, 1)),
        "version": version,
    }


def _sized(step: Fetch, view: View) -> Fetch:
    """Return the step, changed so that both brokers have to answer alike.

    A fetch from both partitions asks for all records, because otherwise it is chance, at both brokers, which partition
    gets the remaining bytes. A fetch that makes the broker load a share partition waits for its full time, because
    either partition may be loaded first.
    """
    session = view.sessions.get(step.member)
    fetched = set(step.partitions) | {partition for partition, _ in step.acks}
    if session is not None and step.epoch > 0:
        fetched |= session.partitions.keys()
    fetched -= {UNKNOWN_PARTITION}
    if step.max_records != 0 and len(fetched - set(step.forgotten)) > 1:
        step = replace(step, max_records=PLENTY if step.max_records > 0 else step.max_records, max_bytes=16 << 20)
    if fetched <= view.loaded or step.max_records == 0:
        return step
    return replace(step, max_wait_ms=COLD_WAIT_MS, min_bytes=NEVER_ENOUGH)


def _unknown_mode(chance: Random, view: View) -> Step | None:
    member = chance.randrange(MEMBERS)
    session = view.sessions.get(member)
    if session is None or not session.partitions.keys() <= view.loaded:
        return None
    return Fetch("unknown acquire mode", member, session.epoch, mode=chance.choice((2, -1, 100)))


def _unknown_topic_fetch(chance: Random, view: View) -> Step:
    """Fetch an unknown topic by an extra member, on a connection of its own, so that its session has no other topic."""
    return Fetch("unknown topic", MEMBERS, 0, (0,), unknown_topic=True)


# -- acknowledgements


def _acknowledge(chance: Random, view: View) -> Step | None:
    member = chance.randrange(MEMBERS)
    session = view.sessions.get(member)
    if session is None:
        return None
    renew = chance.random() < 0.15
    acks = sound_acks(chance, view, member, renew=renew)
    if not acks:
        return None
    if not renew:
        return Acknowledge("acknowledge", member, session.epoch, acks, version=chance.choice((1, 2, 2, 2)))
    if chance.random() < 0.7:
        return Acknowledge("renew", member, session.epoch, acks, is_renew_ack=True)
    return _renewing_fetch(Fetch("renew by fetch", member, session.epoch, acks=acks), chance)


def _renewing_fetch(step: Fetch, chance: Random) -> Fetch:
    step = replace(step, is_renew_ack=True, max_records=0, max_wait_ms=0, min_bytes=0, max_bytes=0)
    if chance.random() < 0.2:
        step = replace(step, kind="renew by fetch, asking for records", max_records=1)
    return step


def _mistaken(chance: Random, view: View) -> Step | None:
    member = chance.randrange(MEMBERS)
    session = view.sessions.get(member)
    if session is None:
        return None
    what, acks = mistaken_acks(chance, view, member)
    version = chance.choice((1, 2, 2))
    if chance.random() < 0.3:
        step = Fetch(f"bad ack with fetch: {what}", member, session.epoch, acks=acks, version=version)
        return _sized(step, view)
    return Acknowledge(f"bad ack: {what}", member, session.epoch, acks, version=version)


def _unknown_topic_ack(chance: Random, view: View) -> Step | None:
    member = chance.randrange(MEMBERS)
    session = view.sessions.get(member)
    if session is None:
        return None
    acks = ((0, (AckRange(0, 0, (1,)),)),)
    return Acknowledge("bad ack: unknown topic", member, session.epoch, acks, unknown_topic=True)


# -- sessions


def _wrong_epoch(chance: Random, view: View) -> Step:
    """Send a wrong session epoch: skipped, repeated, without a session, or 0 where it is not allowed."""
    member = chance.randrange(MEMBERS)
    session = view.sessions.get(member)
    acks = sound_acks(chance, view, member, renew=False)
    if session is None:
        epoch = chance.choice((-1, 1, 2, 100))
        kind = "epoch of no session"
    else:
        epoch = chance.choice((session.epoch - 1 or 5, session.epoch + 1, session.epoch + 7, -2))
        kind = "wrong epoch"
    if chance.random() < 0.15 and acks:
        return Fetch("open with acks", member, 0, (0, 1), acks=acks)
    if chance.random() < 0.5:
        return Fetch(f"{kind}, fetch", member, epoch, (0, 1), acks=acks)
    if chance.random() < 0.3:
        epoch = 0
        kind = "epoch 0"
    return Acknowledge(f"{kind}, acknowledge", member, epoch, acks)


def _close(chance: Random, view: View) -> Step | None:
    member = chance.randrange(MEMBERS)
    if member not in view.sessions:
        return None
    renew = chance.random() < 0.1
    acks = sound_acks(chance, view, member, renew=renew) if chance.random() < 0.6 else ()
    if chance.random() < 0.1:
        _, acks = mistaken_acks(chance, view, member)
    if chance.random() < 0.5:
        return Acknowledge("close by acknowledge", member, -1, acks, is_renew_ack=renew)
    step = Fetch("close by fetch", member, -1, acks=acks)
    return replace(step, is_renew_ack=True, max_records=0, max_wait_ms=0, min_bytes=0, max_bytes=0) if renew else step


def _drop(chance: Random, view: View) -> Step:
    return Drop("connection drop", (chance.randrange(MEMBERS),))


def _drop_all(chance: Random, view: View) -> Step:
    return Drop("connections drop, all", tuple(range(MEMBERS)))


# -- the rest


def _produce(chance: Random, view: View) -> Step:
    return Produce("produce", chance.randrange(PARTITIONS), batch_sizes(chance))


def _short_lock(chance: Random, view: View) -> Step:
    return Configure("short locks", ((LOCK_MS, str(SHORT_LOCK_MS)),))


def _long_lock(chance: Random, view: View) -> Step:
    return Configure("long locks", ((LOCK_MS, str(LONG_LOCK_MS)),))


def _quick_fetch(chance: Random, view: View) -> Step:
    step = _fetch(chance, view)
    assert isinstance(step, Fetch)
    return replace(step, max_wait_ms=min(step.max_wait_ms, 100))


def _pause(chance: Random, view: View) -> Step:
    return Pause("locks run out", PAUSE_MS)


def _configure(chance: Random, view: View) -> Step:
    what = chance.choice(("limit", "limit", "locks", "renew", "isolation", "wrong"))
    if what == "limit":
        value = chance.choice(("2", "3", "4", "5", "7", "10"))
        return Configure("delivery count limit", (("share.delivery.count.limit", value),))
    if what == "locks":
        return Configure("record locks", (("share.partition.max.record.locks", chance.choice(("100", "120", "2000"))),))
    if what == "isolation":
        level = chance.choice(("read_committed", "read_uncommitted"))
        return Configure("isolation level", (("share.isolation.level", level),))
    if what == "renew":
        return Configure("renewals", (("share.renew.acknowledge.enable", chance.choice(("true", "false"))),))
    name, value = chance.choice(
        (
            ("share.delivery.count.limit", "1"),
            ("share.delivery.count.limit", "11"),
            ("share.partition.max.record.locks", "99"),
            (LOCK_MS, "999"),
            ("share.isolation.level", "serializable"),
            ("share.no.such.thing", "1"),
        )
    )
    return Configure("wrong group config", ((name, value),))


def _dead_letter_queue(chance: Random, view: View) -> Step:
    """Configure a dead-letter queue, or remove it.

    With a queue, a rejected or finally failed record is archiving (3) until its letter is written, then archived.
    """
    if view.has_queue and chance.random() < 0.25:
        return Configure("no dead-letter queue", ((QUEUE_NAME, ""),))
    return Configure("dead-letter queue", ((QUEUE_NAME, QUEUE), (QUEUE_COPIES, chance.choice(("true", "false")))))


def _last_release(chance: Random, view: View) -> Step:
    return Configure("delivery count limit", (("share.delivery.count.limit", "2"),))


def _reject(chance: Random, view: View) -> Step | None:
    return _all_of_one_kind(chance, view, "reject", REJECT)


def _release(chance: Random, view: View) -> Step | None:
    return _all_of_one_kind(chance, view, "release", RELEASE)


def _all_of_one_kind(chance: Random, view: View, kind: str, what: int) -> Step | None:
    holders = [member for member in view.sessions if sound_acks(Random(0), view, member, renew=False)]
    if not holders:
        return None
    member = chance.choice(holders)
    acks = tuple(
        (partition, tuple(replace(one, types=(what,)) for one in ranges))
        for partition, ranges in sound_acks(chance, view, member, renew=False)
    )
    return Acknowledge(kind, member, view.sessions[member].epoch, acks)


def _alter(chance: Random, view: View) -> Step:
    """Alter the start offsets to any place in the logs. A group with members refuses that."""
    offsets = tuple(chance.choice((0, end, chance.randint(0, end))) for end in view.log_end)
    return AlterOffsets("alter offsets of a live group" if view.joined else "alter offsets", offsets)


def _delete_records(chance: Random, view: View) -> Step:
    partition = chance.randrange(PARTITIONS)
    before = chance.randint(view.log_start[partition], view.log_end[partition])
    return DeleteRecords("delete records", partition, before)


def _heartbeat(chance: Random, view: View) -> Step:
    member = chance.randrange(MEMBERS)
    epoch = chance.choices((MemberEpoch.CURRENT, MemberEpoch.AHEAD, MemberEpoch.JOIN, MemberEpoch.LEAVE), (5, 2, 3, 1))[
        0
    ]
    return Heartbeat(f"heartbeat, {epoch.value}", member, epoch)


Maker = Callable[[Random, View], Step | None]

MAKERS: Final[dict[str, Maker]] = {
    "fetch": _fetch,
    "shared budget": _shared_budget,
    "open": _open,
    "acknowledge": _acknowledge,
    "mistaken": _mistaken,
    "wrong epoch": _wrong_epoch,
    "close": _close,
    "drop": _drop,
    "drop all": _drop_all,
    "produce": _produce,
    "short lock": _short_lock,
    "long lock": _long_lock,
    "quick fetch": _quick_fetch,
    "pause": _pause,
    "configure": _configure,
    "alter": _alter,
    "describe": lambda chance, view: DescribeOffsets("describe offsets"),
    "read state": lambda chance, view: ReadState("read state"),
    "delete records": _delete_records,
    "heartbeat": _heartbeat,
    "dead-letter queue": _dead_letter_queue,
    "limit of two": _last_release,
    "reject": _reject,
    "release": _release,
    "unknown mode": _unknown_mode,
    "unknown topic": _unknown_topic_fetch,
    "unknown topic ack": _unknown_topic_ack,
}

PLANS: Final[dict[str, tuple[str, ...]]] = {
    "locks run out": ("short lock", "quick fetch", "quick fetch", "long lock", "acknowledge", "mistaken", "pause"),
    "locks of all": ("short lock", "quick fetch", "long lock", "pause", "read state"),
    "offsets altered": ("drop all", "alter", "describe", "open"),
    "rejected": ("dead-letter queue", "fetch", "reject", "read state", "describe"),
    "released for the last time": (
        "dead-letter queue",
        "limit of two",
        "fetch",
        "release",
        "fetch",
        "release",
        "read state",
        "describe",
    ),
    "locks that run out for the last time": (
        "dead-letter queue",
        "limit of two",
        "short lock",
        "quick fetch",
        "long lock",
        "pause",
        "read state",
    ),
}
"""The kinds of actions that take several steps."""

KINDS: Final[dict[str, float]] = {
    "fetch": 30,
    "shared budget": 0.7,
    "acknowledge": 24,
    "mistaken": 8,
    "produce": 7,
    "wrong epoch": 4,
    "open": 3,
    "close": 4,
    "drop": 2,
    "configure": 2,
    "describe": 3,
    "read state": 4,
    "delete records": 2,
    "heartbeat": 3,
    "unknown mode": 0.5,
    "unknown topic": 0.5,
    "unknown topic ack": 0.5,
    "locks run out": 0.6,
    "locks of all": 0.5,
    "offsets altered": 0.6,
}
"""The weights of the kinds of steps."""

DEAD_LETTER_KINDS: Final[dict[str, float]] = {
    "dead-letter queue": 2,
    "rejected": 3,
    "released for the last time": 1.5,
    "locks that run out for the last time": 0.5,
}
"""The weights of further kinds of steps in seeds with dead letters."""
