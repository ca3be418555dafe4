"""The source files that a request passes through from the socket read to the written answer.

A file is *passed* if it is on the stack when the request is decided, appended, written to disk or answered: it hands
the request on. It is *touched* if anything in it is called, even for a single number: a reader of the whole path must
open these files. Compiled code is invisible, so the bounds are those of the Python form.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, NamedTuple

import shareq
from devtools.clients.requests import batch, produce_request
from devtools.in_memory.mem_fs import MemFile
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.log.partition_log import PartitionLog
from shareq.coordinator.share.shard import ShareCoordinatorShard
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from shareq.protocol.primitives import Message
from shareq.protocol.share import AcknowledgeType
from tests.interop.support.share_wire import begin_at
from tests.support.clients.share_client import ShareClient, append

ROOT: Final = Path(shareq.__file__).parent
PRODUCE: Final = "broker/handlers/records/produce.py"
MILESTONES: Final = {
    each.__code__ for each in (ShareCoordinatorShard.write, PartitionLog.append, MemFile.append, MockConnection.write)
}


class Walk(NamedTuple):
    """The files of one request in order. `touched`: how often each was entered from another one."""

    passed: list[str]
    touched: dict[str, int]


def walk(world: BrokerWorld, client: MockConnection, request: Message, version: int) -> Walk:
    frame = client.requests.frame_of(request, version)
    passed: dict[str, None] = {}
    touched: Counter[str] = Counter()
    reached: set[CodeType] = set()

    def seen(called: FrameType, event: str, _argument: object) -> None:
        if event != "call" or MockConnection.write.__code__ in reached:
            return
        name, caller = called.f_code.co_filename, called.f_back
        if caller is None or caller.f_code.co_filename != name:
            touched[name] += 1
        if called.f_code in MILESTONES:
            reached.add(called.f_code)
            passed.update(dict.fromkeys(reversed(list(stack(called)))))

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        client.send_raw(frame)
        world.clock.run_until_idle()
    finally:
        sys.setprofile(before)
    assert {PartitionLog.append.__code__, MemFile.append.__code__, MockConnection.write.__code__} <= reached
    return Walk(list(product(passed)), {name: touched[str(ROOT / name)] for name in product(touched)})


def stack(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back


def product(names: dict[str, None] | Counter[str]) -> Iterator[str]:
    return (str(Path(name).relative_to(ROOT)) for name in names if Path(name).is_relative_to(ROOT))


def test_a_share_acknowledge_passes_few_files() -> None:
    """At most 49 files are touched until the state is written."""
    world = BrokerWorld()
    topic_id = world.create_topic("t").topic_id
    begin_at(world.connect(), "g", "t", [0])
    append(world, "t", 10)
    member = ShareClient(world)
    member.join("t")
    assert member.acquire((topic_id, 0))
    walks = []
    for offset in range(2):  # the first one of a connection looks up more
        accepted = AcknowledgementBatch(offset, offset, [AcknowledgeType.ACCEPT])
        topic = AcknowledgeTopic(topic_id, [AcknowledgePartition(0, [accepted])])
        request = ShareAcknowledgeRequest("g", "m", member.session_epoch + offset, False, [topic])
        walks.append(walk(world, member.connection, request, 2))
        answer = member.connection.receive(ShareAcknowledgeResponse)
        assert answer.error_code == answer.responses[0].partitions[0].error_code == 0
    passed, touched = walks[1]
    assert "coordinator/share/shard.py" in passed
    assert len(passed) <= 14, passed
    assert len(touched) <= 63, list(touched)


def test_a_produce_enters_its_handler_twice_at_most() -> None:
    world = BrokerWorld()
    world.create_topic("t")
    request = produce_request(batch(b"x"), topic="t")
    world.connect().call(request, 9, ProduceResponse)  # makes the log
    client = world.connect()
    whole, fast = (walk(world, client, request, 9) for _ in range(2))
    for _ in range(2):
        assert client.receive(ProduceResponse).responses[0].partition_responses[0].error_code == 0
    assert 1 <= whole.touched[PRODUCE] <= 2
    assert PRODUCE not in fast.touched
    assert len(whole.touched) <= 40, list(whole.touched)
    assert len(fast.touched) <= 23, list(fast.touched)
