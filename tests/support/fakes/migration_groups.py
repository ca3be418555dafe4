from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shareq.client.errors import BrokerError
from shareq.ops.migrate.group_ports import Committed, Redrive, ShareState
from shareq.ops.migrate.ports import Partition
from shareq.protocol.errors import ErrorCode
from tests.support.fakes.migration_clusters import Fate

ALL_STATES: Final = (0, 2, 3, 4)


@dataclass
class OldGroups:
    """Groups of the source. `taken` are share partitions whose leader confirms no more acknowledgements."""

    committed: dict[str, dict[Partition, Committed]] = field(default_factory=dict)
    states: dict[str, dict[Partition, ShareState | None]] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)
    taken: set[tuple[str, Partition]] = field(default_factory=set)
    under_way: list[Redrive] = field(default_factory=list)

    def consumer_groups(self) -> Mapping[str, bool]:
        return {group: group in self.members for group in self.committed}

    def offsets(self, group: str) -> Mapping[Partition, Committed]:
        return self.committed[group]

    def share_groups(self) -> Sequence[str]:
        return list(self.states)

    def begun(self, group: str) -> Mapping[Partition, int]:
        return {each: -1 if state is None else state.start for each, state in self.states[group].items()}

    def take_over(self, group: str, partitions: Collection[Partition]) -> Mapping[Partition, ShareState | None]:
        self.taken |= {(group, each) for each in partitions}
        return {each: self.states[group][each] for each in partitions}

    def group_configs(self) -> Mapping[str, Mapping[str, str]]:
        return self.configs

    def redrives(self) -> Sequence[Redrive]:
        return list(self.under_way)

    def end_redrive(self, name: str) -> None:
        assert not self.taken  # what it sends has to be copied, too
        self.under_way = [each for each in self.under_way if each.name != name]


@dataclass
class NewGroups:
    """Groups of the target. `changes` are the requests that set properties.

    While the fate may lose answers, states are initialized late and requested again.
    """

    fate: Fate
    writable: Collection[int] = ALL_STATES
    committed: dict[str, dict[Partition, Committed]] = field(default_factory=dict)
    states: dict[str, dict[Partition, ShareState]] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)
    changes: list[Mapping[str, Mapping[str, str]]] = field(default_factory=list)
    shows_states: bool = True
    epochs: dict[tuple[str, Partition], int] = field(default_factory=dict)

    def offsets(self, group: str) -> Mapping[Partition, Committed]:
        return self.committed.get(group, {})

    def commit(self, group: str, offsets: Mapping[Partition, Committed]) -> None:
        self.fate.at()
        self.committed.setdefault(group, {}).update(offsets)
        self.fate.at()

    def begun(self, group: str) -> Mapping[Partition, int]:
        return {each: state.start for each, state in self.states.get(group, {}).items()}

    def writable_states(self) -> Collection[int]:
        return self.writable

    def expect(self, group: str, partitions: Collection[Partition]) -> None:
        self.fate.at()

    def begin(self, group: str, starts: Mapping[Partition, int]) -> int:
        self.fate.at()
        if group in self.members:
            raise BrokerError(ErrorCode.NON_EMPTY_GROUP, f"share group {group}")
        asked = 1
        while self.fate.loses():
            self.fate.late.append(lambda: self.initialize(group, starts, 0))
            self.fate.at()
            asked += 1
        assert self.initialize(group, starts, 0)
        self.fate.at()
        return asked

    def begin_above(self, group: str, starts: Mapping[Partition, int]) -> None:
        epoch = 1 + max(self.epochs.get((group, each), 0) for each in starts)
        assert self.initialize(group, starts, epoch)
        self.fate.at()

    def initialize(self, group: str, starts: Mapping[Partition, int], epoch: int) -> bool:
        """Reset states, except those of a newer epoch; return True if none has a newer epoch."""
        old = {each: start for each, start in starts.items() if self.epochs.get((group, each), 0) <= epoch}
        self.epochs.update({(group, each): epoch for each in old})
        self.states.setdefault(group, {}).update({each: ShareState(start, ()) for each, start in old.items()})
        return old == starts

    def write(self, group: str, states: Mapping[Partition, ShareState]) -> None:
        assert states.keys() <= self.states[group].keys()
        self.states[group].update(states)
        self.fate.at()

    def read(self, group: str, partitions: Collection[Partition]) -> Mapping[Partition, ShareState]:
        return {each: self.states[group][each] for each in partitions} if self.shows_states else {}

    def set_group_configs(
        self, changes: Mapping[str, Mapping[str, str]], *, dry_run: bool
    ) -> Mapping[str, BrokerError]:
        self.changes.append(changes)
        errors: dict[str, BrokerError] = {}
        for group, configs in changes.items():
            if any(name.startswith("shareq.") for name in configs):
                errors[group] = BrokerError(ErrorCode.INVALID_CONFIG, f"group {group}", "Unknown group config")
            elif not dry_run:
                self.configs.setdefault(group, {}).update(configs)
        return errors
