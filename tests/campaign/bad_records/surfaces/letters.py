"""Dead letters and a redrive, both of which must preserve each record's bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from devtools.clients.wire import WireClient
from tests.campaign.bad_records.raw_reader import raw_records
from tests.campaign.bad_records.scene import RawRecord, Scene
from tests.campaign.bad_records.surfaces.verdict import Verdict
from tests.support.clients.shareq_cli import Shell

OURS = (b"__dlq.", b"__redrive.")
Content = tuple[bytes | None, bytes | None, tuple[tuple[bytes, bytes | None], ...]]


def run(scene: Scene, bad: Iterator[RawRecord]) -> Verdict:
    """Return the verdict on a group that keeps its dead records, all of which are redriven once."""
    topic, queue = scene.topic("buried"), scene.group("buriers", **{"shareq.dlq.keep": "true"})
    good = scene.fill(topic, bad, lambda number: scene.write(topic, [RawRecord(b"good", b"%d" % number)]))
    end = scene.end(topic)
    shell = Shell(scene.broker.bootstrap)
    shell.ok("share", "consume", "buriers", "--topic", topic, "-n", str(end), "--then", "reject", "--json")
    letters = scene.letters(queue, end)
    with WireClient(scene.broker.address, timeout_s=60) as client:
        written = _contents(raw_records(client, topic, end))
        _same(written, _contents(raw_records(client, queue, letters)), "letter")
        shell.ok("dlq", "redrive", "all", queue, "--per-second", "1000000", "--yes", "--wait")
        back = scene.end(topic)
        assert back == 2 * end, f"{back - end} of {end} letters were sent back"
        both = _contents(raw_records(client, topic, back))
        _same(written, both - written, "redriven record")
    return Verdict(end, len(good), 0, end, 0, letters)


def _contents(records: Iterable[RawRecord]) -> Counter[Content]:
    """Count records by key, value and their own headers, without timestamps and the headers of letters and redrives."""
    return Counter(
        (each.key, each.value, tuple(header for header in each.headers if not header[0].startswith(OURS)))
        for each in records
    )


def _same(written: Counter[Content], found: Counter[Content], kind: str) -> None:
    missing = written - found
    counts = f"{missing.total()} of {written.total()}"
    assert not missing, f"{counts} records have no {kind} with their bytes: {_short(missing)}"


def _short(contents: Counter[Content]) -> str:
    return ", ".join(str(each)[:200] for each in list(contents)[:3])
