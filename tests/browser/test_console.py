"""The console in Chromium, over a broker at work: its appearance, the keyboard, changes, and the questions before
them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from shareq.testing import Broker
from tests.browser.chromium import Chromium, why_unavailable
from tests.browser.scene import ORDERS, TOKEN, WINDOW, Scene
from tests.browser.views import NARROW, VIEWS, WIDE, show
from tests.support.clients.shareq_cli import Shell

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(why_unavailable() is not None, reason=why_unavailable() or ""),
]

CHECKS: Final = (Path(__file__).parent / "page_checks.js").read_text()
TAB, ENTER, RIGHT, END = ("Tab", 9), ("Enter", 13, "\r"), ("ArrowRight", 39), ("End", 35)
FOCUSED: Final = """(() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  const style = getComputedStyle(at);
  at.dataset.reached = "yes";
  return { tag: at.tagName, ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
})()"""
MISSED: Final = """[...document.querySelectorAll("a[href], button, input, select, [tabindex='0']")]
  .filter((each) => each.checkVisibility() && !each.disabled && !each.dataset.reached)
  .map((each) => each.outerHTML.slice(0, 80))"""


ROUNDS: Final = 3
"""The most rounds of the keyboard.

Elements that the page draws again behind the focus are reached in the next round.
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with Scene(tmp_path_factory.mktemp("console")) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as made:
        yield made


@pytest.fixture
def page(browser: Chromium, scene: Scene) -> Iterator[Chromium]:
    """Yield a wide, light window without a token; then check that it asked no other host and logged no complaint."""
    browser.requests.clear()
    browser.complaints.clear()
    browser.look(*WIDE, dark=False)
    browser.open(scene.url)
    browser.until("document.querySelector('main h1')")
    browser.evaluate("sessionStorage.clear(); localStorage.clear()")
    browser.call("Page.reload")
    yield browser
    assert [url for url in browser.requests if not url.startswith(f"{scene.url}/")] == []
    assert browser.complaints == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_can_be_read_at_every_width_and_in_both_colours(page: Chromium, scene: Scene, view: str) -> None:
    show(page, scene.url, VIEWS[view])
    for size in (WIDE, NARROW):
        for dark in (False, True):
            page.look(*size, dark=dark)
            assert page.evaluate(CHECKS) == {"faint": [], "wide": [], "inline": []}, (size, dark)
    assert [role for role, name in page.names() if not name.strip() and role != "RootWebArea"] == []
    assert page.evaluate("document.title").endswith("shareq console")


def test_the_checks_find_what_is_faint_and_what_is_too_wide(page: Chromium, scene: Scene) -> None:
    show(page, scene.url, VIEWS["window"])
    page.evaluate("document.querySelector('main h1').style.color = '#aaaaaa'")
    page.evaluate("document.documentElement.style.setProperty('--state-acquired', '#eeeeee')")
    page.evaluate("document.querySelector('main h1').style.width = '3000px'")
    found = page.evaluate(CHECKS)
    assert any(each.startswith("H1") for each in found["faint"])
    assert any("state-acquired" in each for each in found["faint"])
    assert found["wide"]
    assert found["inline"]


@pytest.mark.parametrize("view", ["topic", "share-group", "window", "letters"])
def test_the_keyboard_reaches_everything_and_shows_where_it_is(page: Chromium, scene: Scene, view: str) -> None:
    show(page, scene.url, VIEWS[view])
    for _ in range(ROUNDS):
        page.evaluate("document.getElementById('skip').focus()")
        stops: list[dict[str, Any]] = []
        for _ in range(300):
            found = page.evaluate(FOCUSED)
            if found is None:
                break
            stops.append(found)
            page.press(*TAB)
        assert len(stops) > 8
        assert [each for each in stops[1:] if not each["ring"]] == []  # the first was not reached by a key
        missed = page.evaluate(MISSED)
        if not missed:
            break
    assert missed == []


