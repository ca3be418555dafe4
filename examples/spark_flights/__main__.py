"""336,776 flights through Spark and a second member of its share group, broker and driver killed on the way.

`python -m examples.spark_flights`, or `make demo-spark`. A Spark job (job.py) writes the flights into a Parquet table
and counts them by carrier; a plain consumer (member.py) in the share group of the table takes its part. The broker gets
SIGKILL and comes back; the driver gets SIGKILL, with its JVM and all its Python, and is started again from its
checkpoint. At the end the table and the journal of the other member are joined: each flight has to be in one of them,
none twice in the table; those in both are counted. The counts by carrier have to be exactly the input.

Exit code 0 when all of it holds, 1 when not or when something broke.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from examples.flights_demo import flights, load
from examples.flights_demo.broker import Shareq
from examples.flights_demo.progress import Progress
from examples.spark_flights.names import CARRIER, CARRIERS, DEPARTURES, TOPIC
from examples.spark_flights.progress import QueryProgress, read_progress
from examples.spark_flights.tally import Journal, Tally, read_table, tally
from shareq.spark.java_home import JavaNotFound

PARTITIONS, BATCH_RECORDS = 4, 500
DEADLINE_S = 420.0
BROKER_KILLED_AT, DRIVER_KILLED_AT = 0.2, 0.55  # parts of the flights that are in the table or with the other member
BROKER_AWAY_S = 1.5
SETTINGS = {  # a killed driver's member keeps its partitions until its session times out: 45 s by default
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.session.timeout.ms": "3000",
    "group.share.session.timeout.ms": "4000",
}
QUIET_S = 2.0  # Spark has ended, and the other member got nothing for this long: nothing comes any more


class DemoFailed(Exception):
    """A failure; the text has the last output of the processes."""


@dataclass(slots=True)
class Run:
    """The running processes, and what happened to them.

    `folder` holds the broker's data, the checkpoints, the table and the logs.
    """

    folder: Path
    broker: Shareq
    progress: Progress
    deadline: float
    job: subprocess.Popen[bytes] | None = None
    member: subprocess.Popen[bytes] | None = None
    journal: Journal = field(init=False)

    def __post_init__(self) -> None:
        self.journal = Journal(self.folder / "member.jsonl")

    # -- the processes

    def start_job(self, *options: str) -> None:
        """Start the job in a session of its own, so that all of it can be killed at once."""
        command = ["examples.spark_flights.job", "--bootstrap", self.broker.address, "--out", str(self.folder)]
        self.job = self._start("job", [*command, *options], new_session=True)

    def kill_job(self) -> None:
        """Send SIGKILL to Python driver, JVM and source runner; Spark's workers notice by their closed sockets."""
        assert self.job is not None
        os.killpg(self.job.pid, signal.SIGKILL)
        self.job.wait()

    def start_member(self) -> None:
        command = ["examples.spark_flights.member", self.broker.address, DEPARTURES, TOPIC, str(self.journal.path)]
        self.member = self._start("member", command)

    def end(self) -> None:
        """End all processes that still run."""
        if self.job is not None and self.job.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.kill_job()
        if self.member is not None and self.member.poll() is None:
            self.member.terminate()
            try:
                self.member.wait(15)
            except subprocess.TimeoutExpired:
                self.member.kill()
                self.member.wait()

    def _start(self, name: str, command: list[str], *, new_session: bool = False) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=new_session,
            )

    # -- what they have done

    def queries(self) -> dict[str, QueryProgress]:
        """Return the progress by name of the query."""
        log = self.folder / "progress.jsonl"
        return read_progress(log.read_text(errors="replace").splitlines() if log.exists() else [])

    def done(self) -> dict[str, int]:
        """Return the numbers of flights in the table, at the other member, and counted."""
        rows = {name: query.rows for name, query in self.queries().items()}
        return {
            "in the table": rows.get(DEPARTURES, 0),
            "other member": self.journal.read(),
            "counted": rows.get(CARRIERS, 0),
        }

    def watch(self, until: Callable[[dict[str, int]], bool]) -> None:
        """Print the progress until `until` is true. Raise DemoFailed if a process ends early, or at the deadline."""
        while not until(done := self.done()):
            self.progress.show(", ".join(f"{count:,} {what}" for what, count in done.items()))
            if self.member is not None and self.member.poll() is not None:
                raise DemoFailed(f"the other member ended with code {self.member.returncode}:\n{self._tail('member')}")
            if self.job is not None and self.job.poll() not in (None, 0):
                raise DemoFailed(f"Spark ended with code {self.job.returncode}:\n{self._tail('job')}")
            if time.monotonic() > self.deadline:
                raise DemoFailed(f"not done after {DEADLINE_S:.0f} s: {done}\n{self._tail('job')}")
            time.sleep(0.2)

    def _tail(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""


def main() -> int:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="shareq-spark-demo-"))
    run = Run(folder, Shareq(folder, SETTINGS), Progress(), time.monotonic() + DEADLINE_S)
    try:
        joined = _run(run, options.flights)
    except (flights.FlightsUnavailable, JavaNotFound, DemoFailed, RuntimeError) as error:
        run.progress.end()
        print(f"demo: {error}\ndemo: logs are in {folder}", file=sys.stderr)
        return 1
    finally:
        run.end()
        run.broker.stop()
    print(_reported(joined, run))
    if not joined.holds:
        print(f"demo: FAILED; table, journal and logs are in {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


def _run(run: Run, limit: int | None) -> Tally:
    progress = run.progress
    progress.step("getting the flights")
    flights.download()
    progress.step(f"the broker listens at {run.broker.address} after {run.broker.start() * 1000:.0f} ms")
    load.create_topic(run.broker.address, TOPIC, PARTITIONS)
    for group in (DEPARTURES, CARRIERS):
        load.read_from_start(run.broker.address, group)
    produced = load.produce(run.broker.address, TOPIC, progress, limit=limit, batch_records=BATCH_RECORDS)
    progress.step(f"{produced:,} flights produced; starting Spark, which takes some seconds")
    run.start_job()
    first_batch = run.folder / "checkpoints" / DEPARTURES / "offsets" / "0"
    run.watch(lambda _: first_batch.exists())
    run.start_member()
    progress.step("Spark has acquired its first micro-batch; a plain consumer joins its share group")

    run.watch(lambda done: _in_use(done) >= produced * BROKER_KILLED_AT)
    run.broker.kill()
    progress.step(
        f"broker killed with SIGKILL, {_in_use(run.done()):,} flights are in the table or with the other member"
    )
    time.sleep(BROKER_AWAY_S)
    back = run.broker.start()
    progress.step(f"broker is back on the same data, after {BROKER_AWAY_S:g} s and a start of {back * 1000:.0f} ms")

    run.watch(lambda done: _in_use(done) >= produced * DRIVER_KILLED_AT)
    run.kill_job()
    progress.step(f"driver killed with SIGKILL, JVM and all, at {_in_use(run.done()):,} flights; started again")
    run.start_job("--drain")
    assert run.job is not None
    job = run.job
    run.watch(lambda _: job.poll() == 0)
    progress.step("Spark has read what was there, and ended")
    _wait_quiet(run)
    run.end()
    return _join(run, limit)


def _in_use(done: dict[str, int]) -> int:
    return done["in the table"] + done["other member"]


def _wait_quiet(run: Run) -> None:
    """Wait until the other member has received the records that Spark left to it, if any."""
    seen, since = -1, time.monotonic()

    def quiet(done: dict[str, int]) -> bool:
        nonlocal seen, since
        if done["other member"] != seen:
            seen, since = done["other member"], time.monotonic()
        return time.monotonic() - since > QUIET_S

    run.watch(quiet)


def _join(run: Run, limit: int | None) -> Tally:
    produced = Counter(line.split(b",")[CARRIER].decode() for line in islice(flights.rows(), limit))
    counts = json.loads((run.folder / "carriers.json").read_text())["carriers"]
    counted = {carrier: reported["flights"] for carrier, reported in counts.items()}
    return tally(produced, read_table(run.folder / "table"), run.journal.places, counted)


def _reported(joined: Tally, run: Run) -> str:
    head = f"  {'carrier':<8}{'Spark':>9}   {'other':>8}   {'both':>7}   {'sum':>8}   {'input':>8}   {'counted':>8}"
    lines = ["", head]
    for row in [*joined.rows, joined.total]:
        total = row.spark + row.other - row.both
        lines.append(
            f"  {row.carrier:<8}{row.spark:>9,} + {row.other:>8,} - {row.both:>7,} = {total:>8,}   {row.produced:>8,}"
            f"   {row.counted:>8,}{'' if row.holds else '   DIFFERS'}"
        )
    lines += [
        "",
        f"  in nobody's hands (lost): {joined.total.missing:,}",
        f"  in the table twice:       {joined.twice:,}",
        f"  with both members:        {joined.total.both:,}, of locks that the kills took away",
        f"  came again to Spark and were recognised (swallowed): {run.queries()[DEPARTURES].total('swallowed'):,}",
        "",
    ]
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="spark_flights", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--flights", type=int, metavar="N", help="only the first N (default: all)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
