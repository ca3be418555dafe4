"""A node's figures and its part of the records API's answers, which other nodes request by a tagged field of
ReadShareGroupStateSummary that only shareq knows. Pure.

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

    in a request without share partitions, the same tag: a path of the records API with its query
        int8    2
        UTF-8

    in its answer, the same tag: an HTTP status, with the body or a sentence
        int8    2
        int16   status
        UTF-8

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
_QUESTION: Final = 2
_ASKED: Final = bytes([_FORMAT])
_STATUS: Final = Struct(">bh")
_FIGURES: Final = Struct(">biiqqiq")


def question(text: str) -> ReadShareGroupStateSummaryRequest:
    """Return the request for a node's part of an answer of the records API."""
    return ReadShareGroupStateSummaryRequest("", [], ((TAG, bytes([_QUESTION]) + text.encode()),))


def question_in(asked: ReadShareGroupStateSummaryRequest) -> str | None:
    """Return the question in a request; None if it has none."""
    value = b"" if asked.topics else dict(asked.unknown_tags).get(TAG, b"")
    return value[1:].decode("utf-8", "replace") if value[:1] == bytes([_QUESTION]) else None


def reply(status: int, text: str) -> ReadShareGroupStateSummaryResponse:
    """Return the answer to a question."""
    value = _STATUS.pack(_QUESTION, status) + text.encode("utf-8", "backslashreplace")
    return ReadShareGroupStateSummaryResponse([], ((TAG, value),))


def reply_in(answered: ReadShareGroupStateSummaryResponse) -> tuple[int, str] | None:
    """Return status and text of an answer to a question; None if it has none that this release can read."""
    value = dict(answered.unknown_tags).get(TAG, b"")
    if len(value) < _STATUS.size or value[0] != _QUESTION:
        return None
    return _STATUS.unpack_from(value)[1], value[_STATUS.size :].decode("utf-8", "replace")


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
