"""A share partition's durable state in memory, as the share coordinator's log has it."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.staged import NONE_STAGED, Staged
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.generated.share_update import ShareUpdateKey

_pack_type: Final = Struct(">h").pack
UNSET: Final = -1
"""The value of an offset, epoch or count that is not given."""


def lag_of(high_watermark: int, start_offset: int, delivery_complete_count: int) -> int:
    """Return the number of records that a group has not finished (KIP-1226). Records finished beyond the start offset
    are not counted.

    A count of -1 (no record is finished yet, or the leader counts none) is 0. The result is negative if the start
    offset was set beyond the log's end.
    """
    return high_watermark - start_offset - max(0, delivery_complete_count)


class ShareState:
    """One share partition's state. Changed by replay only; `batches` and `delays` belong to it and are changed in
    place. `staged` are the acknowledgements that wait for the end of a transaction.
    """

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
        "staged",
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
        self.staged: Sequence[Staged] = NONE_STAGED
        self.highest_leader_epoch = UNSET
        self.highest_state_epoch = UNSET
        self.updates = 0  # written since the last snapshot that was due
        self.updated_batches = 0  # in those
        self.needed_from = 0  # offset of the last snapshot, or of the first update without one
        self.update_key = ShareUpdateKey(*key)
        self.update_key_bytes = _pack_type(ShareUpdateKey.API_KEY) + self.update_key.encode(0)

    def settle(self) -> None:
        """Complete a state without a readable snapshot: if no update has a start offset, it begins at 0, so that no
        record is lost. Finished records that are not in the updates are delivered again.
        """
        if self.start_offset == UNSET:
            self.start_offset = 0

    @property
    def is_cold(self) -> bool:
        """True if the last snapshot was a cold one, of an unchanged state: it has an older creation time."""
        return self.create_timestamp_ms != self.write_timestamp_ms
