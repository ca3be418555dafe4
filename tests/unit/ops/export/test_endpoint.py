"""The endpoint of `shareq export`: metrics of a sample, none without one, and badly behaved scrapers."""

from __future__ import annotations

import logging
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from shareq.client.errors import ClientError, Unreachable
from shareq.ops.export.endpoint import MOST_SCRAPERS, Newest, Server
from shareq.ops.export.sample import PartitionSample, Sample

SAMPLE = Sample(
    {"packers": 2},
    {
        ("packers", "orders", 0): PartitionSample(
            7, 5, 1_700_000_000.5, {"available": 3, "acknowledged": 2}, {1: 2, 5: 1}
        ),
        ("packers", "orders", 1): PartitionSample(None, None, None, {}, {}),
    },
    {"dlq.orders": 4},
    True,
    0,
)


def newest(*outcomes: Sample | ClientError) -> Newest:
    left = list(outcomes)

    def take() -> Sample:
        outcome = left.pop(0)
        if isinstance(outcome, ClientError):
            raise outcome
        return outcome

    return Newest(take)


def values(of: Newest) -> dict[tuple[str, ...], float]:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(of)
    return {
        (one.name, *(one.labels[label] for label in sorted(one.labels))): one.value
        for family in text_string_to_metric_families(generate_latest(registry).decode())
        for one in family.samples
    }


def test_a_sample_is_metrics_and_what_is_not_known_is_absent() -> None:
    shown = newest(SAMPLE)
    shown.refresh()
    found = values(shown)
    first, second = ("packers", "0", "orders"), ("packers", "1", "orders")
    assert found["shareq_export_up",] == 1
    assert found["shareq_share_partition_lag", *first] == 5
    assert found["shareq_share_partition_start_offset", *first] == 7
    assert found["shareq_share_partition_first_record_timestamp_seconds", *first] == 1_700_000_000.5
    assert found["shareq_share_group_members", "packers"] == 2
    assert found["shareq_dead_letter_queue_letters", "dlq.orders"] == 4
    retried = {key[1]: value for key, value in found.items() if key[0] == "shareq_share_partition_retried_offsets"}
    assert retried == {"1": 2, "2": 0, "3": 0, "4": 0, "5": 1}
    written = {key[3]: value for key, value in found.items() if key[0] == "shareq_share_partition_written_offsets"}
    assert written == {"available": 3, "acknowledged": 2}
    assert not [key for key in found if key[1:] == second]


def test_a_cluster_that_is_away_leaves_no_old_metrics_and_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    shown = newest(SAMPLE, Unreachable("a"), Unreachable("a"), SAMPLE)
    assert values(shown) == {("shareq_export_up",): 0}
    shown.refresh()
    for _ in range(2):
        shown.refresh()
        assert values(shown) == {("shareq_export_up",): 0}
    shown.refresh()
    assert values(shown)["shareq_export_up",] == 1
    assert [each.getMessage() for each in caplog.records] == ["no sample: a", "samples are taken again"]


@contextmanager
def served(shown: Newest) -> Iterator[tuple[str, int]]:
    bound = socket.create_server(("127.0.0.1", 0))
    server = Server(bound, shown)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield bound.getsockname()
    finally:
        server.shutdown()
        thread.join(30)
        server.server_close()


def test_scrapers_that_say_nothing_take_so_many_places_and_no_more() -> None:
    shown = newest(SAMPLE)
    shown.refresh()
    with served(shown) as address, ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(address, 30)) for _ in range(MOST_SCRAPERS)]
        one_more = stack.enter_context(socket.create_connection(address, 30))
        assert one_more.recv(1) == b""  # closed at once
        silent[0].sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert silent[0].makefile("rb").read().startswith(b"HTTP/1.0 200")


def test_a_path_that_is_none_is_answered_as_prometheus_client_does() -> None:
    shown = newest(SAMPLE)
    shown.refresh()
    with served(shown) as (host, port), urllib.request.urlopen(f"http://{host}:{port}/", timeout=30) as answer:
        assert b"shareq_share_partition_lag" in answer.read()
