"""A node's figures, which other nodes request by a tagged field of ReadShareGroupStateSummary that only shareq knows.
Pure.

    in a request without share partitions, tag 29553 (0x7371)
        int8    1

    in its answer, the same tag
        int8    1
        int32   slots that it serves
        int32   slots that it is to own, and does not serve yet
        int64   take-overs that succeeded
        int64   slots that it lost
        int32   share partitions in its memory
        int64   offsets in flight in all of them

An older release answers without the tag.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from shareq.broker.topics.nodes import NodeFigures
from shareq.cluster.forward.state_changes import TAG
from shareq.protocol.generated.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
)

_FORMAT: Final = 1
_ASKED: Final = bytes([_FORMAT])
_FIGURES: Final = Struct(">biiqqiq")


def request() -> ReadShareGroupStateSummaryRequest:
    """Return the request for a node's figures."""
    return ReadShareGroupStateSummaryRequest("", [], ((TAG, _ASKED),))


def are_asked_for(asked: ReadShareGroupStateSummaryRequest) -> bool:
    """Return True if a request asks for figures."""
    return not asked.topics and dict(asked.unknown_tags).get(TAG) == _ASKED


def answer(figures: NodeFigures) -> ReadShareGroupStateSummaryResponse:
    """Return an answer with these figures."""
    return ReadShareGroupStateSummaryResponse([], ((TAG, _FIGURES.pack(_FORMAT, *figures)),))


def figures_in(answered: ReadShareGroupStateSummaryResponse) -> NodeFigures | None:
    """Return the figures in an answer; None if it has none that this release can read."""
    value = dict(answered.unknown_tags).get(TAG)
    if value is None or len(value) != _FIGURES.size:
        return None
    version, *figures = _FIGURES.unpack(value)
    return NodeFigures(*figures) if version == _FORMAT else None
