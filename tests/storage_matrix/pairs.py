"""Two files of the data folder itself, zeroed or removed, and a real broker process that starts on the rest.

If the broker refuses, the command in its message is run unchanged, and the broker is started again.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Final

from devtools.clients.requests import fetch, fetch_request, produce
from devtools.clients.wire import WireClient
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.log.segments.segment import LOG_SUFFIX
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.testing import Broker
from shareq.testing.broker import BrokerFailed, child_environment
from tests.storage_matrix.cell import LOSS, REPAIR_S, SAID, Verdict, baseline, broker_log
from tests.storage_matrix.judge import Allowed, Red, judge, records_in
from tests.storage_matrix.life import Stop, Templates
from tests.storage_matrix.observe import Facts, facts_of
from tests.storage_matrix.world import SETTINGS, RealWorld
from tests.support.processes import finished

FILES: Final = (
    "shareq.data",
    "meta.db",
    "meta.db-wal",
    "metadata.journal",
    "log-manifest",
    "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "clean-shutdown",
)
WAYS: Final = ("zeroed", "missing")
ENDS: Final = (Stop.CLEAN, Stop.POWER)  # a real broker is on another start of the machine than the template's
METADATA: Final = ("properties of ", "access control lists", "user ", "features")
RECORDS_OF_METADATA: Final = ({"meta.db", "metadata.journal"}, {"meta.db-wal", "metadata.journal"})
RECORDS_OF_LOG_STARTS: Final = {"log-manifest", "log-start-offset-checkpoint"}
PRODUCERS: Final = " producer "  # of the template's time, which a broker of today has long forgotten
COMMAND: Final = re.compile(r"`(shareq verify [^`]* --repair[^`]*)`")
CONFIG: Final = {
    **{name: value for name, value in SETTINGS.items() if not name.startswith("log.cleaner.")},
    "log.cleaner.enable": "false",  # what it removes was not lost
    "log.retention.check.interval.ms": "3600000",
    "offsets.retention.minutes": "2147483647",
    "log.message.timestamp.before.max.ms": "9223372036854775807",
}


@dataclass(frozen=True)
class Pair:
    stop: Stop
    files: tuple[str, str]
    ways: tuple[str, str]

    @property
    def text(self) -> str:
        both = " and ".join(f"{name} {way}" for name, way in zip(self.files, self.ways, strict=True))
        return f"{both}, {self.stop.value}"


@dataclass(frozen=True)
class PairResult:
    """The result of a pair. `refusal` and `command` are empty if the broker started at once.

    `reported` is what the repair or the log says of a loss.
    """

    pair: Pair
    verdict: Verdict
    refusal: str = ""
    command: str = ""
    reported: str = ""

    @property
    def text(self) -> str:
        return f"{self.pair.text}: {SAID[self.verdict]}: {self.refusal} {self.reported}"


@dataclass
class _Course:
    refusal: str = ""
    command: str = ""
    lines: list[str] = field(default_factory=list)


def pairs(templates: Templates) -> list[Pair]:
    return [
        Pair(stop, files, ways)
        for stop in ENDS
        for files in combinations([name for name in FILES if os.path.exists(f"{templates.ended[stop]}/{name}")], 2)
        for ways in product(WAYS, WAYS)
    ]


def run_pair(pair: Pair, templates: Templates, work: str) -> PairResult:
    """Run a pair. `work` is an unused path; afterwards nothing is left there, except a log beside it."""
    template = templates.ended[pair.stop]
    course = _Course()
    try:
        sound = _facts(baseline(template, pair.stop, work))
        shutil.rmtree(work)
        shutil.copytree(template, work)
        for name, way in zip(pair.files, pair.ways, strict=True):
            _damage(f"{work}/{name}", way)
        verdict, reported = _start_and_judge(pair, template, work, sound, course)
    except (Red, BrokerFailed, subprocess.TimeoutExpired) as error:
        verdict, reported = Verdict.RED, str(error)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if os.path.exists(f"{work}.log"):
            os.remove(f"{work}.log")
    refusal, command, reported = (text.replace(work, "DATA") for text in (course.refusal, course.command, reported))
    return PairResult(pair, verdict, refusal, command, reported)


def _damage(path: str, way: str) -> None:
    if way == "missing":
        os.remove(path)
        return
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.write(bytes(size))


def _start_and_judge(pair: Pair, template: str, work: str, sound: Facts, course: _Course) -> tuple[Verdict, str]:
    before = _small_files(work)
    broker = Broker(data_dir=work, config=CONFIG)
    try:
        broker.start()
    except BrokerFailed:
        course.refusal = broker.log_tail(1).removeprefix("shareq: ")
        _check_refusal(pair, course.refusal, broker.log, before, _small_files(work))
        course.command, said = _repair(course.refusal)
        course.lines += said.splitlines()
        broker.start()
    try:
        _use(broker, sound)
    finally:
        broker.stop()
    if "Traceback" in broker.log:
        raise Red(f"a traceback in the log: {broker.log}")
    course.lines += broker.log.splitlines()
    with broker_log():
        world = RealWorld(work, boot=OsFs(lambda call: call()).boot_id())
        try:
            facts = _facts(facts_of(world))
        finally:
            world.abandon()
    lost = judge(sound, facts, _allowed(pair, template, sound))
    reported = next((line for line in course.lines if _reports_loss(line, is_repair=course.command != "")), "")
    if lost and not reported:
        raise Red(f"what is lost is not reported: {lost}; said: {course.lines}")
    if course.command:
        return (Verdict.REPAIRED_WITHOUT_WHAT_WAS_HIT if lost else Verdict.REPAIRED), reported if lost else ""
    return (Verdict.LOST_WHAT_WAS_HIT if lost else Verdict.WHOLE), reported if lost else ""


def _reports_loss(line: str, *, is_repair: bool) -> bool:
    return line.startswith("repaired:") and "lost:" in line if is_repair else LOSS.search(line) is not None


def _facts(facts: Facts) -> Facts:
    return {name: fact for name, fact in facts.items() if PRODUCERS not in name}


def _allowed(pair: Pair, template: str, sound: Facts) -> Allowed:
    """Return the facts that may be lost because only the two damaged files contained them."""
    files = set(pair.files)
    allowed = Allowed()
    if files in RECORDS_OF_METADATA:
        allowed.may_go.update(name for name in sound if name.startswith(METADATA))
    if files == RECORDS_OF_LOG_STARTS:
        allowed.may_go.update(name for name in sound if name.endswith(" start") or " at " in name)
        logs = [name.removeprefix("log ").removesuffix(" start") for name in sound if name.endswith(" start")]
        for folder in logs:
            if not os.path.isdir(f"{template}/{folder}"):
                continue
            names = [name for name in os.listdir(f"{template}/{folder}") if name.endswith(LOG_SUFFIX)]
            for at, fact in records_in(f"{template}/{folder}/{name}" for name in names):
                allowed.back[f"log {folder} record {at}"] = fact
    return allowed


def _check_refusal(pair: Pair, refusal: str, log: str, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    if "Traceback" in log or COMMAND.search(refusal) is None:
        raise Red(f"no start, and no command that repairs: {log}")
    changed = {name for name in {**before, **after} if before.get(name) != after.get(name)} - set(pair.files)
    if changed:
        raise Red(f"refuses ({refusal}), and has changed {changed}")


def _small_files(data: str) -> dict[str, bytes]:
    """Return the contents of the folder's own files, except the lock, and SQLite's, which change when read."""
    found = {}
    for name in os.listdir(data):
        if os.path.isfile(f"{data}/{name}") and name != ".lock" and not name.startswith("meta.db"):
            with open(f"{data}/{name}", "rb") as file:
                found[name] = file.read()
    return found


def _repair(refusal: str) -> tuple[str, str]:
    found = COMMAND.search(refusal)
    assert found is not None
    words = shlex.split(found[1])
    command = [sys.executable, "-m", "shareq", *words[1:]]
    done = finished(command, env=child_environment(), timeout_s=REPAIR_S)
    if done.returncode or "Traceback" in done.stderr:
        raise Red(f"refuses ({refusal}), and the repair ends with {done.returncode}: {done.stdout}{done.stderr}")
    return found[1], done.stdout


def _use(broker: Broker, sound: Facts) -> None:
    """Check that every topic exists, and that a record can be written to it and read back."""
    with WireClient(broker.address) as client:
        answer = client.call(MetadataRequest(None), 9, MetadataResponse)
        names = {topic.name or "" for topic in answer.topics}
        missing = {name.removeprefix("topic ") for name in sound if name.startswith("topic ")} - names
        if missing or any(topic.error_code for topic in answer.topics):
            raise Red(f"topics {missing} are gone: {answer.topics}")
        for topic in sorted(name for name in names if not name.startswith("__")):
            records = build_batch([RecordData(b"key", b"afterwards")], timestamp_ms=1)
            taken = produce(client, topic, bytes(records))
            if taken.error_code:
                raise Red(f"{topic} takes no records: error {ErrorCode(taken.error_code).name}")
            given = fetch(client, fetch_request(topic, offset=taken.base_offset))
            if given.error_code or b"afterwards" not in bytes(given.records or b""):
                raise Red(f"{topic} does not have what it took")


def run_pairs(templates: Templates, jobs: int, only: str = "", few: int = 0) -> Iterator[PairResult]:
    """Yield the results of all pairs with `only` in their text, in order; with `few`, of one in every `few`."""
    chosen: Sequence[Pair] = [pair for pair in pairs(templates) if only in pair.text][:: few or 1]
    folder = os.path.dirname(templates.older[0])
    with ProcessPoolExecutor(jobs) as pool:
        works = [f"{folder}/pair-{number}" for number in range(len(chosen))]
        yield from pool.map(run_pair, chosen, [templates] * len(chosen), works)
