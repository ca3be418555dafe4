"""The flights in a share group that moves while four of its members work."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

from devtools.clients.admin import read_from_start
from tests.campaign.moving.command_runs import Command, Ran
from tests.campaign.moving.judge import NEW, OLD, judged, pause_parts_s, pause_s
from tests.campaign.moving.members import Members
from tests.campaign.moving.rows import Row
from tests.campaign.moving.scene import Round, create_topic, forget, produce_flights, wait_for
from tests.support.clients.shareq_cli import Shell

SLOW: Final = 60.0
LASTS_S: Final = 90.0
"""SLOW limits the records a second of each member while the topic moves. The remaining records then last for LASTS_S
seconds, so that the topic is not empty before it has moved.
"""
DRAINS_S: Final = 240.0
NEARLY: Final = 2_000
"""The number of records still missing to the half when members begin to work slowly; at most a tenth of the half."""
STANDS_STILL_S: Final = 90.0
"""The seconds without a confirmation at the new side after which no more are expected: all locks have ended by then."""
QUIET_S: Final = 10.0
"""The seconds after which an empty queue counts as drained: answers come later than the confirmations."""
EACH: Final = 2
"""The kills in each part of a move: the copy, and the cut-over."""


def move(this: Round, victim: str | None) -> Row:
    """Move a topic with its share group, and kill the cell's victim meanwhile, if it has one."""
    topic, group = f"flights-{this.number}", f"departures-{this.number}"
    old, new = this.scene.old, this.scene.new
    create_topic(old, topic)
    read_from_start(old.bootstrap, group)
    half = this.records // 2
    written = produce_flights(old.cluster, topic, 0, half)
    members = Members(this.folder, group, topic)
    command = Command((old.bootstrap, new.bootstrap, "--topic", topic, "--group", group))
    try:
        members.start(OLD, old.bootstrap)
        members.wait_for_confirmed(half - min(NEARLY, half // 10), DRAINS_S)
        members.pace(OLD, min(SLOW, half / 4 / LASTS_S))
        written += _copied_while_producers_work(this, command, topic, half)
        for words in ((), ("--cut-over",)) if victim is not None else ():
            disturb(this, command, topic, [victim or ""] * EACH, words)
        members.wait_for_confirmed(half, DRAINS_S)
        ran = command.until_done("--cut-over")
        began = command.began
        moved_at = time.monotonic()
        drained = len(members.seen().confirmed)
        broken = _broken(ran) + _shifted(ran)
        if drained >= written:
            broken.append("nothing was left to move")
        if not broken:
            members.start(NEW, new.bootstrap)
            broken = _broken(command.once("--verify-only"))
            _drain(members, new.bootstrap, group, written)
    finally:
        members.end()
    seen = members.seen()
    verdict = judged(seen, written, moved_at)
    forget(old, topic)
    forget(new, topic)
    counted = Counter({f"command: {text}": times for text, times in command.ends.items()}) + seen.errors
    return Row(
        records=written,
        drained=drained,
        lost=len(verdict.lost),
        again=len(verdict.again),
        unlike=len(verdict.unlike),
        unknown=verdict.unknown,
        twice=verdict.twice,
        hung=members.hung,
        kills=command.kills,
        runs=command.runs,
        cut_over_s=command.cut_over_s,
        pause_s=pause_s(seen),
        pause_parts_s=pause_parts_s(seen, command.strikes, began, moved_at),
        counted=dict(counted),
        broken=[*broken, *verdict.broken[:20]],
    )


def _copied_while_producers_work(this: Round, command: Command, topic: str, half: int) -> int:
    """Copy while the second half is being written. Return the number of its records."""
    written: list[int] = []
    target = this.scene.old.cluster

    def produce() -> None:
        written.append(produce_flights(target, topic, half, this.records))

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        ran = command.until_done()
    finally:
        producer.join()
    if not written:
        raise RuntimeError("the second half of the flights was not written")
    if ran.code:
        raise RuntimeError(f"the copy: {ran.code}: {ran.failed or ran.said}")
    return written[0]


def disturb(this: Round, command: Command, topic: str, victims: Sequence[str], words: Sequence[str]) -> None:
    plan_s = command.planned_in() if victims else 0.0
    for victim in victims:
        strike = this.scene.victim(victim)
        of_topic = partial(strike, topic) if strike is not None else None
        command.disturbed(of_topic, plan_s * this.rng.uniform(0.6, 1.3), *words)


def _drain(members: Members, bootstrap: str, group: str, rows: int) -> None:
    """Wait until the new side has nothing left to deliver, and all acknowledgements there have been answered."""
    last, since = -1, time.monotonic()
    while len(members.seen().confirmed) < rows:
        found = len(members.seen().confirmed)
        if found != last:
            last, since = found, time.monotonic()
        if time.monotonic() - since > STANDS_STILL_S:
            break
        if time.monotonic() - since > QUIET_S and not lag(bootstrap, group):
            break
        time.sleep(0.2)
    wait_for(lambda: not lag(bootstrap, group), "the end of the queue", STANDS_STILL_S)


def lag(bootstrap: str, group: str) -> int:
    """Return the lag of a share group; at least 1 while it is unknown."""
    rows = Shell(bootstrap).json("share", "lag", group)
    return sum(1 if row["lag"] is None else int(row["lag"]) for row in rows)


def _broken(ran: Ran) -> list[str]:
    return (ran.failed or [f"the command ended with {ran.code}: {ran.said}"]) if ran.code else []


def _shifted(ran: Ran) -> list[str]:
    """Return a line for each partition whose offsets differ at the target: without gaps in the logs none may."""
    rows = [row for row in ran.rows if row["kind"] == "records"]
    return [
        f"partition {row['partition']}: {row['source_end']} at the source is {row['target_end']} at the target"
        for row in rows
        if row["source_end"] != row["target_end"]
    ]
