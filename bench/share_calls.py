"""The cost of the broker's code for requests of waiting members of a share group, in one process with its clients:

    python -m bench.share_calls [--members N] [--rounds N] [--list]

An empty poll (a ShareFetch that waits its full time in vain), a heartbeat without news, and a cycle (a record is
produced, a waiting member gets it, acknowledges it and waits again). Requests and answers are bytes; sockets and disk
are excluded. The number of Python calls is the same in every run, unlike CPU time.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Final

from devtools.clients.requests import batch, produce_request
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message

GROUP: Final = "g"
WAIT_MS: Final = 500
SETTLE_MS: Final = 1_500  # the next heartbeat brings the last epoch, and those behind it nothing
Operation = Callable[[], None]


class _Client:
    """A connection whose requests are built before the measurement."""

    def __init__(self, world: BrokerWorld) -> None:
        self._world = world
        self.connection: MockConnection = world.connect()

    def frame_of(self, request: Message, version: int) -> bytes:
        frame = self.connection.requests.frame_of(request, version)
        self.connection.requests.forget_oldest()
        return frame

    def send(self, frame: bytes) -> None:
        self.connection.side.receive(frame)


class _Member(_Client):
    def __init__(self, world: BrokerWorld, number: int, topic_id: bytes) -> None:
        super().__init__(world)
        self.name = f"member-{number:05}"
        self._topic_id = topic_id
        self._epoch, self._session_epoch = 0, 0
        self.beat(["t"])
        self.send(self.poll([FetchTopic(topic_id, [FetchPartition(0)])]))

    def beat(self, topics: list[str] | None = None) -> None:
        """Send a heartbeat, and adopt the epoch of the answer."""
        request = ShareGroupHeartbeatRequest(GROUP, self.name, self._epoch, None, topics)
        answer = self.connection.call(request, 1, ShareGroupHeartbeatResponse)
        assert answer.error_code == ErrorCode.NONE, answer
        self._epoch = answer.member_epoch

    def heartbeat(self) -> bytes:
        return self.frame_of(ShareGroupHeartbeatRequest(GROUP, self.name, self._epoch), 1)

    def poll(self, topics: Sequence[FetchTopic] = ()) -> bytes:
        request = ShareFetchRequest(
            GROUP, self.name, self._session_epoch, WAIT_MS, 1, 1 << 20, 500, 500, topics=list(topics)
        )
        self._session_epoch += 1
        return self.frame_of(request, 1)

    def accept(self, offset: int) -> bytes:
        acks = [AcknowledgementBatch(offset, offset, [1])]
        return self.poll([FetchTopic(self._topic_id, [FetchPartition(0, acks)])])


class _Stage:
    """A broker, and members of one group that all wait."""

    def __init__(self, members: int) -> None:
        self.world = BrokerWorld({"group.share.max.size": str(members)})
        topic_id = self.world.create_topic("t").topic_id
        earliest = PutConfig(ResourceName("group", GROUP), "share.auto.offset.reset", "earliest")
        self.world.services.metadata.alter_configs([earliest])
        self._members = [_Member(self.world, number, topic_id) for number in range(members)]
        self.world.clock.advance(SETTLE_MS)
        self.forget_answers()
        for member in self._members:
            member.beat()
        self._producer = _Client(self.world)
        self._offset = 0

    def polls(self) -> Sequence[Operation]:
        """Return one operation for each member's poll, and a last one that lets their waits end."""
        return [*self._each(_Member.poll), lambda: self.world.clock.advance(WAIT_MS)]

    def heartbeats(self) -> Sequence[Operation]:
        return [*self._each(_Member.heartbeat), lambda: self.world.clock.advance(WAIT_MS)]

    def cycles(self) -> Sequence[Operation]:
        """Return one cycle for each member; all members wait before the first cycle."""
        self.world.clock.advance(WAIT_MS)  # those of the cycles before end
        self.forget_answers()
        for member in self._members:
            member.send(member.poll())
        self.world.clock.run_until_idle()
        request = produce_request(batch(b"x" * 100), topic="t")
        return [self._cycle(self._producer.frame_of(request, 9)) for _ in self._members]

    def _each(self, frame_of: Callable[[_Member], bytes]) -> list[Operation]:
        return [self._sent(member, frame_of(member)) for member in self._members]

    def _sent(self, member: _Member, frame: bytes) -> Operation:
        return lambda: member.send(frame)

    def _cycle(self, frame: bytes) -> Operation:
        def run() -> None:
            self._producer.send(frame)
            self.world.clock.run_until_idle()
            member = next(each for each in self._members if each.connection.frames)
            member.connection.frames.clear()
            member.send(member.accept(self._offset))
            self.world.clock.run_until_idle()
            self._offset += 1

        return run

    def forget_answers(self) -> None:
        for member in self._members:
            member.connection.frames.clear()


class _Calls:
    """The calls of Python functions by name."""

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()

    def count(self, operations: Sequence[Operation]) -> None:
        def called(frame: FrameType, event: str, _argument: object) -> None:
            if event == "call" and "shareq" in frame.f_code.co_filename:
                self.by_name[frame.f_code.co_qualname] += 1

        sys.setprofile(called)
        try:
            for operation in operations:
                operation()
        finally:
            sys.setprofile(None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the number of calls and the CPU time of one request, for each kind of request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--list", action="store_true", help="which functions are called, and how often for one request")
    options = parser.parse_args(arguments)
    stage = _Stage(options.members)
    gc.freeze()  # as a broker does when it begins to listen
    kinds = {"empty poll": stage.polls, "heartbeat": stage.heartbeats, "cycle": stage.cycles}
    for name, made in kinds.items():
        calls, best_s = _Calls(), float("inf")
        for _ in range(options.rounds):
            operations = made()
            began = time.process_time()
            for operation in operations:
                operation()
            best_s = min(best_s, time.process_time() - began)
            stage.forget_answers()
        calls.count(made())
        per_request = {name: count / options.members for name, count in calls.by_name.most_common()}
        print(f"{name:12} {sum(per_request.values()):6.1f} calls {best_s / options.members * 1e6:7.1f} µs", flush=True)
        for function, count in per_request.items() if options.list else ():
            print(f"  {count:6.2f} {function}")


if __name__ == "__main__":
    main()
