"""Commands that print records (a topic, its end, a share group's, letters, a time range) as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.campaign.bad_records.scene import RawRecord, Scene
from tests.campaign.bad_records.surfaces.verdict import Verdict
from tests.support.clients.shareq_cli import Shell


def run(scene: Scene, bad: Iterator[RawRecord]) -> Verdict:
    """Return the verdict on a topic that each command prints completely; every record becomes a letter."""
    topic, queue = scene.topic("printed"), scene.group("printers")
    good = scene.fill(topic, bad, lambda number: scene.write(topic, [RawRecord(b"good", b"%d" % number)]))
    end = scene.end(topic)
    shell = Shell(scene.broker.bootstrap)
    _printed(shell, end, "consume", topic)
    _printed(shell, end, "tail", topic, "-n", str(end))
    rejected = ("share", "consume", "printers", "--topic", topic, "-n", str(end), "--then", "reject")
    rows = [json.loads(line) for line in shell.ok(*rejected, "--json")]
    assert len(rows) == end, f"share consume printed {len(rows)} of {end}"
    letters = scene.letters(queue, end)
    _printed(shell, end, "dlq", "show", queue)
    return Verdict(end, len(good), 0, end, 0, letters)


def _printed(shell: Shell, count: int, *words: str) -> None:
    lines = shell.ok(*words)
    assert len(lines) == count, f"{words}: {len(lines)} lines for {count} records"
    rows = [json.loads(line) for line in shell.ok(*words, "--json")]
    assert len(rows) == count, f"{words}: {len(rows)} rows for {count} records"
