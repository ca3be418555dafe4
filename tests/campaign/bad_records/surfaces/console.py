"""The console: every page of a topic's records, each record complete, and every page of letters."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from tests.campaign.bad_records.scene import RawRecord, Scene
from tests.campaign.bad_records.surfaces.verdict import Verdict
from tests.support.clients.shareq_cli import Shell

ANSWER_S = 30.0
PAGE = 200


def run(scene: Scene, bad: Iterator[RawRecord]) -> Verdict:
    """Return the verdict on a console beside the broker, which must answer each request with JSON."""
    topic, queue = scene.topic("shown"), scene.group("viewers")
    good = scene.fill(topic, bad, lambda number: scene.write(topic, [RawRecord(b"good", b"%d" % number)]))
    end = scene.end(topic)
    shell = Shell(scene.broker.bootstrap)
    shell.ok("share", "consume", "viewers", "--topic", topic, "-n", str(end), "--then", "reject", "--json")
    letters = scene.letters(queue, end)
    with closing(http.client.HTTPConnection(urllib.parse.urlsplit(scene.console_url).netloc, timeout=ANSWER_S)) as asks:
        shown = set()
        for row in _pages(asks, "records", topic=topic, partition="0", limit=str(PAGE), **{"from": "earliest"}):
            shown.add(row["offset"])
            whole = _asked(asks, "record", topic=topic, partition="0", offset=str(row["offset"]))
            assert whole["offset"] == row["offset"], row
        assert shown == set(range(end)), f"{len(shown)} of {end} records were shown"
        shown = {row["offset"] for row in _pages(asks, "letters", queue=queue, **{"from": "earliest"})}
    assert len(shown) == letters, f"{len(shown)} of {letters} letters were shown"
    return Verdict(end, len(good), 0, end, 0, letters)


def _pages(asks: http.client.HTTPConnection, question: str, **given: str) -> Iterator[Any]:
    following = ""
    while True:
        page = _asked(asks, question, **given, **({"following": following} if following else {}))
        yield from page[question]
        following = page["following"]
        if not following:
            return


def _asked(asks: http.client.HTTPConnection, question: str, **given: str) -> Any:
    """Return the console's answer. All requests use one connection: 20,000 new ones took most of the time."""
    asks.request("GET", f"/api/{question}?{urllib.parse.urlencode(given)}")
    answer = asks.getresponse()
    body = answer.read()
    assert answer.status == 200, f"{question} {given}: {answer.status}: {body[:500]!r}"
    return json.loads(body)
