"""The way from frames to answers: the table of handlers, headers, and the three kinds of failure."""

from __future__ import annotations

import gc
import logging
import re
import struct
import tracemalloc
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import pytest

import shareq.broker.handlers as handlers
from devtools.clients.requests import fetch_request
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.coroutines import plain_handler
from shareq.broker.dispatch.route import Route
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.handler_rows import HandlerRow, VersionRange
from shareq.broker.handlers import not_offered
from shareq.broker.handlers.not_offered import REFUSALS
from shareq.broker.metadata.changes import MetaChange
from shareq.broker.network.counters import Requests
from shareq.protocol.api_keys import ApiKey, codec, versions
from shareq.protocol.errors import ErrorCode
from shareq.protocol.framing import frame
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from shareq.protocol.generated.produce import ProduceRequest
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from tests.support.each import for_each

CARD = re.compile(r"(\w+): v(\d+)(?:-(\d+))?(?:; v(\d+)-\d+ are advertised and not served)?[ .;,(]")


@for_each("key", HANDLERS.keys() - REFUSALS.keys())
def test_the_handlers_card_names_its_rpc_and_versions(key: ApiKey) -> None:
    row = HANDLERS[key]
    card = CARD.match(import_module(row.module).__doc__ or "")
    assert card is not None
    name, first, last, advertised_first = card.groups()
    assert name == key.name.title().replace("_", "")
    assert VersionRange(int(first), int(last or first)) == row.served
    assert VersionRange(int(advertised_first or first), int(last or first)) == row.advertised


@for_each("key", HANDLERS)
def test_only_what_the_protocol_has_is_served(key: ApiKey) -> None:
    known, row = versions(key), HANDLERS[key]
    assert known is not None
    assert known[0] <= row.served.first <= row.served.last <= known[1]
    assert row.advertised.last == row.served.last


def test_every_handler_file_has_its_row() -> None:
    folder = Path(handlers.__file__).parent
    paths = [path.relative_to(folder) for path in folder.glob("*/*.py")]
    no_handlers = ("__init__", "produce_fast_path", "repeated_heartbeat", "repeated_share_fetch")
    files = {".".join(path.with_suffix("").parts) for path in paths if path.stem not in no_handlers}
    modules = {f"{handlers.__name__}.{file}" for file in files if not file.startswith("shared.")}
    assert modules == {row.module for key, row in HANDLERS.items() if key not in REFUSALS}


@for_each("key", REFUSALS)
def test_what_is_not_offered_is_refused_in_one_place(key: ApiKey) -> None:
    assert HANDLERS[key].module == not_offered.__name__


@for_each("row", HANDLERS.values())
def test_a_handler_is_given_the_context_that_it_asks_for(row: HandlerRow) -> None:
    """Handlers are found by module name, so no type check covers their contexts."""
    module = import_module(row.module)
    asked_for = next(iter(module.handle.__annotations__.values()))
    assert asked_for == getattr(module, "CONTEXT", RequestContext).__name__


def test_version_ranges_include_both_ends() -> None:
    assert [version in VersionRange(3, 5) for version in (2, 3, 5, 6)] == [False, True, True, False]


@pytest.mark.parametrize("version", range(5))
def test_api_versions_always_has_response_header_0(version: int) -> None:
    client = BrokerWorld().connect()
    client.send(ApiVersionsRequest("test", "1.0") if version >= 3 else ApiVersionsRequest(), version)
    payload = client.receive_frame()
    assert payload[:4] == struct.pack(">i", 1)
    response, end = ApiVersionsResponse.decode(payload, version, 4)
    assert (response.error_code, end) == (ErrorCode.NONE, len(payload))


def test_a_client_may_change_its_name_between_requests(world: BrokerWorld) -> None:
    client = world.connect(client_id="first")
    for client_id in ("first", None, "second, and longer", "", "first"):
        client.requests.client_id = client_id
        assert client.call(InitProducerIdRequest(None), 4, InitProducerIdResponse).error_code == ErrorCode.NONE


def test_unknown_tags_in_the_header_are_skipped() -> None:
    client = BrokerWorld().connect()
    client.send(InitProducerIdRequest(None), 4)
    client.receive_frame()
    body = InitProducerIdRequest(None).encode(4)
    header = struct.pack(">hhih", ApiKey.INIT_PRODUCER_ID, 4, 9, 1) + b"x" + b"\1\5\2ab"
    client.send_raw(frame(header + body))
    assert client.frames[0][:4] == struct.pack(">i", 9)


def test_what_a_connection_makes_the_broker_remember_is_bounded(world: BrokerWorld) -> None:
    """A stranger's headers may be long, and come with every RPC and version."""
    keys = (ApiKey.INIT_PRODUCER_ID, ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.LIST_OFFSETS)

    def ask_everything(client_id: str) -> int:
        """Send every RPC in every version; return the bytes that the broker retains afterwards."""
        client = world.connect(client_id=client_id)
        before, _ = tracemalloc.get_traced_memory()
        for key in keys:
            served = HANDLERS[key].served
            for version in range(served.first, served.last + 1):
                client.send(codec(key).request_class(), version)
                client.receive_frame()
        return tracemalloc.get_traced_memory()[0] - before

    tracemalloc.start()
    try:
        ask_everything("y" * 30_000)  # has the broker import what all need
        assert ask_everything("x" * 30_000) < 200_000
    finally:
        tracemalloc.stop()


