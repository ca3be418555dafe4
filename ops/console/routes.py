"""The console's JSON paths: the data at each, polled or requested once, and the paths that change something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from shareq.ops.console import changes
from shareq.ops.console.pollers import Sample
from shareq.ops.console.views import consumer_groups, dead_letters, overview, records, share_groups, topics
from shareq.ops.console.views.shared import Look, number, required
from shareq.ops.console.views.windows import Windows, window

Given = Mapping[str, str]
MAX_PAGE: Final = 100_000


class View(NamedTuple):
    """A view that is polled for all browsers. `names` are the parameters that distinguish one poll from another."""

    names: tuple[str, ...]
    look_of: Callable[[Given, Windows], Look]
    sample: Sample | None = None


def _page(given: Given) -> int:
    return number(given, "page", 0, highest=MAX_PAGE)


VIEWS: Final[Mapping[str, View]] = {
    "overview": View((), lambda _, windows: overview.overview(windows)),
    "topics": View(
        ("search", "page", "internal"),
        lambda given, _: topics.topics(given.get("search", ""), _page(given), given.get("internal") == "true"),
    ),
    "topic": View(("topic",), lambda given, _: topics.topic(required(given, "topic"))),
    "share-groups": View(
        ("search", "page"), lambda given, _: share_groups.share_groups(given.get("search", ""), _page(given))
    ),
    "share-group": View(
        ("group", "page"),
        lambda given, windows: share_groups.share_group(required(given, "group"), _page(given), windows),
        share_groups.sample,
    ),
    "window": View(
        ("group", "topic", "partition", "from", "state", "member"),
        window,
    ),
    "consumer-groups": View(
        ("search", "page"), lambda given, _: consumer_groups.consumer_groups(given.get("search", ""), _page(given))
    ),
    "consumer-group": View(
        ("group",),
        lambda given, _: consumer_groups.consumer_group(required(given, "group")),
        consumer_groups.sample,
    ),
    "dead-letters": View((), lambda given, _: dead_letters.dead_letters),
}

QUESTIONS: Final[Mapping[str, Callable[[Given], Look]]] = {
    "records": lambda given: records.records(records.search_of(given)),
    "record": lambda given: records.record(
        required(given, "topic"), number(given, "partition", 0), number(given, "offset", 0, highest=2**63 - 1)
    ),
    "letters": dead_letters.letters,
}
"""The data that are requested once, when a user wants them."""

CHANGES: Final[Mapping[str, Callable[[changes.Body], Look]]] = {
    "redrive": changes.redrive,
    "redrive/cancel": changes.cancel_redrive,
    "share-group/pause": changes.pause_share_group,
    "share-group/resume": changes.resume_share_group,
    "share-group/reset": changes.reset_share_group,
    "share-group/delete": changes.delete_groups,
    "consumer-group/reset": changes.reset_consumer_group,
    "consumer-group/delete": changes.delete_groups,
    "topic/delete": changes.delete_topic,
}
"""The changes that need the token, and are sent with POST."""
