"""Counters of dead letters: plain integers of the part that writes them, read on the loop."""

from __future__ import annotations


class GroupDeadLetters:
    """The counters of one group, since the start of the broker; none goes down.

    * `records`: dead letters that are durable in the queue.
    * `requests`, `failed_requests`: appends to the queue, and those of them that failed.
    * `without_letter`: records that were archived without a letter, because it could not be written.
    * `refused`: of these, the ones whose letters would go round in circles.
    * `without_content`: letters without key and value although the group copies them.
    * `retries`: how often the rest waited, to be tried again.
    """

    __slots__ = ("failed_requests", "records", "refused", "requests", "retries", "without_content", "without_letter")

    def __init__(self) -> None:
        self.records = 0
        self.requests = 0
        self.failed_requests = 0
        self.without_letter = 0
        self.refused = 0
        self.without_content = 0
        self.retries = 0
