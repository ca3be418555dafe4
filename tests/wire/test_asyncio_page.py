"""docs/asyncio.md: its example and snippets run as shown, and its defaults are the code's."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from devtools.kafka.certificates import Authority, why_unavailable
from shareq.aio import Producer, ShareConsumer, ShareRecord
from shareq.client.errors import AuthenticationFailed
from shareq.testing import Broker

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "asyncio.md").read_text()
SNIPPETS: Final = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PATIENCE_S: Final = 30


def test_the_example_prints_what_the_page_shows(broker: Broker) -> None:
    ((command, shown),) = re.findall(r"```sh\npython (\S+)\n```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run(
        [sys.executable, command, broker.bootstrap], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert sorted(done.stdout.splitlines()) == sorted(shown.splitlines())
    assert done.stdout.splitlines()[-1] == shown.splitlines()[-1] == "b'a heavy sofa' packed"


class Seen(Exception):
    """An exception that ends an endless snippet."""


async def run(begin: str, changes: Mapping[str, str] | None = None, **names: object) -> object:
    """Run the snippet that begins with this text, with these names and changes; return the value of its last line."""
    (snippet,) = [each for each in SNIPPETS if each.startswith(begin)]
    for before, after in (changes or {}).items():
        assert before in snippet
        snippet = snippet.replace(before, after)
    tree = ast.parse(snippet)
    if isinstance(tree.body[-1], ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("last", ast.Store())], tree.body[-1].value)
    code = compile(ast.fix_missing_locations(tree), "asyncio.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made: dict[str, Any] = {"asyncio": asyncio, "ShareConsumer": ShareConsumer, **names}
    running = eval(code, made)
    if running is not None:
        await asyncio.wait_for(running, PATIENCE_S)
    return made.get("last")


def test_each_snippet_is_run() -> None:
    begins = ("from shareq.aio import", "async with (\n", "async for batch in", "ShareConsumer(\n")
    assert [sum(each.startswith(begin) for each in SNIPPETS) for begin in begins] == [1] * len(SNIPPETS)


async def test_what_the_first_snippet_sends_it_receives() -> None:
    seen: list[bytes | None] = []

    async def pack(value: bytes | None) -> None:
        seen.append(value)
        raise Seen

    with Broker(mode="thread") as broker:
        broker.topic("parcels")
        broker.share_group("packers")  # from the first record on
        with pytest.raises(Seen):
            await run("from shareq.aio import", {"localhost:9092": broker.bootstrap}, pack=pack)
        assert seen == [b"apples"]
        assert [(each.key, each.text) for each in broker.records("parcels")] == [(b"customer 7", "apples")]


async def test_the_worker_of_the_page_works_on_four_at_a_time() -> None:
    at_work, done, four = 0, 0, asyncio.Event()

    async def work(record: ShareRecord, slots: asyncio.Semaphore) -> None:
        nonlocal at_work, done
        async with slots:
            at_work += 1
            assert at_work <= 4
            if at_work == 4:
                four.set()
            await four.wait()
            await record.accept()
            at_work -= 1
            done += 1
        if done == 6:
            raise Seen

    with Broker(mode="thread") as broker:
        broker.topic("parcels")
        broker.share_group("packers")
        broker.produce("parcels", *"abcdef")
        with pytest.raises(ExceptionGroup) as ended:
            await run("async with (\n", bootstrap=broker.bootstrap, work=work)
        assert ended.group_contains(Seen)
        await broker.aio.assert_acknowledged("packers", "parcels", 6)


async def test_the_batches_of_the_page_are_accepted_when_the_next_is_asked_for() -> None:
    seen: list[bytes | None] = []

    async def store(values: list[bytes | None]) -> None:
        seen.extend(values)
        if len(seen) == 6:
            raise Seen

    with Broker(mode="thread") as broker:
        broker.topic("parcels")
        broker.share_group("packers")
        broker.produce("parcels", *"abcdef")
        async with ShareConsumer(broker.bootstrap, "packers", ["parcels"]) as consumer:
            with pytest.raises(Seen):
                await run("async for batch in", {"500": "5"}, consumer=consumer, store=store)
        assert seen == [each.encode() for each in "abcdef"]
        assert consumer.metrics.accepted == 5


@pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))
async def test_the_properties_of_the_page_let_a_member_in(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server = authority.sign("server", "DNS:localhost", "IP:127.0.0.1")
    config = {
        "listeners": "SASL_SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(server.both),
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    }
    user = ["--add-scram", "SCRAM-SHA-512=[name=alice,password=wonderland]"]
    with Broker(mode="thread", config=config, options=user) as broker:
        changes = {"broker:9093": f"localhost:{broker.port}", "ca.pem": str(authority.certificate)}
        consumer = await run("ShareConsumer(\n", changes, password="wonderland")
        assert isinstance(consumer, ShareConsumer)
        async with consumer, asyncio.timeout(PATIENCE_S):
            while "SaslAuthenticate" not in " ".join(broker.transcript()):
                assert await consumer.poll(timeout_s=0.1) == []
        wrong = await run("ShareConsumer(\n", changes, password="jabberwocky")
        assert isinstance(wrong, ShareConsumer)
        with pytest.raises(AuthenticationFailed):
            async with wrong:
                await wrong.poll(timeout_s=PATIENCE_S)


def test_defaults_are_those_of_the_page() -> None:
    consumer, producer = inspect.signature(ShareConsumer).parameters, inspect.signature(Producer).parameters
    assert consumer["acknowledgement"].default == "implicit"
    assert (consumer["prefetch"].default, consumer["renew_s"].default) == (100, 600)
    assert (producer["buffer_bytes"].default, producer["delivery_timeout_ms"].default) == (32 << 20, 120_000)
    assert (producer["idempotent"].default, producer["compression"].default) == (True, "none")
