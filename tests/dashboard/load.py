"""A broker with load for every panel of the dashboard: the clients of the soak, and some short-lived ones."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bench.client.wire import Wire
from devtools.clients.requests import batch, create_topic, produce
from devtools.clients.wire import ConnectionClosed, WireClient
from devtools.kafka.certificates import Authority
from devtools.ports import free_port
from shareq.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    OpData,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.campaign.node import Node
from tests.campaign.soak.clients import USER, Doors, SoakScene, Worker
from tests.campaign.storage.scene import QUEUE, SETTINGS
from tests.campaign.storage.workload import Workload

VISITOR: Final = "visitor"
VISITOR_BYTES: Final = 5_000
"""The visitor's quota in bytes per second, which it exceeds."""
_CREATE_QUEUES: Final = "errors.deadletterqueue.auto.create.topics.enable"
_GROUP: Final = 32
WRONG: Final = "jabberwocky"


class Load:
    """A context in which the broker works; `metrics` is the HOST:PORT of its metrics. `kill_broker` ends it."""

    def __init__(self, folder: Path) -> None:
        self._doors = Doors(Authority(folder))
        self.metrics = f"127.0.0.1:{free_port()}"
        self._node = Node(
            folder / "data",
            {**SETTINGS, **self._doors.settings(), "shareq.metrics.names": "true", _CREATE_QUEUES: "true"},
            options=("--metrics", self.metrics),
            port=self._doors.ports["PLAINTEXT"],
        )
        going = threading.Event()
        going.set()
        self._scene = SoakScene(lambda: self._node.address, 7, doors=self._doors, going=going)
        self._workload = Workload(self._scene, [Worker(self._scene, "worker-a"), Worker(self._scene, "worker-b")])
        self._visitors = threading.Thread(target=self._visit, name="visitors", daemon=True)

    def __enter__(self) -> Self:
        self._node.start()
        self._give_a_queue()
        self._workload.start()
        self._visitors.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill_broker()

    @property
    def failures(self) -> list[str]:
        return list(self._scene.failures)

    def quiet(self) -> None:
        """End all clients while the broker still runs. A second call does nothing."""
        if not self._scene.stop.is_set():
            self._workload.stop()
            self._visitors.join(20)

    def kill_broker(self) -> None:
        """End the clients, then kill the broker. A second call does nothing."""
        try:
            self.quiet()
        finally:
            self._node.kill()

    def _give_a_queue(self) -> None:
        host, port = self._node.address
        wire = Wire(f"{host}:{port}")
        queue = AlterableConfig("errors.deadletterqueue.topic.name", 0, f"dlq.{QUEUE}")
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(_GROUP, QUEUE, [queue])])
        (answer,) = wire.call(request, 1, IncrementalAlterConfigsResponse).responses
        assert answer.error_code == 0, answer
        wire.close()

    def _visit(self) -> None:
        """Let one client send more than its quota, and another one log in with a wrong password."""
        self._limit_the_visitor()
        with WireClient(self._node.address, client_id=VISITOR) as client:
            create_topic(client, "visits")
            while not self._scene.stop.wait(0.5):
                produce(client, "visits", batch(b"x" * 4_000))
                self._fail_to_log_in()

    def _limit_the_visitor(self) -> None:
        host, port = self._node.address
        wire = Wire(f"{host}:{port}")
        entity = AlterClientQuotasRequestEntityData("client-id", VISITOR)
        entry = AlterClientQuotasRequestEntryData([entity], [OpData("producer_byte_rate", VISITOR_BYTES)])
        (answer,) = wire.call(AlterClientQuotasRequest([entry]), 1, AlterClientQuotasResponse).entries
        assert answer.error_code == 0, answer
        wire.close()

    def _fail_to_log_in(self) -> None:
        with contextlib.suppress(AssertionError, OSError, ConnectionClosed):
            self._doors.open("CLEAR", VISITOR, 5, USER, WRONG).close()
