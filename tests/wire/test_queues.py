"""Pages about queues: their examples print what the pages show, and snippets are from the examples."""

from __future__ import annotations

import re
import shlex
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Final

from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.wire.test_documents import DOCS, Document, serving, sh

ROOT: Final = DOCS.parent
_SHOWN: Final = re.compile(r"^```sh\n(python examples/[^\n]*)\n```\n\n```\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PYTHON: Final = re.compile(r"examples/queues/(\w+\.py)\).*?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TIME: Final = re.compile(r"^ *(\d+\.\d) s  ", re.MULTILINE)
STEPS: Final = ["order", "payment", "parcel", "thanks"]


def shown(example: str, page: str = "queues.md") -> tuple[str, list[str]]:
    ((command, output),) = [
        (command, output)
        for command, output in _SHOWN.findall((DOCS / page).read_text())
        if command.endswith(f"/{example}")
    ]
    return command, output.splitlines()


def run(example: str, page: str = "queues.md") -> tuple[list[str], list[str]]:
    command, lines = shown(example, page)
    return lines, sh(command, ROOT).splitlines()


def test_a_poisoned_record_dies_is_looked_at_and_comes_back() -> None:
    expected, printed = run("dead_letters.py")
    assert printed == expected


def test_a_failed_job_comes_again_after_1_2_and_4_seconds_while_others_flow() -> None:
    expected, printed = run("delayed_redelivery.py")
    assert [_TIME.sub("", line) for line in printed] == [_TIME.sub("", line) for line in expected]
    times = [float(time) for line in printed if "ring the bank" in line for time in _TIME.findall(line)]
    waits = [later - earlier for earlier, later in pairwise(times)]
    for wait, asked in zip(waits, (1, 2, 4), strict=True):
        assert asked - 0.1 <= round(wait, 1) < asked + 5  # what is printed is rounded


def test_a_job_comes_at_its_time_and_others_pass_it() -> None:
    """On a slow machine two jobs may swap, but none may come early."""
    expected, printed = run("delays.py", "delays.md")
    assert sorted(printed) == sorted(expected)
    assert printed[0] == expected[0]


def test_delays_are_switched_on_by_command() -> None:
    (line,) = re.findall(r"^shareq (configs .*)$", (DOCS / "delays.md").read_text(), re.MULTILINE)
    with Broker(mode="thread") as broker:
        shell = Shell(broker.bootstrap)
        shell.ok(*shlex.split(line))
        assert "shareq.delay.enable" in "".join(shell.ok("configs", "describe", "group", "callers"))


def test_an_offer_that_is_over_is_handed_to_nobody() -> None:
    expected, printed = run("time_to_live.py", "time-to-live.md")
    assert printed == expected


def test_a_time_to_live_is_set_by_command() -> None:
    (line,) = re.findall(r"^shareq (configs .*)$", (DOCS / "time-to-live.md").read_text(), re.MULTILINE)
    with Broker(mode="thread") as broker:
        shell = Shell(broker.bootstrap)
        shell.ok(*shlex.split(line))
        described = "".join(shell.ok("configs", "describe", "group", "waiters"))
        assert "shareq.ttl.ms" in described
        assert "shareq.not.after.enable" in described


def test_each_order_has_one_invoice_although_transactions_fail() -> None:
    expected, printed = run("exactly_once.py")
    assert printed == expected


def test_customers_are_served_in_order_by_any_worker() -> None:
    expected, printed = run("order_by_key.py")
    assert printed[-3:] == expected[-3:]
    served = [line.split(": ") for line in printed[:12]]
    assert sorted(what for _, what in served) == sorted(
        f"{of}'s {step}" for of in ("Ada", "Bob", "Eve") for step in STEPS
    )
    assert {line.split(": ")[1] for line in expected[:2]} <= {what for _, what in served}
    assert len({worker for worker, _ in served}) > 1


def test_without_order_a_quick_step_overtakes_a_slow_one() -> None:
    expected, printed = run("order_by_key.py none")
    for lines in (expected, printed[-3:]):
        orders = [line.split(": ")[1].split(", ") for line in lines]
        assert [sorted(order) for order in orders] == [sorted(STEPS)] * 3
        assert orders != [STEPS] * 3


def test_a_customer_with_three_jobs_does_not_wait_for_one_with_two_thousand() -> None:
    expected, printed = run("fair_keys.py", "order-by-key.md")
    for lines in (expected, printed):
        assert lines[1] == expected[1]
        (before,) = re.findall(r"after (\d+) of Big's 2,000$", lines[0])
        assert int(before) < 1_000


def test_what_is_shown_of_an_example_is_in_it() -> None:
    snippets = _PYTHON.findall((DOCS / "queues.md").read_text())
    assert len(snippets) == (DOCS / "queues.md").read_text().count("```python") == 2
    for name, snippet in snippets:
        example = (ROOT / "examples" / "queues" / name).read_text()
        assert textwrap.indent(snippet, "    ") in example


def test_redrives_by_command(tmp_path: Path) -> None:
    document = Document("queues.md", 9092)
    port = document.port[9092]
    with serving(f"shareq serve --data-dir {tmp_path / 'data'} --listen 127.0.0.1:{port}", ROOT):
        with WireClient(("127.0.0.1", port)) as client:
            create_topic(client, "dlq.orders", 1, configs={"errors.deadletterqueue.group.enable": "true"})
        printed = sh(document.block("shareq dlq redrive"), ROOT, SHAREQ_BOOTSTRAP_SERVERS=f"localhost:{port}")
    rows = [line.split()[:5] for line in printed.splitlines()]
    assert ["after-the-glue", "DONE", "dlq.orders", "their", "topics"] in rows
    assert "slowly" in {row[0] for row in rows}