def test_arrows_go_through_the_window_and_say_what_they_find(page: Chromium, scene: Scene) -> None:
    show(page, scene.url, VIEWS["window"])
    band = "document.querySelector('.strip [role=slider]')"
    page.until(f"Number({band}.getAttribute('aria-valuemax')) > 3")
    page.evaluate(f"{band}.focus()")
    first = page.evaluate(f"{band}.getAttribute('aria-valuetext')")
    assert first.startswith("offset")
    page.press(*RIGHT)
    second = page.evaluate(f"{band}.getAttribute('aria-valuetext')")
    assert second != first
    assert page.evaluate("document.querySelector('.strip .about').textContent").startswith("offset")
    page.press(*END)
    assert page.evaluate(f"{band}.getAttribute('aria-valuenow') === {band}.getAttribute('aria-valuemax')")
    said = page.evaluate("document.querySelector('main table').innerText")
    assert "packer-a at 127.0.0.1" in said
    assert {"acquired", "acknowledged", "archived"} <= set(said.split())
    page.press(*ENTER)
    page.until("location.hash.startsWith('#/record?')")


def test_who_has_a_record_leads_to_what_else_it_has(page: Chromium, scene: Scene) -> None:
    show(page, scene.url, VIEWS["window"])
    page.evaluate("document.querySelector('a[title=\"What this member has\"]').click()")
    page.until("location.hash.includes('member=')")
    rows = "[...document.querySelectorAll('main tbody tr')]"
    page.until(f"{rows}.length > 1 && {rows}.every((row) => row.innerText.includes('packer-a at 127.0.0.1'))")
    states = f"new Set({rows}.map((row) => row.children[2].innerText.trim()))"
    assert page.evaluate(f"[...{states}]") == ["acquired"]


def test_a_member_leads_to_what_it_has(page: Chromium, scene: Scene) -> None:
    show(page, scene.url, "share-group?group=sorters")
    page.until("document.querySelector('a[title=\"What this member has\"]')")
    page.evaluate("document.querySelector('a[title=\"What this member has\"]').click()")
    page.until("location.hash.includes('member=')")
    page.until("document.querySelectorAll('main tbody tr').length === 1")
    shown = page.evaluate("document.querySelector('main tbody tr').innerText").split()
    assert shown[:4] == ["0", "1", "acquired", "sorter"]
    said = page.evaluate("document.querySelector('.strip .head').innerText")
    assert f"1 acquired of {WINDOW} in the window; 7 records behind it" in said


def test_a_full_window_says_what_it_waits_for(page: Chromium, scene: Scene) -> None:
    """A full window explains a lag that grows although members work; the line is missing while the window has room."""
    limit = f"{WINDOW} of {WINDOW}, share.partition.max.record.locks"
    for view in (VIEWS["full-window"], "share-group?group=sorters"):
        show(page, scene.url, view)
        page.until("document.querySelector('.strip .full')?.checkVisibility()")
        said = page.evaluate("document.querySelector('.strip .full').textContent")
        why = f"The window is full ({limit}): 7 records behind it wait for offset 0, which "
        assert re.fullmatch(re.escape(why) + r"[\w-]+ \(sorter\) has\.", said)
    show(page, scene.url, VIEWS["window"])
    page.until("document.querySelector('.strip [role=slider]').getAttribute('aria-valuetext').startsWith('offset')")
    assert page.evaluate("document.querySelector('.strip .full').checkVisibility()") is False


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"id":12345678901234567890,"n":1.0}', ["{", '  "id": 12345678901234567890,', '  "n": 1.0', "}"]),
        (
            '[{"a": "x,{}[]: \\\\", "b": []}, {}]',
            ["[", "  {", '    "a": "x,{}[]: \\\\",', '    "b": []', "  },", "  {}", "]"],
        ),
        ('{"a":1,"a":2}', ["{", '  "a": 1,', '  "a": 2', "}"]),
        ("{not json}", ["{not json}"]),
        ("12345678901234567890", ["12345678901234567890"]),
    ],
    ids=["large numbers", "strings and empty ones", "names twice", "no JSON", "no structure"],
)
def test_json_is_shown_in_lines_as_it_was_written(page: Chromium, text: str, lines: list[str]) -> None:
    shown = page.evaluate(f"import('/json.js').then((made) => made.indented({json.dumps(text)}))")
    assert shown.split("\n") == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("[" * 34 + "1,2" + "]" * 34, 32 * 2 + 1),
        ("[" * 31 + "[0,[[1, 2]]]" + "]" * 31, 32 * 2 + 2),
        ("[" * 32 + "[]" + "]" * 32, 32 * 2 + 1),
        ('{"a":' * 20_000 + "1" + "}" * 20_000, 32 * 2 + 1),
        (f"[{','.join(['1'] * 100_000)}]", 10_000),
    ],
    ids=["structures in structures", "between others", "an empty one", "120 kB of objects", "more elements than lines"],
)
def test_json_beyond_the_bounds_stays_as_it_was_written(page: Chromium, text: str, lines: int) -> None:
    shown = page.evaluate(f"import('/json.js').then((made) => made.indented({json.dumps(text)}))")
    assert len(shown.split("\n")) == lines
    assert len(shown) < len(text) + lines * 66
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)


