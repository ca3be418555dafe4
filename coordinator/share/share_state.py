"""A share partition's durable state in memory, as the share coordinator's log has it."""

from __future__ import annotations

from struct import Struct
from typing import Final

from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.generated.share_update import ShareUpdateKey

_pack_type: Final = Struct(">h").pack
UNSET: Final = -1
"""An offset, epoch or count that is not given."""


def lag_of(high_watermark: int, start_offset: int, delivery_complete_count: int) -> int:
    """Return how many records a group is not done with (KIP-1226): those finished beyond the start offset are no lag.

    A count of -1 (nothing was finished yet, or a leader that counts nothing) is 0. Negative where the start offset
    was put beyond the log's end.
    """
    return high_watermark - start_offset - max(0, delivery_complete_count)


class ShareState:
    """One share partition's state. Changed by replay only; `batches` and `delays` belong to it and change in place."""

    __slots__ = (
        "batches",
        "create_timestamp_ms",
        "delays",
        "delivery_complete_count",
        "highest_leader_epoch",
        "highest_state_epoch",
        "leader_epoch",
        "needed_from",
        "snapshot_epoch",
        "start_offset",
        "state_epoch",
        "update_key",
        "update_key_bytes",
        "updated_batches",
        "updates",
        "write_timestamp_ms",
    )

    def __init__(self, key: SharePartitionKey) -> None:
        self.snapshot_epoch = 0
        self.state_epoch = 0
        self.leader_epoch = 0
        self.start_offset = UNSET
        self.delivery_complete_count = UNSET
        self.create_timestamp_ms = 0
        self.write_timestamp_ms = 0
        self.batches: list[StateBatch] = []
        self.delays: list[StateBatch] = []  # rows of `delays`
        self.highest_leader_epoch = UNSET
        self.highest_state_epoch = UNSET
        self.updates = 0  # written since the last snapshot that was due
        self.updated_batches = 0  # in those
        self.needed_from = 0  # offset of the last snapshot, or of the first update without one
        self.update_key = ShareUpdateKey(*key)
        self.update_key_bytes = _pack_type(ShareUpdateKey.API_KEY) + self.update_key.encode(0)

    def settle(self) -> None:
        """Make good that no snapshot could be read: without a start offset from anywhere, the state begins at 0,
        so that nothing is lost; what was finished, and is not in the updates, is delivered again.
        """
        if self.start_offset == UNSET:
            self.start_offset = 0

    @property
    def is_cold(self) -> bool:
        """The last snapshot was taken because nothing had been snapshotted for long: that keeps the creation time."""
        return self.create_timestamp_ms != self.write_timestamp_ms
