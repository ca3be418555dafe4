"""Every view of the console, by its address."""

from __future__ import annotations

from typing import Final

from tests.browser.chromium import Chromium

VIEWS: Final = {
    "overview": "overview",
    "topics": "topics",
    "topic": "topic?topic=orders",
    "record": "record?topic=orders&partition=0&offset=3",
    "share-groups": "share-groups",
    "share-group": "share-group?group=packers",
    "window": "window?group=packers&topic=orders&partition=0",
    "full-window": "window?group=sorters&topic=returns&partition=0",
    "consumer-groups": "consumer-groups",
    "consumer-group": "consumer-group?group=billing",
    "dead-letters": "dead-letters",
    "letters": "letters?queue=dlq.orders",
}
WAITS: Final = """(document.querySelector("main .waiting") ||
  [...document.querySelectorAll("main [role=status]")].some((each) => each.textContent.endsWith("…")))"""
WIDE, NARROW = (1440, 900), (360, 780)


def show(chromium: Chromium, url: str, view: str) -> None:
    """Open a view, by its address behind the #, and wait until it shows what the cluster says."""
    heading = "document.querySelector('main h1')"
    chromium.evaluate(f"{heading} && ({heading}.dataset.old = 'yes')")
    if chromium.evaluate("location.href") == f"{url}/#/{view}":
        chromium.call("Page.reload")
    else:
        chromium.open(f"{url}/#/{view}")
    chromium.until(f"{heading} && !{heading}.dataset.old && !{WAITS}")
