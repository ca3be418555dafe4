"""The judge of a history. It imports neither the broker's code nor any that the broker imports.

The analyses of logs are those of jepsen.tests.kafka; registers (committed offsets, topics, configurations) and the
rules of share groups are added.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Final

from tests.campaign.history import cycles, log_rules, registers, share_rules
from tests.campaign.history.anomalies import Analysis, Anomaly
from tests.campaign.history.index import Index
from tests.campaign.history.operations import History


@dataclass(frozen=True, slots=True)
class Promise:
    """A weaker guarantee: what is read makes sense, the given values are not lost, nor the given registers' updates."""

    values: Container[str]
    registers: tuple[str, ...]
    """The beginnings of the names of guaranteed registers."""

    def covers(self, anomaly: Anomaly) -> bool:
        if anomaly.analysis in (Analysis.LOST_WRITE, Analysis.UNSEEN):
            return anomaly.subject in self.values
        if anomaly.analysis is Analysis.LOST_UPDATE:
            return anomaly.subject.startswith(self.registers)
        return anomaly.analysis in _SENSE


_SENSE: Final = frozenset(
    {
        Analysis.INCONSISTENT_OFFSETS,
        Analysis.GARBAGE,
        Analysis.DUPLICATE,
        Analysis.INT_NONMONOTONIC_POLL,
        Analysis.INT_NONMONOTONIC_SEND,
        Analysis.NONMONOTONIC_SEND,
        Analysis.WRONG_RECORD,
    }
)


def check(history: History, promise: Promise | None = None) -> list[Anomaly]:
    """Return all anomalies, or those that the guarantee forbids; none for a sound history."""
    index = Index.of(history)
    return [one for one in _every(index) if promise is None or promise.covers(one)]


def _every(index: Index) -> Iterator[Anomaly]:
    for rule in log_rules.RULES:
        yield from rule(index)
    yield from cycles.cycles(index)
    yield from registers.lost_updates(index)
    yield from share_rules.share_rules(index)
