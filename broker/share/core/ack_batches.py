"""Validity of one partition's acknowledgements (KIP-932), checked before any of them is applied.

`share/acknowledgements.py` bounds their number.
"""

from __future__ import annotations

from collections.abc import Sequence

from shareq.broker.share.core.values import Acknowledged, AckRanges
from shareq.protocol.errors import ErrorCode
from shareq.protocol.passes.runs import ascend
from shareq.protocol.share import AcknowledgeType


def validate_ack_batches(batches: Sequence[Acknowledged], *, renew_request: bool, renew_version: bool) -> ErrorCode:
    """Check one partition's acknowledgements, before any is applied; return NONE or INVALID_REQUEST.

    Ranges ascend; each has one acknowledge type, or one per offset. Type 4 needs a version that knows it
    (`renew_version`) and a request that announces it (`renew_request`, IsRenewAck). A range that begins at the last
    offset of the previous range is accepted, as in Apache Kafka; acknowledging that offset twice fails later.
    """
    allowed = (AcknowledgeType.RENEW if renew_version and renew_request else AcknowledgeType.REJECT).value
    if isinstance(batches, AckRanges):
        return ErrorCode.NONE if ascend(batches.numbers, allowed) else ErrorCode.INVALID_REQUEST
    previous_last = -1
    for ack in batches:
        first, last, types = ack.first_offset, ack.last_offset, ack.acknowledge_types
        if first > last or first < previous_last:
            return ErrorCode.INVALID_REQUEST
        if len(types) == 1:  # the usual case, of which a request may bring many
            if not 0 <= types[0] <= allowed:
                return ErrorCode.INVALID_REQUEST
        elif len(types) != last - first + 1 or min(types) < AcknowledgeType.GAP or max(types) > allowed:
            return ErrorCode.INVALID_REQUEST
        previous_last = last
    return ErrorCode.NONE
