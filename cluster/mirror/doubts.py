"""The proof that a topic was deleted: a mirror is never complete, so a missing topic proves nothing.

A broker may learn of a topic late, and it answers for a topic that the user may not describe as if it did not exist. So
a topic counts as deleted when two answers, `PROOF_MS` apart and by different brokers if there are several, both say
that its id is unknown, and that its name is unknown or belongs to another topic, and no answer in between knew the
topic. Pure.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from shareq.protocol.errors import ErrorCode

PROOF_MS: Final = 60_000


class Witness(NamedTuple):
    """A broker's answer about a topic, by id and by name; `named_id` is the id of the topic with that name."""

    node: int
    by_id: ErrorCode
    by_name: ErrorCode
    named_id: bytes | None

    def denies(self, topic_id: bytes) -> bool:
        """Return True if, according to this broker, the topic does not exist."""
        if self.by_id is not ErrorCode.UNKNOWN_TOPIC_ID:
            return False
        if self.by_name is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return True
        return self.by_name is ErrorCode.NONE and self.named_id not in (None, topic_id)


class Doubt(NamedTuple):
    """The first answer that denied a topic since the last one that knew it."""

    node: int
    since_ms: int

    @property
    def due_ms(self) -> int:
        """Return the time from which on another denial proves the deletion."""
        return self.since_ms + PROOF_MS


def judged(doubt: Doubt | None, topic_id: bytes, witness: Witness, now_ms: int, brokers: int) -> Doubt | bool | None:
    """Return the doubt after an answer, None if the topic is known, or True if its deletion is proved. `brokers` is the
    number of the cluster's brokers.
    """
    if not witness.denies(topic_id):
        knows = witness.by_id is ErrorCode.NONE or witness.named_id == topic_id
        return None if knows else doubt
    if doubt is None:
        return Doubt(witness.node, now_ms)
    return True if now_ms >= doubt.due_ms and (witness.node != doubt.node or brokers < 2) else doubt