def test_a_handler_that_fails_is_logged_once_and_answered(caplog: pytest.LogCaptureFixture, world: BrokerWorld) -> None:
    """The connection stays open: our own bug is not the client's fault."""
    client = world.connect()

    def defect(_changes: object) -> None:
        raise RuntimeError("a defect")

    world.db.before_commit = defect
    with caplog.at_level(logging.WARNING):
        response = client.call(InitProducerIdRequest(None), 4, InitProducerIdResponse)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "INIT_PRODUCER_ID v4 failed" in caplog.text
    world.db.before_commit = None
    assert client.call(InitProducerIdRequest(None), 4, InitProducerIdResponse).error_code == ErrorCode.NONE


def many_small_things() -> ShareAcknowledgeRequest:
    """Return a request of 380 kB that decodes to 40,000 objects."""
    batches = [AcknowledgementBatch(offset, offset, [1]) for offset in range(20_000)]
    topic = AcknowledgeTopic(bytes(15) + b"t", [AcknowledgePartition(0, batches)])
    return ShareAcknowledgeRequest("g", "m", 1, False, [topic])


@pytest.fixture
def collections() -> Iterator[list[str]]:
    runs: list[str] = []

    def note(phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            runs.append(phase)

    before = gc.get_threshold()
    gc.set_threshold(700, 10)  # often, as by default
    gc.callbacks.append(note)
    yield runs
    gc.callbacks.remove(note)
    gc.set_threshold(*before)


def test_the_collector_does_not_look_at_a_large_request_while_it_is_handled(collections: list[str]) -> None:
    """The collector's runs, every few hundred objects, would take longer than decoding."""
    client = BrokerWorld().connect()
    client.call(many_small_things(), 2, ShareAcknowledgeResponse)  # imports what handles it
    client.send(many_small_things(), 2)
    collections.clear()
    assert client.receive(ShareAcknowledgeResponse).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert len(collections) <= 2
    assert gc.isenabled()


def test_the_collector_is_at_work_again_after_a_large_request_that_cannot_be_read(world: BrokerWorld) -> None:
    client = world.connect()
    data = client.requests.frame_of(many_small_things(), 2)[:-100_000]
    client.send_raw(struct.pack(">i", len(data) - 4) + data[4:])
    world.clock.run_until_idle()
    assert client.closed
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off(world: BrokerWorld) -> None:
    """A program that embeds the broker may have switched it off."""
    client = world.connect()
    data = client.requests.frame_of(many_small_things(), 2)
    gc.disable()
    try:
        client.send_raw(data)
        world.clock.run_until_idle()
        assert not gc.isenabled()
    finally:
        gc.enable()


@for_each("key", HANDLERS)
def test_the_answer_to_our_own_fault_can_be_written_in_every_version(key: ApiKey) -> None:
    """RPCs between brokers have no field for the error, so their connection is closed."""
    row = HANDLERS[key]
    for version in range(row.served.first, row.served.last + 1):
        request = codec(key).request_class()
        if isinstance(request, FindCoordinatorRequest) and version >= 4:
            request.coordinator_keys = ["group"]
        if isinstance(request, ProduceRequest):
            request.acks = 1  # 0 gets no answer
        route = Route(row, key, version, Requests(), plain_handler)
        if route.failed is not None:
            assert route.frame(route.failed(request, ErrorCode.UNKNOWN_SERVER_ERROR), 1)


def test_a_fetch_before_v7_gets_a_fault_by_partition() -> None:
    response = Route(HANDLERS[ApiKey.FETCH], ApiKey.FETCH, 4, Requests(), plain_handler).failed
    assert response is not None
    answer = response(fetch_request("t"), ErrorCode.UNKNOWN_SERVER_ERROR)
    decoded, _ = FetchResponse.decode(answer.encode(4), 4)
    (part,) = decoded.responses[0].partitions
    assert (part.error_code, part.records) == (ErrorCode.UNKNOWN_SERVER_ERROR, b"")


def test_a_failed_commit_is_a_storage_error(world: BrokerWorld) -> None:

    def refuse(_changes: Sequence[MetaChange]) -> None:
        raise OSError("disk full")

    world.db.before_commit = refuse
    response = world.connect().call(InitProducerIdRequest(None), 4, InitProducerIdResponse)
    assert response.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_request_that_cannot_be_read_closes_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    client = BrokerWorld().connect()
    with caplog.at_level(logging.INFO):
        client.send_raw(frame(struct.pack(">hhih3s", ApiKey.LIST_OFFSETS, 1, 1, 3, b"app") + b"\0"))
    assert client.closed
    assert len(caplog.records) == 1
    assert "LIST_OFFSETS v1 request cannot be read" in caplog.text
    (record,) = (record for record in caplog.records if "cannot be read" in record.getMessage())
    assert record.getMessage().endswith("(client id 'app')")
    assert record.__dict__["fields"]["client_address"] == "127.0.0.1"


def test_frames_after_a_close_are_ignored() -> None:
    client = BrokerWorld().connect()
    client.send_raw(frame(b"\0"))
    client.send(ListOffsetsRequest(), 1)
    assert client.closed
    assert not client.frames


def test_bytes_behind_a_request_are_ignored_as_by_apache_kafka() -> None:
    client = BrokerWorld().connect()
    whole = client.requests.frame_of(ListOffsetsRequest(), 1)[4:] + b"more"
    client.send_raw(frame(whole))
    assert client.receive(ListOffsetsResponse).topics == []
