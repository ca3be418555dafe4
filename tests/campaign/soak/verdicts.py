"""The judgement of a soak. Pure: samples, disturbances and texts go in, verdicts come out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median
from typing import Final

from tests.campaign.soak.samples import Sample

MOST_MB_A_MINUTE: Final = 1.0
NOISE_MB: Final = 15.0
"""The growth in MB, over the whole period, below which memory counts as flat: the slope of a short period means
little.
"""
SHORT_S: Final = 300.0
SHORT_NOISE_MB: Final = 25.0
"""The growth in MB that counts as flat in a short run.

Each kind of work is done there for the first time, and keeps the memory that it takes.
"""
MOST_ABOVE_MIDDLE: Final = 1.1
MOST_MORE_DESCRIPTORS: Final = 12
"""The number of descriptors by which the last third may exceed the middle one, since connections come and go."""
MOST_MORE_LOGS: Final = 6
"""The number of files by which open logs may exceed the pool for a moment.

A file is opened before another is closed, and files stay open while they are synced.
"""
AFTERMATH_S: Final = 2.5
"""The seconds after a disturbance in which a stall is still its effect: the stall is seen by the next scrape that is
answered.
"""
TOO_FEW: Final = "too few looks"
TOO_BUSY: Final = 0.5
"""The share of time spent waiting for a processor above which stalls only show that the machine is busy."""
MOST_EXCUSE: Final = 0.5  # of a stall
_FAULT: Final = re.compile(r"Traceback|\bERROR\b|\bCRITICAL\b")
_MOST_PAIRS: Final = 400


@dataclass(frozen=True, slots=True)
class Verdict:
    """One verdict. `found`: the observation, in a line. Without `judged` there was too little to judge, and the verdict
    is not sound.
    """

    name: str
    sound: bool
    found: str
    judged: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    name: str
    began_s: float
    ended_s: float
    text: str = ""


def slope_a_minute(points: Sequence[tuple[float, float]]) -> float:
    """Return the median of the slopes of all pairs, per minute for times in seconds (Theil and Sen)."""
    step = max(1, len(points) // _MOST_PAIRS)
    slopes = [
        60 * (later - earlier) / (to - since)
        for (since, earlier), (to, later) in combinations(points[::step], 2)
        if to > since
    ]
    return median(slopes) if slopes else 0.0


def thirds(samples: Sequence[Sample]) -> tuple[Sequence[Sample], Sequence[Sample], Sequence[Sample]]:
    """Split samples by time, not by number, because they are rarer while the broker is slow."""
    if not samples:
        return (), (), ()
    begin, end = samples[0].at_s, samples[-1].at_s
    first, second = begin + (end - begin) / 3, begin + 2 * (end - begin) / 3
    return (
        [one for one in samples if one.at_s < first],
        [one for one in samples if first <= one.at_s < second],
        [one for one in samples if one.at_s >= second],
    )


def memory(samples: Sequence[Sample]) -> Verdict:
    _, middle, last = thirds(samples)
    if not middle or not last:
        return Verdict("memory", False, TOO_FEW, judged=False)
    points = [(one.at_s, one.rss_mb) for one in (*middle, *last)]
    slope = slope_a_minute(points)
    grown = slope * (points[-1][0] - points[0][0]) / 60
    before, after = median(one.rss_mb for one in middle), median(one.rss_mb for one in last)
    short = samples[-1].at_s - samples[0].at_s < SHORT_S
    steep = slope >= MOST_MB_A_MINUTE and grown >= (SHORT_NOISE_MB if short else NOISE_MB)
    high = after > before * MOST_ABOVE_MIDDLE and (not short or after > before + SHORT_NOISE_MB)
    found = f"{slope:+.2f} MB/min; medians {before:.1f} MB, then {after:.1f} MB; most {max(_rss(samples)):.1f} MB"
    return Verdict("memory", not steep and not high, found)


def descriptors(samples: Sequence[Sample], most_logs: int) -> Verdict:
    """Compare the fewest descriptors of the last third, without floods, with those of the middle third.

    Files of segments are counted separately, each once: up to `most_logs` stay open, and a few more, because a file is
    opened before another is closed, and stays open while it is synced.
    """
    _, middle, last = thirds(samples)
    if not middle or not last:
        return Verdict("descriptors", False, TOO_FEW, judged=False)
    before, after = (min(part, key=_besides_logs) for part in (middle, last))
    logs = max(one.kinds.get("logs", 0) for one in samples)
    sound = logs <= most_logs + MOST_MORE_LOGS and _besides_logs(after) <= _besides_logs(before) + MOST_MORE_DESCRIPTORS
    most = max(one.descriptors for one in samples)
    found = f"besides logs at least {_by_kind(before)}, then {_by_kind(after)}; most {most}"
    found += f"; logs: most {logs} of {most_logs}"
    return Verdict("descriptors", sound, found)


def _besides_logs(sample: Sample) -> int:
    return sample.descriptors - sample.kinds.get("logs", 0)


def _by_kind(sample: Sample) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(sample.kinds.items()) if kind != "logs")
    return f"{_besides_logs(sample)}" + (f" ({kinds})" if kinds else "")


def stalls(samples: Sequence[Sample], turns: Sequence[Turn]) -> Verdict:
    """Require that each stall over 100 ms is in a turn of `turns`, or has an excuse.

    The excuse is that the machine did not run the broker's threads, or that this and the disk account for half of the
    stall or more. A stall is counted at its end: it may have begun one sample earlier.
    """
    every = ours = machine = disk = 0
    unexplained: list[str] = []
    seen = [one for one in samples if one.slow_stalls is not None]
    for earlier, (before, after) in zip(seen[:1] + seen, pairwise(seen), strict=False):
        assert before.slow_stalls is not None
        assert after.slow_stalls is not None
        count = after.slow_stalls - before.slow_stalls
        if not count:
            continue
        every += count
        if any(one.began_s <= after.at_s and one.ended_s + AFTERMATH_S >= before.at_s for one in turns):
            ours += count
            continue
        held_s = after.stalled_s - before.stalled_s
        waited_s, disk_s = after.waited_s - earlier.waited_s, after.disk_s - earlier.disk_s
        if waited_s >= MOST_EXCUSE * held_s:
            machine += count
        elif waited_s + disk_s >= MOST_EXCUSE * held_s:
            disk += count
        else:
            unexplained.append(f"{count} of {held_s:.2f} s at {after.at_s - samples[0].at_s:.0f} s")
    found = f"{every} over 100 ms: {ours} in our stops and slow syncs, {machine} while it had no processor"
    found += f", {disk} while it waited for the disk"
    found += f", unexplained: {'; '.join(unexplained[:8]) or 'none'}"
    busy = _waited_part(samples)
    if busy > TOO_BUSY:
        found += f"; it wanted a processor and had none for {busy:.0%} of the time: too busy a machine to judge by"
    judged = bool(seen) and (bool(unexplained) or busy <= TOO_BUSY)
    return Verdict("stalls", judged and not unexplained and busy <= TOO_BUSY, found, judged)


def log(text: str) -> Verdict:
    """Judge that the log has no traceback and no error. Warnings are about clients, and are counted."""
    fault = _FAULT.search(text)
    lines = text.splitlines()
    levels = {level: sum(f" {level} " in line for line in lines) for level in ("INFO", "WARNING", "ERROR")}
    found = ", ".join(f"{count:,} {level}" for level, count in levels.items())
    if fault is not None:
        found += f"; first: {text[max(0, fault.start() - 100) : fault.start() + 300]!r}"
    return Verdict("log", fault is None, found)


def history(operations: int, anomalies: Sequence[str], failures: Sequence[str]) -> Verdict:
    """Judge that the clients' history makes sense, and that no client failed."""
    found = f"{operations:,} operations, {len(anomalies)} anomalies, {len(failures)} failures of clients"
    first = [*anomalies[:3], *(failure.strip()[-300:] for failure in failures[:2])]
    return Verdict("history", bool(operations) and not anomalies and not failures, "; ".join([found, *first]))


def stop(code: int | None, took_s: float, most_s: float) -> Verdict:
    """Judge that the broker ended by itself with exit code 0. `code` None: it had to be killed."""
    return Verdict("stop", code == 0 and took_s <= most_s, f"code {code} after {took_s:.1f} s")


def verify(code: int, text: str) -> Verdict:
    lines = text.strip().splitlines()
    return Verdict("verify", code == 0, f"code {code}: {lines[-1] if lines else 'nothing said'}")


def _rss(samples: Sequence[Sample]) -> list[float]:
    return [one.rss_mb for one in samples]


def _waited_part(samples: Sequence[Sample]) -> float:
    """Return the share of time that threads waited for a processor; over 1 if several waited at once."""
    took_s = samples[-1].at_s - samples[0].at_s if samples else 0.0
    return (samples[-1].waited_s - samples[0].waited_s) / took_s if took_s else 0.0
