"""Transcripts of Apache Kafka's answers to scripts, as files: one exchange a line, for each release.

`make interop-simulated-cluster ARGS=--update-transcripts` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.support.cluster.versions import KAFKA_3_9, KAFKA_4_3, KafkaRelease
from tests.support.cluster_scripts.conversation import Cluster, Conversation
from tests.support.cluster_scripts.fields import Plain
from tests.support.cluster_scripts.scripts import Script

RELEASES: Final = (KAFKA_3_9, KAFKA_4_3)
_FOLDER: Final = Path(__file__).with_name("recorded")


def play(script: Script, cluster: Cluster) -> Conversation:
    talk = Conversation(cluster, script.name)
    script.play(talk)
    return talk


def lines_of(transcript: Sequence[Plain]) -> list[str]:
    return [json.dumps(entry, sort_keys=True) for entry in transcript]


def read(script: Script, release: KafkaRelease) -> list[str]:
    return _path(script, release).read_text().splitlines()


def write(script: Script, release: KafkaRelease, lines: Sequence[str]) -> None:
    path = _path(script, release)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def names(release: KafkaRelease) -> set[str]:
    return {path.stem for path in (_FOLDER / release.name).glob("*.jsonl")}


def unlike(expected: Sequence[str], found: Sequence[str]) -> str | None:
    """Return where two transcripts first differ, and after which line; None if they are equal."""
    for at in range(max(len(expected), len(found))):
        one, other = (lines[at] if at < len(lines) else "(the end)" for lines in (expected, found))
        if one != other:
            before = expected[at - 1] if at else "(the beginning)"
            return f"line {at + 1}, after {before}\nApache Kafka: {one}\nhere:         {other}"
    return None


def _path(script: Script, release: KafkaRelease) -> Path:
    return _FOLDER / release.name / f"{script.name}.jsonl"