def test_a_record_of_nested_json_takes_few_elements_and_no_more_text_than_its_bound(
    page: Chromium, scene: Scene
) -> None:
    """Indented at every level, a value of 40 kB would be 400 million characters."""
    nested = "[" * 20_000 + "]" * 20_000
    shell = Shell(scene.broker.bootstrap)
    shell.ok("topics", "create", "nested")
    shell.ok(
        "produce", "nested", "--key-separator", "|", "--header", f"copy={nested[:100]}", stdin=f"{nested}|{nested}\n"
    )
    show(page, scene.url, "record?topic=nested&partition=0&offset=0")
    page.until("document.querySelector('pre[aria-label=Value]')")
    for name in ("Key", "Value"):
        assert len(page.evaluate(f"document.querySelector('pre[aria-label={name}]').textContent")) < 45_000
    assert page.evaluate("document.querySelectorAll('main *').length") < 100
    assert "39.1 KiB, as JSON" in page.evaluate("document.querySelector('main').innerText")


@pytest.mark.parametrize("view", ["record", "letters"])
def test_a_record_and_a_letter_show_their_json(page: Chromium, scene: Scene, view: str) -> None:
    show(page, scene.url, VIEWS[view])
    if view == "letters":
        page.evaluate("document.querySelector('button[aria-label=\"Show this letter\"], main tbody button').click()")
    page.until("document.querySelector('pre[aria-label=Value]')")
    shown = page.evaluate("document.querySelector('pre[aria-label=Value]').textContent")
    assert re.fullmatch(r'\{\n  "order": \d+,\n  "fruit": "\w+"\n\}', shown)
    assert "as JSON" in page.evaluate("document.querySelector('main').innerText")


def test_a_window_is_alive(page: Chromium, scene: Scene) -> None:
    """New records show without a reload, and the group's charts go on."""
    show(page, scene.url, VIEWS["topic"])
    figure = "Number(document.querySelectorAll('.tiles dd')[1].textContent.replaceAll(',', ''))"
    before = page.until(figure)
    scene.produce(50)
    page.until(f"{figure} >= {before} + 50")
    show(page, scene.url, VIEWS["share-group"])
    page.until("document.querySelector('.chart .line-1').getAttribute('d').includes('L')")
    page.until("document.querySelector('.chart .key-1')?.textContent.includes('/s')")


def test_records_are_found_by_text_and_by_key(page: Chromium, scene: Scene) -> None:
    show(page, scene.url, VIEWS["topic"])
    page.evaluate("document.querySelector('input[name=from]').value = 'earliest'")
    page.evaluate("document.querySelector('input[name=text]').focus()")
    page.type('"order": 777,')
    page.press(*ENTER)
    rows = "[...document.querySelectorAll('main table')][0].querySelectorAll('tbody tr')"
    page.until(f"{rows}.length === 1 && document.querySelector('main [role=status]').textContent.includes('looked at')")
    assert '"order": 777,' in page.evaluate(f"{rows}[0].innerText")
    page.evaluate("document.querySelector('input[name=text]').value = ''")
    page.evaluate("document.querySelector('input[name=key]').focus()")
    page.type("customer-39")
    page.press(*ENTER)
    page.until(f"{rows}.length >= {ORDERS // 40}")
    assert page.evaluate(f"[...{rows}].every((row) => row.innerText.includes('customer-39'))")


