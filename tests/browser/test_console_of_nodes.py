"""The overview of nodes before a cluster, in Chromium, also while one of them stands still."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from devtools.ports import free_port
from shareq.testing import Broker
from tests.browser.chromium import Chromium, why_unavailable
from tests.browser.views import NARROW, VIEWS, WIDE, show
from tests.support.node_process import NodeProcess, command_line, number

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(why_unavailable() is not None, reason=why_unavailable() or ""),
]

CHECKS: Final = (Path(__file__).parent / "page_checks.js").read_text()
SLOTS: Final = 8
ROWS: Final = """[...document.querySelectorAll("[aria-label=Nodes] tbody tr")]
  .map((row) => [...row.children].map((each) => each.innerText.trim()))"""
NONE: Final = "–"


class Nodes:
    """Two nodes that each own half of the slots, and the console of the first. No node is replaced."""

    def __init__(self, url: str, first: NodeProcess, second: NodeProcess) -> None:
        self.url = url
        self.first = first
        self.second = second


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    console = f"127.0.0.1:{free_port()}"
    with Broker() as cluster:
        start = ["serve", "--cluster", cluster.bootstrap, "--listen", "127.0.0.1:0"]
        start += ["--set", "shareq.cluster.placement=topic", "--set", f"shareq.cluster.slots={SLOTS}"]
        start += ["--set", "shareq.cluster.session.timeout.ms=300000"]
        with command_line(tmp_path, [*start, "--console", console]) as first, command_line(tmp_path, start) as second:
            for node in (first, second):
                node.wait_until_ready()
            yield Nodes(f"http://{console}", first, second)


@pytest.fixture
def browser() -> Iterator[Chromium]:
    with Chromium() as made:
        yield made


def rows(browser: Chromium) -> dict[int, list[str]]:
    """Return the cells of each node's row after its number."""
    found: list[list[Any]] = browser.evaluate(ROWS)
    return {int(row[0]): row[1:] for row in found}


def test_the_overview_shows_all_nodes_and_names_one_that_stands_still(browser: Chromium, nodes: Nodes) -> None:
    show(browser, nodes.url, VIEWS["overview"])
    browser.until(f"({ROWS}).length === 2 && ({ROWS}).every((row) => row[2] === '{SLOTS}')")
    found = rows(browser)
    first, second = number(nodes.first), number(nodes.second)
    assert [found[each][0] for each in (first, second)] == [nodes.first.bootstrap, nodes.second.bootstrap]
    owned = [row[2] for row in found.values()]
    assert all(each.startswith("groups ") and "; state " in each for each in owned)
    assert len(set(owned)) == 2
    assert {tuple(row[4:]) for row in found.values()} == {("0", "0", NONE)}
    for size in (WIDE, NARROW):
        for dark in (False, True):
            browser.look(*size, dark=dark)
            assert browser.evaluate(CHECKS) == {"faint": [], "wide": [], "inline": []}, (size, dark)

    nodes.second.process.send_signal(signal.SIGSTOP)
    problem = f"({ROWS}).find((row) => row[0] === '{second}')?.[7].includes('in time')"
    browser.until(problem)
    found = rows(browser)
    assert (found[first][1], found[first][6]) == (str(SLOTS), NONE)
    assert (found[second][1], found[second][2]) == (NONE, owned[1] if found[first][2] == owned[0] else owned[0])
    assert browser.evaluate("document.getElementById('status').textContent") == ""
    named = f"document.querySelector('[aria-label=Brokers]').innerText.includes('{nodes.second.bootstrap}: ')"
    assert browser.evaluate(named)

    for view in ("share-groups", "consumer-groups"):
        show(browser, nodes.url, VIEWS[view])
        missing = f"document.querySelector('.pages .error').textContent.includes('missing: broker {second} at ')"
        browser.until(missing)
        assert browser.evaluate("document.getElementById('status').textContent") == ""

    nodes.second.process.send_signal(signal.SIGCONT)
    browser.until("document.querySelector('.pages .error').textContent === ''")
    show(browser, nodes.url, VIEWS["overview"])
    browser.until(f"({ROWS}).every((row) => row[2] === '{SLOTS}' && row[7] === '{NONE}')")
    assert browser.complaints == []
