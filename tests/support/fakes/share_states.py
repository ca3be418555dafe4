"""The two neighbours of share groups: the persister of their states, and the leaders of their share partitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.share.core.effects import StateBatch, WriteState
from shareq.broker.share.persister import PersistedState
from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.staged import Staged
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode

T = TypeVar("T")


@dataclass
class KeptState:
    state_epoch: int
    start_offset: int = -1
    batches: Sequence[StateBatch] = ()
    delays: Sequence[Delay] = ()


class MemoryShareStates:
    """A `Persister` and `ShareStates`. Calls are noted in `calls` and carried out at once.

    Answers come at once, or with `holds` at `answer`. `errors`, by name of the operation, are answered instead of
    carrying it out; a write's error is looked up when its answer is given.
    """

    def __init__(self) -> None:
        self.states: dict[SharePartitionKey, KeptState] = {}
        self.calls: list[tuple[object, ...]] = []
        self.errors: dict[str, ErrorCode] = {}
        self.summaries: dict[SharePartitionKey, SummaryResult] = {}
        self.writes: list[WriteState] = []
        self.holds = False
        self._held: list[Callable[[], None]] = []

    @property
    def held(self) -> int:
        return len(self._held)

    def answer(self, count: int | None = None) -> None:
        due, self._held = self._held[:count], self._held[len(self._held[:count]) :]
        for each in due:
            each()

    # -- Persister

    def read_state(self, key: SharePartitionKey, leader_epoch: int) -> Pending[PersistedState]:
        error = self._note("read", key, leader_epoch)
        state = self.states.get(key)
        if error or state is None:
            return self._answer(PersistedState(error or ErrorCode.INVALID_REQUEST))
        batches, delays = tuple(state.batches), tuple(state.delays)
        return self._answer(PersistedState(ErrorCode.NONE, state.state_epoch, state.start_offset, batches, delays))

    def write_state(self, key: SharePartitionKey, write: WriteState) -> Pending[ErrorCode]:
        self._note("write", key, write.start_offset)
        self.writes.append(write)
        pending: Pending[ErrorCode] = Pending()
        self._give(lambda: pending.complete(self.errors.get("write", ErrorCode.NONE)))
        return pending

    def replace_state(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        batches: Sequence[StateBatch],
        delays: Sequence[Delay] = (),
        staged: Sequence[Staged] = (),
    ) -> Pending[ErrorCode]:
        error = self._note("replace", key, state_epoch, start_offset, tuple(batches))
        if not error:
            self.states[key] = KeptState(state_epoch, start_offset, tuple(batches), tuple(delays))
        return self._answer(error)

    def owes_letters(self, key: SharePartitionKey) -> Pending[bool]:
        state = self.states.get(key)
        return completed(state is not None and any(batch.delivery_state == 3 for batch in state.batches))

    # -- ShareStates

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Pending[ApiError]:
        error = self._note("initialize", key, state_epoch, start_offset)
        if not error:
            self.states[key] = KeptState(state_epoch, start_offset)
        return self._answer(ApiError(error))

    def initialize_once(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        replaced: Callable[[Iterable[SharePartitionKey]], None],
        *,
        again: bool = False,
    ) -> Pending[ApiError]:
        error = self._note("initialize_once", key, state_epoch, start_offset, again)
        state = self.states.get(key)
        if not error and (state is None or (not again and state.state_epoch < state_epoch)):
            self.states[key] = KeptState(state_epoch, start_offset)
            replaced((key,))
        return self._answer(ApiError(error))

    def read_summary(self, key: SharePartitionKey) -> Pending[SummaryResult]:
        error = self._note("read_summary", key)
        return self._answer(SummaryResult(error) if error else self.summaries.get(key, SummaryResult()))

    def delete(self, key: SharePartitionKey) -> Pending[ApiError]:
        error = self._note("delete", key)
        if not error:
            self.states.pop(key, None)
        return self._answer(ApiError(error))

    def _note(self, name: str, key: SharePartitionKey, *rest: object) -> ErrorCode:
        assert len(key.topic_id) == 16
        self.calls.append((name, key, *rest))
        return self.errors.get(name, ErrorCode.NONE)

    def _answer(self, value: T) -> Pending[T]:
        pending: Pending[T] = Pending()
        self._give(lambda: pending.complete(value))
        return pending

    def _give(self, answer: Callable[[], None]) -> None:
        if self.holds:
            self._held.append(answer)
        else:
            answer()


class NotedShareLeaders:
    def __init__(self) -> None:
        self.replaced: list[SharePartitionKey] = []
        self.deleted: list[SharePartitionKey] = []
        self.owed: dict[SharePartitionKey, Pending[ApiError]] = {}  # what `letters_written` returns of these

    def letters_written(self, key: SharePartitionKey) -> Pending[ApiError]:
        return self.owed.get(key) or completed(NO_ERROR)

    def state_replaced(self, keys: Iterable[SharePartitionKey]) -> None:
        self.replaced += keys

    def state_deleted(self, keys: Collection[SharePartitionKey]) -> None:
        self.deleted += keys