def test_a_record_that_was_sent_back_says_from_where(page: Chromium, scene: Scene) -> None:
    show(page, scene.url, VIEWS["topic"])
    page.evaluate("document.querySelector('input[name=from]').value = 'earliest'")
    page.evaluate("document.querySelector('input[name=text]').focus()")
    page.type("__redrive.name")
    page.press(*ENTER)
    rows = "[...document.querySelectorAll('main table')][0].querySelectorAll('tbody tr')"
    page.until(f"{rows}.length >= 1 && [...{rows}].every((row) => row.innerText.includes('1 × from dlq.orders'))")
    from_monday = "row.querySelector('[title*=\"dlq.orders-0:0,\"]')"
    page.evaluate(f"[...{rows}].find((row) => {from_monday}).querySelector('a').click()")
    page.until("document.querySelector('main .sent-back')")
    said = page.evaluate("document.querySelector('main .sent-back').textContent")
    assert said == "Sent back from dlq.orders-0:0, 1st time; it died in the share group packers; redrive monday"
    page.evaluate("document.querySelector('main .sent-back a').click()")
    page.until("document.body.innerText.includes('__dlq.errors.topic')")


def test_colours_follow_the_system_or_the_button(page: Chromium, scene: Scene) -> None:
    show(page, scene.url, VIEWS["overview"])
    surface = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(surface)
    page.look(*WIDE, dark=True)
    dark = page.evaluate(surface)
    assert dark != light
    page.evaluate("document.getElementById('theme').click()")
    assert (page.evaluate("document.getElementById('theme').textContent"), page.evaluate(surface)) == ("Light", light)
    page.call("Page.reload")
    page.until("document.querySelector('.tiles dd')?.textContent")
    assert page.evaluate(surface) == light


def give_token(page: Chromium, token: str) -> None:
    page.evaluate("document.getElementById('token').click()")
    page.until("document.querySelector('dialog input[type=password]')")
    page.evaluate("document.querySelector('dialog input').focus()")
    page.type(token)
    page.press(*ENTER)


def test_changes_need_the_token(page: Chromium, scene: Scene) -> None:
    show(page, scene.url, VIEWS["letters"])
    assert page.evaluate("document.body.innerText.includes('Redrive')") is False
    assert "To send letters back: enter the token" in page.evaluate("document.body.innerText")
    give_token(page, "a-wrong-token-0123456789")
    page.until("document.querySelector('dialog [role=alert]').textContent === 'the token is wrong'")
    page.evaluate("document.querySelector('dialog button[type=button]').click()")
    give_token(page, TOKEN)
    page.until("document.body.innerText.includes('Redrive …')")


def test_a_letter_is_sent_back_and_a_group_reset_when_it_is_typed_out(page: Chromium, scene: Scene) -> None:
    show(page, scene.url, VIEWS["letters"])
    give_token(page, TOKEN)
    page.until("document.querySelector('button[aria-label=\"Redrive letter 0:1\"]')")
    page.evaluate("document.querySelector('button[aria-label=\"Redrive letter 0:1\"]').click()")
    page.until("document.querySelector('dialog input')")
    page.evaluate("document.querySelector('dialog input').value = 'from-the-console'")
    page.evaluate("document.querySelector('dialog button[type=submit]').click()")
    page.until("document.querySelector('main [role=status]').textContent.includes('from-the-console')")
    shell = Shell(scene.broker.bootstrap)
    assert [row["redrive"] for row in shell.json("dlq", "redrives", "from-the-console")] == ["from-the-console"]

    show(page, scene.url, "consumer-group?group=stale")
    page.evaluate("[...document.querySelectorAll('main button')].find((one) => one.textContent === 'Reset …').click()")
    page.until("document.querySelector('dialog input[name=confirm]')")
    page.evaluate("document.querySelector('dialog input').value = 'latest'")
    page.evaluate("document.querySelector('dialog button[type=submit]').click()")
    page.until("document.querySelector('dialog [role=alert]').textContent.includes('type stale')")
    page.evaluate("document.querySelector('dialog input[name=confirm]').focus()")
    page.type("stale")
    page.press(*ENTER)
    page.until("!document.querySelector('dialog')")
    offsets = shell.json("groups", "offsets", "stale")
    assert all(row["offset"] == row["end"] for row in offsets)
    refused = [each for each in page.complaints if "status of 400" in each]  # what was not typed out
    assert len(refused) == 1
    page.complaints.remove(refused[0])


