from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.campaign.bad_records.scene import Scene


@dataclass(frozen=True, slots=True)
class Verdict:
    """Counts of records: each is `accepted`, `rejected` or `given_up`, and has a letter unless accepted."""

    written: int
    good: int
    accepted: int
    rejected: int = 0
    given_up: int = 0
    letters: int = 0

    def __str__(self) -> str:
        return (
            f"{self.written} written, {self.good} good ones handled; {self.accepted} accepted,"
            f" {self.rejected} rejected, {self.given_up} given up, {self.letters} letters"
        )


def of_group(scene: Scene, group: str, topic: str, good: Sequence[int], done: Sequence[str], queue: str) -> Verdict:
    """Return the verdict on a group that is done with a topic. AssertionError if a record is unaccounted for."""
    missing = sorted(set(good) - set(map(int, done)))
    assert not missing, f"{len(missing)} good records were not handled: {missing[:10]}"
    written = scene.end(topic)
    dead = written - scene.broker.group_counts(group, topic).accepted
    letters = scene.letters(queue, dead)
    counts = scene.broker.group_counts(group, topic)
    assert counts.rejected + counts.dead == letters == dead, f"{written} written, {letters} letters, {counts}"
    return Verdict(written, len(good), counts.accepted, counts.rejected, counts.dead, letters)
