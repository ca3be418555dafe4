"""The HTTP endpoint of `shareq export`: one thread takes samples, others return the newest to scrapers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from socket import socket
from socketserver import ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shareq.client.errors import ClientError, understood
from shareq.ops.export.metrics import OF_SAMPLES, TAKEN_AT, TOOK, UP, Exported, Rows
from shareq.ops.export.sample import Sample

logger = logging.getLogger(__name__)

MOST_SCRAPERS: Final = 16
"""The most connections at a time; others are closed at once."""
SCRAPER_PATIENCE_S: Final = 10.0


class Newest(Collector):
    """The newest sample as metrics. `take` is called in one thread, `collect` in others."""

    def __init__(self, take: Callable[[], Sample]) -> None:
        self._take = take
        self._sample: Sample | None = None
        self._took_s = 0.0
        self._at = 0.0
        self._error = ""

    def refresh(self) -> None:
        """Take a sample.

        If that fails, there is only a metric for it: old values would hide that the cluster is unreachable.
        """
        began = time.monotonic()
        try:
            with understood():
                self._sample = self._take()
        except ClientError as error:
            self._sample = None
            if str(error) != self._error:  # once, not with every sample
                logger.warning("no sample: %s", error)
            self._error = str(error)
        else:
            if self._error:
                logger.info("samples are taken again")
            self._error = ""
        self._took_s, self._at = time.monotonic() - began, time.time()

    def collect(self) -> Iterable[Metric]:
        sample = self._sample
        yield _gauge(UP, [((), sample is not None)])
        if sample is not None:
            yield _gauge(TAKEN_AT, [((), self._at)])
            yield _gauge(TOOK, [((), self._took_s)])
            yield from (_gauge(each, each.samples(sample)) for each in OF_SAMPLES)


def _gauge(of: Exported, samples: Rows) -> Metric:
    gauge = GaugeMetricFamily(of.name, of.text, labels=of.labels)
    for values, value in samples:
        if value is not None:
            gauge.add_metric(values, float(value))
    return gauge


class _Handler(WSGIRequestHandler):
    """A request. A client that sends nothing for too long is disconnected."""

    timeout = SCRAPER_PATIENCE_S

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: scrapes come every few seconds."""


class Server(ThreadingMixIn, WSGIServer):
    """An HTTP server that answers /metrics on a listening socket."""

    daemon_threads = True

    def __init__(self, bound: socket, newest: Newest) -> None:
        address = bound.getsockname()
        super().__init__(address[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = bound
        self.server_address = address
        self.server_name, self.server_port = address[:2]
        self.setup_environ()
        registry = CollectorRegistry(auto_describe=False)
        registry.register(newest)
        self.set_app(make_wsgi_app(registry))
        self._places = threading.Semaphore(MOST_SCRAPERS)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log that a scraper has left, without a traceback."""
        logger.info("a scraper at %s was not answered", client_address[0])


def run(bound: socket, newest: Newest, every_s: float, stopping: threading.Event) -> None:
    """Take samples and serve them until `stopping` is set."""
    server = Server(bound, newest)
    threading.Thread(target=server.serve_forever, name="scrapers", daemon=True).start()
    try:
        while not stopping.is_set():
            began = time.monotonic()
            newest.refresh()
            stopping.wait(max(every_s / 10, every_s - (time.monotonic() - began)))
    finally:
        server.shutdown()
        server.server_close()
