"""The results of the images, as the table that is committed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from tests.campaign.storage.images import ImageResult, Kind
from tests.campaign.storage.kills_report import facts, origin

BEGIN, END = "<!-- images -->", "<!-- end of images -->"


def _starts(own: Sequence[ImageResult]) -> str:
    seconds = [one.start_s for one in own if one.start_s is not None]
    return f"{median(seconds):.2f} s, {max(seconds):.2f} s" if seconds else "–"


def _refused(own: Sequence[ImageResult]) -> str:
    refused = [one for one in own if one.refused]
    return f"{len(refused)}/{sum(not one.repaired for one in refused)}"


_COLUMNS: Final[Sequence[tuple[str, Callable[[Sequence[ImageResult]], str]]]] = (
    ("images", lambda own: f"{len(own)}"),
    ("start, median, longest", _starts),
    ("starts refused/not repaired", _refused),
    ("with an anomaly", lambda own: f"{sum(bool(one.anomalies) for one in own)}"),
)


def markdown(results: Sequence[ImageResult], took_s: float) -> list[str]:
    """Return the origin of the figures, a row for each kind of image, and the anomalies found."""
    found = Counter(anomaly.analysis.value for one in results for anomaly in one.anomalies)
    lines = [f"{origin([one.seed for one in results])}, {took_s:.0f} s", ""]
    lines += [f"| | {' | '.join(name for name, _ in _COLUMNS)} |", "|---|" + "---:|" * len(_COLUMNS)]
    for kind in Kind:
        if own := [one for one in results if one.kind is kind]:
            lines.append(f"| {kind.value} | {' | '.join(show(own) for _, show in _COLUMNS)} |")
    lines.append(f"| all | {' | '.join(show(results) for _, show in _COLUMNS)} |")
    return lines + [f"| · {name} | {count} |" for name, count in found.items()]


def write_json(path: Path, results: Sequence[ImageResult]) -> None:
    images = [
        {
            "kind": one.kind.name,
            "seed": one.seed,
            "number": one.number,
            "refused": one.refused,
            "repaired": one.repaired,
            "anomalies": [str(anomaly) for anomaly in one.anomalies[:50]],
        }
        for one in results
        if one.refused or one.anomalies
    ]
    facts_of = dict(facts([one.seed for one in results]))
    path.write_text(json.dumps({**facts_of, "images": len(results), "not sound": images}, indent=1) + "\n")
