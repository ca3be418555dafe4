"""What a campaign's journal shows: no task is lost, and one is done again only after a kill. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Verdict:
    """`again`: executions after the first, of all tasks. `unexplained`: tasks that were begun twice without a kill
    between, or after the first of them had been acknowledged for `ack_s` seconds before the kill."""

    sent: int
    lost: tuple[int, ...]
    again: int
    unexplained: tuple[int, ...]

    @property
    def good(self) -> bool:
        return not self.lost and not self.unexplained


@dataclass(slots=True)
class _Task:
    begins: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)


def judge(lines: Iterable[str], sent: Iterable[int], kills: Sequence[float], ack_s: float) -> Verdict:
    """Lines are "begin|end NUMBER PID TIME". `kills` are times on the same clock. A task that has ended is acknowledged
    within `ack_s` seconds: a kill later than that is no reason to do it again."""
    tasks = {number: _Task() for number in sent}
    for line in lines:
        word, number, _, at = line.split()
        task = tasks.setdefault(int(number), _Task())
        (task.begins if word == "begin" else task.ends).append(float(at))
    lost = tuple(number for number, task in tasks.items() if not task.ends)
    again = sum(max(0, len(task.begins) - 1) for task in tasks.values())
    unexplained = tuple(number for number, task in tasks.items() if not _explained(task, kills, ack_s))
    return Verdict(len(tasks), lost, again, unexplained)


def _explained(task: _Task, kills: Sequence[float], ack_s: float) -> bool:
    """Before each execution but the first came a kill, which came before the one before was acknowledged."""
    begins = sorted(task.begins)
    for before, begin in pairwise(begins):
        end = min((end for end in task.ends if end >= before), default=begin)
        if not any(before - ack_s <= kill <= min(begin, end + ack_s) for kill in kills):
            return False
    return True
