"""One start on a damaged folder, judged: what was lost, and whether the damage hit it and the broker reported it."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from devtools.clients.requests import produce
from shareq.broker.log.segments.reader import ReadResult
from shareq.protocol.records.batch import RecordData, build_batch
from tests.storage_matrix.damages import Damage
from tests.storage_matrix.judge import Allowed, Red, Waiver, allowed_after, judge, judge_later
from tests.storage_matrix.kinds import Target
from tests.storage_matrix.life import TIMESTAMP_MS, Stop
from tests.storage_matrix.observe import UNREADABLE, Facts, facts_of
from tests.storage_matrix.world import RealWorld, ServeError
from tests.support.processes import finished

REPAIR_S = 60
LOSS: Final = re.compile("damaged|missing|cannot be read|cut off")  # what a line says that reports a loss


class Verdict(IntEnum):
    WHOLE = 0
    LOST_WHAT_WAS_HIT = 1
    REPAIRED = 2
    REPAIRED_WITHOUT_WHAT_WAS_HIT = 3
    RED = 4


SAID = {
    Verdict.WHOLE: "starts, nothing lost",
    Verdict.LOST_WHAT_WAS_HIT: "starts, lost only what was hit",
    Verdict.REPAIRED: "refuses, repaired: nothing lost",
    Verdict.REPAIRED_WITHOUT_WHAT_WAS_HIT: "refuses, repaired: lost only what was hit",
    Verdict.RED: "RED",
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of one damage. `reported`: the broker's report of the damage, or the reason for a bad verdict."""

    target: Target
    damage: Damage
    stop: Stop
    verdict: Verdict
    reported: str
    waived: frozenset[Waiver] = frozenset()

    @property
    def text(self) -> str:
        where = f"{self.target.kind} ({self.target.path}), {self.damage.name} {self.damage.variant}, {self.stop.value}"
        return f"{where}: {SAID[self.verdict]}: {self.reported}"


class Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.tracebacks: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if record.exc_info and record.exc_info[1] is not None:
            self.tracebacks.append(f"{record.getMessage()}: {traceback_of(record.exc_info[1])}")


@contextmanager
def broker_log() -> Iterator[Log]:
    """Collect everything that is logged during the block, and log it nowhere else."""
    handler, root = Log(), logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    try:
        yield handler
    finally:
        root.handlers[:] = before
        root.setLevel(level)


def traceback_of(error: BaseException) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({os.path.basename(where.filename)}, {where.name}, line {where.lineno})"


def baseline(template: str, stop: Stop, work: str) -> Facts:
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(template, work)
    with broker_log() as log:
        facts = _live(work, stop, log, set())
    assert UNREADABLE not in facts.values(), facts
    return facts


def run(template: str, work: str, target: Target, damage: Damage, stop: Stop, sound: Facts) -> Outcome | None:
    """Copy the template, damage the copy, start on it, repair if needed, and judge. Return None if nothing changed."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(template, work)
    hit = damage.do(f"{work}/{target.path}")
    if hit is None:
        return None
    allowed = allowed_after(template, target, hit, sound, damage.copy)
    with broker_log() as log:
        try:
            verdict, reported = _start_and_judge(work, target, stop, sound, allowed, log)
        except Red as red:
            verdict, reported = Verdict.RED, str(red)
        except Exception as error:
            verdict, reported = Verdict.RED, f"traceback: {traceback_of(error)}"
    return Outcome(target, damage, stop, verdict, reported.replace(work, "DATA"), frozenset(allowed.waived))


def _start_and_judge(
    work: str, target: Target, stop: Stop, sound: Facts, allowed: Allowed, log: Log
) -> tuple[Verdict, str]:
    refused = ""
    try:
        facts = _live(work, stop, log, allowed.waived)
    except ServeError as error:
        refused = str(error)
        repair = _repair(work)
        if repair.returncode:
            raise Red(f"refuses ({refused}), and the repair fails: {_last_line(repair.stderr)}") from error
        log.lines.append(repair.stdout)
        try:
            facts = _live(work, stop, log, allowed.waived)
        except ServeError as again:
            raise Red(f"refuses ({refused}), is repaired, and refuses: {again}") from again
    lost = judge(sound, facts, allowed)
    about = [line for line in log.lines if _is_about(line, target)]
    reported = next((line for line in about if not lost or LOSS.search(line)), "")
    if lost and not reported and Waiver.MOVED not in allowed.waived:
        raise Red(f"what is lost is not reported: {lost[0]}; logged: {log.lines}")
    if refused:
        return (Verdict.REPAIRED_WITHOUT_WHAT_WAS_HIT if lost else Verdict.REPAIRED), refused
    return (Verdict.LOST_WHAT_WAS_HIT if lost else Verdict.WHOLE), reported


def _live(work: str, stop: Stop, log: Log, waived: set[Waiver]) -> Facts:
    """Start twice, with writes in between. Return the facts of the first start. Raise ServeError.

    The second start may have lost nothing more than the first.
    """
    world = RealWorld(work, boot=stop.boot)
    try:
        facts = facts_of(world)
        _go_on(world)
        world.stop()
        world = RealWorld(work, boot=stop.boot)
        again = facts_of(world)
    finally:
        world.abandon()
    later = judge_later(facts, again, waived)
    if later:
        raise Red(f"lost at the second start: {later}")
    if log.tracebacks:
        raise Red(f"a traceback in the log: {log.tracebacks[0]}")
    return facts


def _go_on(world: RealWorld) -> None:
    client = world.connect()
    for topic in world.services.metadata.topics():
        if not topic.internal:
            records = build_batch([RecordData(b"key", b"afterwards")], timestamp_ms=TIMESTAMP_MS)
            answer = produce(client, topic.name, bytes(records))
            if answer.error_code:
                raise Red(f"{topic.name} takes no records: error {answer.error_code}")
            log = world.folder.logs.get(topic.name, 0)
            read = log.read(answer.base_offset, 1 << 20, upto=log.high_watermark)
            if not isinstance(read, ReadResult) or b"afterwards" not in bytes(read.records):
                raise Red(f"{topic.name} does not have what it took")


def _is_about(line: str, target: Target) -> bool:
    return target.path in line or (target.partition != "" and target.partition in line)


def _repair(work: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shareq", "verify", work, "--repair"]
    return finished(command, timeout_s=REPAIR_S)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "without a word"
