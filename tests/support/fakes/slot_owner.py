"""An owner of a slot on virtual time that takes it over, appends and reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.coordinator_runtime.ports import LOG_IS_OVER
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.append import AppendInfo, Origin
from shareq.cluster.link.ports import Link
from shareq.cluster.state.log import SlotLog
from shareq.cluster.state.slot import Refused, Slot, StateTopic
from shareq.cluster.state.take_over import TakeOver, TakeOverSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, build_batch, decode_records
from tests.support.fakes.small_cluster import TOPIC, TOPIC_ID


def state_topic(*, compacted: bool = False, max_message_bytes: int = 1_048_588) -> StateTopic:
    return StateTopic(TOPIC, TOPIC_ID, 1, max_message_bytes, compacted)


class SlotOwner:
    """A node that owns, or owned, slot 0. `proofs` are the send times of the appends that proved its ownership."""

    def __init__(
        self,
        clock: VirtualClock,
        link: Link,
        *,
        node_id: int = 1,
        topic: StateTopic | None = None,
        settings: TakeOverSettings | None = None,
    ) -> None:
        self.clock: Final = clock
        self.env: Final = Environment(clock, Random(node_id), MemFs(clock.call_soon))
        self.slot: Final = Slot(link, topic or state_topic(), 0)
        self.take_overs: Final = TakeOver(self.env, self.slot, settings or TakeOverSettings(node_id))
        self.begin: Final = beginner(self.env.budget, in_ticks(clock.call_soon))
        self.wanted = True
        self.proofs: list[int] = []
        self.outcomes: list[ErrorCode] = []
        self.values: list[bytes] = []
        self.log_or_none: SlotLog | None = None

    @property
    def log(self) -> SlotLog:
        assert self.log_or_none is not None
        return self.log_or_none

    def attempt(self) -> Callable[[], None]:
        sent = self.clock.now_ms()
        return lambda: self.proofs.append(sent)

    def begin_take_over(self) -> Pending[SlotLog | Refused]:
        return self.begin(self.take_overs.run(self.attempt, lambda: self.wanted))

    def take_over(self) -> SlotLog:
        """Take the slot over and read it; `values` are the committed ones."""
        taken = self.begin_take_over()
        self.clock.run_until_idle()
        assert isinstance(taken.value, SlotLog), taken.value
        self.log_or_none = taken.value
        self.values = self.load()
        return taken.value

    def load(self) -> list[bytes]:
        found: list[bytes] = []
        offset = self.log.log_start_offset
        while offset < self.log.high_watermark:
            answer = self.log.read(offset, 1 << 20, upto=self.log.high_watermark)
            self.clock.run_until_idle()
            read = answer.value
            if read is LOG_IS_OVER:
                break
            assert not isinstance(read, ErrorCode), read
            if not read.batches:
                break
            for span in read.batches:
                batch = read.records[span.position : span.position + span.size]
                found += [record.value or b"" for record in decode_records(batch)]
                offset = span.last_offset + 1
        return found

    def append(self, *values: bytes) -> AppendInfo | ErrorCode:
        return self.log.append(
            batch_of(values),
            origin=Origin.COORDINATOR,
            now_wall_ms=self.clock.wall_ms(),
            on_durable=self.outcomes.append,
        )


def batch_of(values: Sequence[bytes]) -> bytearray:
    return build_batch([RecordData(b"key", value) for value in values], timestamp_ms=9)
