"""A broker with a console, and with everything in use that a view shows: members, windows, dead letters, redrives."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from devtools.ports import free_port
from shareq.client.config import ClientConfig
from shareq.client.share.range_consumer import AckRange, ShareRangeConsumer
from shareq.protocol.share import AcknowledgeType
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell

TOKEN: Final = "a-token-for-tests-0123456789"
ORDERS: Final = 1_200
WINDOW: Final = 100
"""The number of records that the window of the group sorters takes; it is full."""
FRUIT: Final = ("apples", "pears", "plums", "quinces", "figs")
WAIT_S: Final = 60.0


class Scene:
    """A context: inside of it the console is at `url`, and changes need TOKEN."""

    def __init__(self, folder: Path) -> None:
        token = folder / "token"
        token.write_text(TOKEN)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.broker = Broker(
            config={"group.share.max.record.lock.duration.ms": "3600000"},
            options=["--console", f"127.0.0.1:{port}", "--console-token-file", str(token)],
        )
        self._members: list[ShareRangeConsumer] = []
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self.broker.start()
        try:
            self._fill()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        for member in self._members:
            member.close()
        self.broker.close()

    def _fill(self) -> None:
        shell = Shell(self.broker.bootstrap)
        shell.ok("topics", "create", "orders", "-p", "3", "--set", "retention.ms=604800000")
        shell.ok("topics", "create", "dlq.orders", "--set", "errors.deadletterqueue.group.enable=true")
        group = {
            "share.auto.offset.reset": "earliest",
            "share.record.lock.duration.ms": "900000",
            "errors.deadletterqueue.topic.name": "dlq.orders",
            "errors.deadletterqueue.copy.record.enable": "true",
        }
        sets = [word for name, value in group.items() for word in ("--set", f"{name}={value}")]
        shell.ok("configs", "alter", "group", "packers", *sets)
        self.produce(ORDERS)
        shell.ok("groups", "reset", "billing", "--topic", "orders", "--to", "earliest", "--yes")
        shell.ok("groups", "reset", "stale", "--topic", "orders", "--to", "earliest", "--yes")
        self._take()
        self._fill_a_window(shell, {**group, "share.partition.max.record.locks": str(WINDOW)})
        shell.ok("dlq", "redrive", "monday", "dlq.orders:0", "--offset", "0", "--yes", "--wait")

    def produce(self, count: int) -> None:
        lines = [
            f"customer-{number % 40}|{json.dumps({'order': number, 'fruit': FRUIT[number % len(FRUIT)]})}"
            for number in range(count)
        ]
        shell = Shell(self.broker.bootstrap)
        shell.ok("produce", "orders", "--key-separator", "|", "--header", "shop=north", stdin="\n".join(lines) + "\n")

    def _take(self) -> None:
        """Let two members acquire records; accept, release and reject some of them, and hold the rest."""
        first, second = [self._member(name, "packers", "orders") for name in ("packer-a", "packer-b")]
        for one in self._poll(first, 240):
            self._sort(first, one.topic_id, one.partition, one.first, one.last)
        self._poll(second, 120)
        for member in (first, second):
            self._keep(member)

    def _fill_a_window(self, shell: Shell, group: dict[str, str]) -> None:
        """Fill the window of group `sorters`: its first record is unfinished, and more lie behind the window."""
        shell.ok("topics", "create", "returns")
        sets = [word for name, value in group.items() for word in ("--set", f"{name}={value}")]
        shell.ok("configs", "alter", "group", "sorters", *sets)
        shell.ok("produce", "returns", stdin="".join(f"{number}\n" for number in range(WINDOW)))
        member = self._member("sorter", "sorters", "returns")
        (held,) = self._poll(member, WINDOW)
        results = member.acknowledge([AckRange(held.topic_id, 0, 1, held.last)], AcknowledgeType.ACCEPT)
        assert all(not code for _, code in results), results
        shell.ok("produce", "returns", stdin="late\n" * 7)
        self._keep(member)

    def _member(self, client: str, group: str, topic: str) -> ShareRangeConsumer:
        properties = {"bootstrap.servers": self.broker.bootstrap, "client.id": client}
        member = ShareRangeConsumer(ClientConfig.from_properties(properties), group, [topic])
        self._members.append(member)
        return member

    def _keep(self, member: ShareRangeConsumer) -> None:
        thread = threading.Thread(target=self._stay, args=(member,), daemon=True)
        thread.start()
        self._threads.append(thread)

    def _poll(self, member: ShareRangeConsumer, count: int) -> list:  # type: ignore[type-arg]
        deadline = time.monotonic() + WAIT_S
        while not (acquired := member.poll(max_records=count, max_wait_ms=1000, strict=True)):
            assert time.monotonic() < deadline, "nothing was acquired"
        return acquired

    def _sort(self, member: ShareRangeConsumer, topic_id: bytes, partition: int, first: int, last: int) -> None:
        step = max(1, (last - first + 1) // 8)
        verdicts = {
            1: AcknowledgeType.ACCEPT,
            3: AcknowledgeType.RELEASE,
            5: AcknowledgeType.REJECT,
            6: AcknowledgeType.ACCEPT,
        }
        for part, verdict in verdicts.items():
            begin = first + part * step
            end = min(last, begin + (step if verdict is not AcknowledgeType.REJECT else 2) - 1)
            if begin <= end:
                results = member.acknowledge([AckRange(topic_id, partition, begin, end)], verdict)
                assert all(not code for _, code in results), results

    def _stay(self, member: ShareRangeConsumer) -> None:
        """Keep the membership, and now and then accept and acquire a few records, so that the views change."""
        while not self._stopping.wait(1.0):
            for one in member.poll(max_records=5, max_wait_ms=100, strict=True):
                if self._stopping.is_set():
                    return
                member.acknowledge([AckRange(one.topic_id, one.partition, one.first, one.last)], AcknowledgeType.ACCEPT)