@contextmanager
def console_of(*words: str, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    command = [sys.executable, "-m", "shareq", "console", *words, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().partition(" at ")[2].partition("/,")[0]
    finally:
        process.terminate()
        code = process.wait(30)
        process.stdout.close()
    assert code == 0


@pytest.fixture
def stranger(scene: Scene) -> Iterator[str]:
    """Yield the URL of a console that treats the broker as any cluster: without the records API."""
    with console_of(scene.broker.bootstrap) as url:
        yield url


# The page's own listener comes first, so the click follows what the page does at once.
LEAVE_BEFORE_THE_OTHER_CLUSTER_ANSWERS = """(() => {
  const clusters = document.getElementById("clusters");
  const topics = () => document.querySelector("#views a[data-view=topics]").click();
  addEventListener("hashchange", topics, { once: true });
  clusters.value = "test";
  clusters.dispatchEvent(new Event("change"));
})()"""


def test_the_page_chooses_between_clusters(browser: Chromium, scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "shareq").mkdir()
    with Broker() as other:
        Shell(other.bootstrap).ok("topics", "create", "elsewhere")
        (tmp_path / "shareq" / "config.toml").write_text(
            f'[profiles.work]\n"bootstrap.servers" = "{scene.broker.bootstrap}"\n'
            f'[profiles.test]\n"bootstrap.servers" = "{other.bootstrap}"\n'
        )
        environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
        with console_of("--profile", "work", "--profile", "test", environment=environment) as url:
            browser.complaints.clear()
            browser.look(*NARROW, dark=False)
            show(browser, url, "topics")
            assert {"orders", "returns"} <= {*shown(browser)}
            browser.evaluate(LEAVE_BEFORE_THE_OTHER_CLUSTER_ANSWERS)
            browser.until("location.hash === '#/topics?cluster=test'")
            assert shown(browser) == ["elsewhere"]
            assert browser.evaluate(CHECKS) == {"faint": [], "wide": [], "inline": []}
            browser.call("Page.reload")
            browser.until("document.querySelector('main table')")
            assert shown(browser) == ["elsewhere"]
            assert browser.evaluate("document.getElementById('clusters').value") == "test"
            assert browser.complaints == []


def shown(browser: Chromium) -> list[str]:
    browser.until("document.querySelector('main tbody a')")
    found: list[str] = browser.evaluate(
        "[...document.querySelectorAll('main tbody a')].map((each) => each.textContent)"
    )
    return found


def test_of_any_cluster_a_page_shows_what_is_written_and_says_what_cannot_be_known(
    browser: Chromium, stranger: str
) -> None:
    show(browser, stranger, VIEWS["overview"])  # away from the page of the last test, which asks on
    browser.requests.clear()
    browser.complaints.clear()
    browser.look(*NARROW, dark=False)
    for view in ("share-group", "window"):
        show(browser, stranger, VIEWS[view])
        browser.until("document.querySelector('.strip rect.state-acknowledged')")
        assert "cannot be known here" in browser.evaluate("document.querySelector('main').innerText")
        assert "unfinished" in browser.evaluate("document.querySelector('.legend').innerText")
        assert browser.evaluate("document.querySelector('.state-acquired')") is None
        assert browser.evaluate(CHECKS) == {"faint": [], "wide": [], "inline": []}
    show(browser, stranger, VIEWS["share-group"])
    without = (
        "To reset or delete the group: this console was started without a token file; shareq share reset, or delete"
    )
    assert without in browser.evaluate("document.querySelector('main').innerText")
    assert browser.evaluate("document.getElementById('token').checkVisibility()") is False
    assert [url for url in browser.requests if not url.startswith(f"{stranger}/")] == []
    assert browser.complaints == []


def test_a_page_says_that_the_console_is_away(browser: Chromium, scene: Scene) -> None:
    """The last test: the broker is killed, and the console ends with it."""
    show(browser, scene.url, VIEWS["overview"])
    scene.broker.kill()
    browser.until("document.getElementById('status').textContent === 'the console does not answer'")
