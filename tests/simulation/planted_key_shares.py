"""Faults to plant where keys have several records in hand, or windows look ahead: the simulation must notice them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.share.core import partition
from shareq.broker.share.core.window.key_order import KeyOrder
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.protocol.passes.chains import KeyChains
from tests.simulation.planted import LOST
from tests.support.planting import Fault, Function, in_place_of, replaced

_TOO_MANY: Final = ("may have in hand",)


@in_place_of(KeyOrder, "__init__")
def a_key_has_one_record_more(original: Function, self: KeyOrder, known_until: int, per_key: int) -> None:
    original(self, known_until, per_key)
    self._chains = KeyChains(per_key + 1)


@in_place_of(KeyOrder, "settle")
def a_record_given_back_makes_room_for_another(original: Function, self: KeyOrder, window: InFlightWindow) -> Any:
    """Plant the fault that each record that becomes available again resets all keys' counts of records in hand."""
    again = [run for run in self._changed if run[2].available]
    found = original(self, window)
    if again:
        self.known_until, self._chains = window.start_offset, KeyChains(self.per_key)
    return found


def windows_go_on_without_end() -> AbstractContextManager[object]:
    return replaced((partition, "limit_now", lambda window, settings: window.in_flight() + 100))


FAULTS: Final[dict[Fault, Sequence[str]]] = {
    a_key_has_one_record_more: _TOO_MANY,
    a_record_given_back_makes_room_for_another: (*_TOO_MANY, LOST, "there is still"),
    windows_go_on_without_end: ("beyond its limit",),
}
