"""Records of the coordinators' topics, checked as a start reads them. Pure."""

from __future__ import annotations

from typing import Final

from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.shard import InconsistentRecords, RecordSerde
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.transaction.records import TRANSACTION_SERDE
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from shareq.protocol.records.batch import decode_records

SERDES: Final[dict[str, RecordSerde]] = {
    CONSUMER_OFFSETS: GROUP_SERDE,
    SHARE_GROUP_STATE: SHARE_STATE_SERDE,
    TRANSACTION_STATE: TRANSACTION_SERDE,
}


def unreadable_records(serde: RecordSerde | None, batch: bytes) -> list[tuple[int | None, str]]:
    """Return the offset of each record of a data batch that cannot be read, and the reason. Offset None stands for
    all its records.

    Without a serde only the batch itself is decoded.
    """
    try:
        records = decode_records(batch)
    except (MalformedMessage, ValueError) as error:
        return [(None, str(error))]
    if serde is None:
        return []
    reasons = [(record.offset, _reason(serde, record.key, record.value)) for record in records]
    return [(offset, reason) for offset, reason in reasons if reason]


def _reason(serde: RecordSerde, key: bytes | None, value: bytes | None) -> str:
    if key is None:
        return "it has no key"
    try:
        return "its type is unknown" if serde.decode(key, value) is None else ""
    except (MalformedMessage, InconsistentRecords) as error:
        return str(error)
