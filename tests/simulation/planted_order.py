from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.share.core.window import key_order
from shareq.broker.share.core.window.delivery_status import DeliveryStatus, settled
from shareq.broker.share.core.window.key_order import KeyOrder
from shareq.broker.share.core.window.window import InFlightWindow, Run
from shareq.broker.share.ordered import answer
from shareq.protocol.passes.chains import KeyChains
from shareq.protocol.records import keys
from shareq.protocol.share import RecordState
from tests.simulation.planted import LOST
from tests.support.planting import Fault, Function, in_place_of, replaced


def keys_are_not_read() -> AbstractContextManager[object]:
    return replaced((answer, "key_hashes", lambda _read, _wanted: keys.KeyHashes([], [])))


@in_place_of(answer, "add_key_hashes")
def keys_are_those_of_the_records_before(original: Function, data: bytes, position: int, found: keys.KeyHashes) -> None:
    known = len(found.offsets)
    original(data, position, found)
    found.offsets[known:] = [offset + 1 for offset in found.offsets[known:]]


@in_place_of(key_order, "is_finished")
def a_released_record_lets_the_next_one_go(original: Function, status: DeliveryStatus) -> bool:
    return original(status) or (status.state is RecordState.AVAILABLE and status.delivery_count > 0)


def what_waits_is_available() -> AbstractContextManager[object]:
    return replaced((key_order, "waiting", lambda count: settled(RecordState.AVAILABLE, count)))


@in_place_of(KeyOrder, "enter")
def keys_are_forgotten_between_reads(original: Function, self: KeyOrder, *arguments: Any) -> None:
    self._chains = KeyChains()
    original(self, *arguments)


def a_load_counts_as_known() -> AbstractContextManager[object]:
    class Known(KeyOrder):
        """An order by key that takes the keys of all loaded records as known."""

        __slots__ = ("_begun",)

        def __init__(self, known_until: int, per_key: int) -> None:
            super().__init__(known_until, per_key)
            self._begun = False

        def frontier(self, window: InFlightWindow) -> int | None:
            if not self._begun:
                self.known_until, self._begun = window.end_offset + bool(len(window.batches)), True
            return super().frontier(window)

    return replaced((key_order, "KeyOrder", Known))


def the_next_record_of_a_key_is_never_free() -> AbstractContextManager[object]:
    return replaced((KeyOrder, "settle", lambda _self, _window: False))


@in_place_of(KeyOrder, "note")
def acknowledged_records_are_not_noted(original: Function, self: KeyOrder, runs: Iterable[Run]) -> None:
    original(self, [run for run in runs if run[2].state is not RecordState.ACKNOWLEDGED])


_OUT_OF_ORDER: Final = ("of the same key",)

FAULTS: Final[dict[Fault, tuple[str, ...]]] = {
    keys_are_not_read: _OUT_OF_ORDER,
    keys_are_those_of_the_records_before: _OUT_OF_ORDER,
    a_released_record_lets_the_next_one_go: _OUT_OF_ORDER,
    what_waits_is_available: _OUT_OF_ORDER,
    keys_are_forgotten_between_reads: _OUT_OF_ORDER,
    a_load_counts_as_known: (*_OUT_OF_ORDER, LOST),
    the_next_record_of_a_key_is_never_free: (LOST, "there is still"),
    acknowledged_records_are_not_noted: (LOST, "there is still"),
}
