"""docs/asyncio.md: its example prints what it shows, its snippets are Python, and what it says of defaults is so."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

from shareq.aio import Producer, ShareConsumer
from shareq.testing import Broker

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "asyncio.md").read_text()


def test_the_example_prints_what_the_page_shows(broker: Broker) -> None:
    ((command, shown),) = re.findall(r"```sh\npython (\S+)\n```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run(
        [sys.executable, command, broker.bootstrap], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert sorted(done.stdout.splitlines()) == sorted(shown.splitlines())
    assert done.stdout.splitlines()[-1] == shown.splitlines()[-1] == "b'a heavy sofa' packed"


def test_the_snippets_are_python() -> None:
    snippets = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(snippets) == 3
    for snippet in snippets:
        compile(snippet, "asyncio.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_defaults_are_those_of_the_page() -> None:
    consumer, producer = inspect.signature(ShareConsumer).parameters, inspect.signature(Producer).parameters
    assert consumer["acknowledgement"].default == "implicit"
    assert (consumer["prefetch"].default, consumer["renew_s"].default) == (100, 600)
    assert (producer["buffer_bytes"].default, producer["delivery_timeout_ms"].default) == (32 << 20, 120_000)
    assert (producer["idempotent"].default, producer["compression"].default) == (True, "none")
