"""Counters of dead letters: plain integers, changed by the writer of dead letters and read on the loop."""

from __future__ import annotations


class GroupDeadLetters:
    """The counters of one group, since the start of the broker; none decreases.

    * `records`: dead letters that are durable in the queue.
    * `requests`: appends to the queue; `failed_requests`: the ones that failed.
    * `without_letter`: records that were archived without a letter, because it could not be written.
    * `refused`: the part of `without_letter` whose letters would die and return to the same queue for ever.
    * `without_content`: letters without key and value although the group copies them.
    * `retries`: how often letters waited for another attempt.
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
