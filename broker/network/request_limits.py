"""Limits on the memory that one connection uses: the largest request frame, waiting bytes, unanswered requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class RequestLimits(NamedTuple):
    """The limits of one connection, in bytes unless named otherwise.

    `max_frame_bytes` is `socket.request.max.bytes`, inclusive; `largest_of`, if given, returns the largest size of a
    request with this API key, which may be less. Four limits stop the handling of further frames: `max_output_bytes`
    and `max_answers` of answers made without a pause, and `max_unanswered_bytes` and `max_unanswered` of requests
    that have not been answered yet. More than `max_input_bytes` waiting to be handled stop the reading.
    """

    max_frame_bytes: int = 100 * 1024 * 1024
    max_input_bytes: int = 256 * 1024
    max_output_bytes: int = 1024 * 1024
    max_answers: int = 500
    max_unanswered_bytes: int = 32 * 1024 * 1024
    max_unanswered: int = 10_000
    largest_of: Callable[[int], int] | None = None
