"""Judges a history. Knows nothing of the broker: it imports no code of it, and no code that the broker imports.

The analyses of logs are those of jepsen.tests.kafka; registers (committed offsets, topics, configurations) and the
rules of share groups come on top.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from tests.history import cycles, log_rules, registers, share_rules
from tests.history.anomalies import Analysis, Anomaly
from tests.history.index import Index
from tests.history.operations import History


class Promise(Enum):
    """What a broker has to keep, by what happened to it."""

    ALL = "all that was answered"
    SENSE = "nothing that makes no sense: no record that nobody sent, or at another offset than the client was told"


_SENSE = frozenset(
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


def check(history: History, promise: Promise = Promise.ALL) -> list[Anomaly]:
    """All anomalies that the promise forbids; empty for a sound history."""
    index = Index.of(history)
    return [one for one in _every(index) if promise is Promise.ALL or one.analysis in _SENSE]


def _every(index: Index) -> Iterator[Anomaly]:
    for rule in log_rules.RULES:
        yield from rule(index)
    yield from cycles.cycles(index)
    yield from registers.lost_updates(index)
    yield from share_rules.share_rules(index)
