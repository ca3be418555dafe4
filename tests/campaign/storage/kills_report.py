"""The results of the kills, as the table that is committed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from devtools.provenance import commit, machine
from tests.campaign.storage.kills import Aim, RoundResult

RUNS: Final = ("broker", "coordinator", "protocol", "devtools", "tests/campaign/history", "tests/campaign/storage")
BEGIN, END = "<!-- kills -->", "<!-- end of kills -->"


def facts(seeds: Sequence[int]) -> list[tuple[str, str]]:
    return [
        ("seeds", f"{min(seeds)} to {max(seeds)}"),
        ("commit", commit(*RUNS)),
        ("machine", machine()),
        ("date", f"{datetime.now(UTC):%Y-%m-%d}"),
    ]


def origin(seeds: Sequence[int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts(seeds))


def markdown(results: Sequence[RoundResult]) -> list[str]:
    found = Counter(anomaly.analysis.value for one in results for anomaly in one.anomalies)
    met = Counter({aim: sum(one.met.get(aim, 0) for one in results) for aim in Aim})
    starts = [start for one in results for start in one.starts_s]
    rows = [
        ("rounds, kills", f"{len(results)}, {sum(one.kills for one in results)}"),
        (f"kills: {'; '.join(aim.value for aim in Aim)}", ", ".join(f"{met[aim]}" for aim in Aim)),
        ("operations of clients", f"{sum(one.operations for one in results):,}"),
        ("start, median, longest", f"{median(starts):.2f} s, {max(starts):.2f} s" if starts else "–"),
        (
            "starts refused, without a repair that works",
            f"{sum(one.refused for one in results)}, {sum(one.unrepaired for one in results)}",
        ),
        ("anomalies", f"{sum(found.values())}"),
        *((f"· {name}", f"{count}") for name, count in found.items()),
        ("clients that failed", f"{sum(len(one.failures) for one in results)}"),
        ("duration", f"{sum(one.took_s for one in results):.0f} s"),
    ]
    lines = [origin([one.seed for one in results]), "", "| | |", "|---|---|"]
    return lines + [f"| {name} | {value} |" for name, value in rows]


def write_json(path: Path, results: Sequence[RoundResult]) -> None:
    rounds = [
        {
            "seed": one.seed,
            "kills": one.kills,
            "operations": one.operations,
            "refused": one.refused,
            "unrepaired": one.unrepaired,
            "anomalies": [str(anomaly) for anomaly in one.anomalies],
            "failures": one.failures,
            "seconds": round(one.took_s, 1),
        }
        for one in results
    ]
    path.write_text(json.dumps({**dict(facts([one.seed for one in results])), "rounds": rounds}, indent=1) + "\n")
