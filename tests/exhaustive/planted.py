"""Faults to plant in the share core, each as small as a real mistake. A search must find every one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple

from shareq.broker.share.core import locks, partition
from shareq.broker.share.core.effects import DeadLetters
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.window import expiry, key_order
from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.broker.share.core.window.expiry import Expired
from shareq.broker.share.core.window.key_order import KeyOrder
from shareq.coordinator.share import shard
from shareq.coordinator.share.delays import NO_DELAYS
from shareq.protocol.share import RecordState
from tests.exhaustive.scope import Scope
from tests.simulation.planted import (
    delivery_limit_ignored,
    delivery_not_counted,
    failed_write_not_rolled_back,
    gap_window_missing,
    lock_never_expires,
    older_batch_wins,
    owner_not_checked,
    released_record_never_available,
    session_end_releases_everybody,
    start_offset_passes_acquired_records,
    update_loses_batches,
)
from tests.support.planting import Function, in_place_of, replaced

PLAIN: Final = Scope(batches=(1, 1))
QUEUE: Final = Scope(batches=(1, 1), dead_letters=True, delivery_count_limit=1)
LATER: Final = Scope(batches=(1, 1), backoff_ms=15)
DATED: Final = Scope(batches=(1, 1, 1), window=2, dates=(15, 5, 15), trimmed=False)
MORTAL: Final = Scope(batches=(1, 1), ends=(4, 0), dead_letters=True, trimmed=False)
ORDERED: Final = Scope(batches=(2,), keys=(1, 1))
TWO_OF_A_KEY: Final = Scope(batches=(2, 1), keys=(1, 1, 1), per_key=2, trimmed=False)
AHEAD: Final = Scope(batches=(1, 1, 1), keys=(1, 1, 2), window=2, ahead=1, trimmed=False)
THREE_KEYS: Final = Scope(batches=(2, 2), keys=(1, 2, 3, 1), trimmed=False)


def dead_letters_forgotten_by_a_crash() -> AbstractContextManager[object]:
    return replaced((SharePartition, "unfinished_dead_letters", lambda _self: ()))


@in_place_of(SharePartition, "acknowledge")
def dead_letters_before_their_write(original: Function, self: SharePartition, *arguments: Any) -> Any:
    """Plant the fault that dead letters are requested before the rejection is written, which may fail."""
    outcome = original(self, *arguments)
    change = self._writes[outcome.write_id][0] if outcome.write_id else None
    if change is None or not change.dead:
        return outcome
    letters, change.dead = DeadLetters(tuple(change.dead)), []
    return type(outcome)(outcome.error, (*outcome.effects, letters), outcome.write_id)


@in_place_of(DeliveryStatus, "__init__")
def archiving_is_finished(original: Function, self: DeliveryStatus, *arguments: Any, **named: Any) -> None:
    original(self, *arguments, **named)
    self.done = self.done or (self.state is RecordState.ARCHIVING and not self.write_id)


def no_dead_letters_of_expired_locks() -> AbstractContextManager[object]:
    return replaced((partition, "_expired_dead", lambda _write: []))


@in_place_of(SharePartition, "load")
def delays_lost_by_a_load(original: Function, self: SharePartition, *arguments: Any, **named: Any) -> Any:
    return original(self, *arguments, **{**named, "delays": ()})


def delays_not_persisted() -> AbstractContextManager[object]:
    return replaced((shard, "combined", lambda _delays, _start: NO_DELAYS))


def no_delay_after_a_lost_lock() -> AbstractContextManager[object]:
    return replaced((locks, "not_before", lambda *_: 0))


def dates_not_heeded() -> AbstractContextManager[object]:
    return replaced((partition, "make_wait", lambda *_: []))


def all_of_the_window_waits() -> AbstractContextManager[object]:
    return replaced((partition, "first_behind", lambda *_: None))


def expired_records_are_handed_out() -> AbstractContextManager[object]:
    return replaced((partition, "reject_expired", lambda *_: []))


@in_place_of(partition, "reject_expired")
def all_that_was_read_expires(original: Function, window: Any, acquired: Any, expired: Any, *arguments: Any) -> Any:
    """Plant that one expired record condemns all that were acquired with it."""
    everything = [Expired(each.first_offset, each.last_offset) for each in acquired] if expired else []
    return original(window, acquired, everything, *arguments)


def expired_records_have_no_letters() -> AbstractContextManager[object]:
    return replaced((expiry, "given_up_state", lambda _settings: RecordState.ARCHIVED))


def nobody_wakes_what_waits() -> AbstractContextManager[object]:
    return replaced((partition, "wake", lambda *_: False))


@in_place_of(SharePartition, "acquire")
def keys_not_read(original: Function, self: SharePartition, *arguments: Any, **named: Any) -> Any:
    return original(self, *arguments, **{**named, "keys": {}})


@in_place_of(SharePartition, "acquire")
def keys_taken_for_each_other(original: Function, self: SharePartition, *arguments: Any, **named: Any) -> Any:
    """Give two of three keys the same number: a free record waits for one of another key."""
    keys = {offset: key % 2 for offset, key in named["keys"].items()}
    return original(self, *arguments, **{**named, "keys": keys})


def key_free_before_the_write() -> AbstractContextManager[object]:
    """Plant the fault that an archived record counts as finished before that is durable."""
    return replaced((KeyOrder, "hold", lambda _self, _write_id: None))


def key_free_when_given_back() -> AbstractContextManager[object]:
    return replaced((key_order, "is_finished", lambda status: status.available or status.done))


@in_place_of(SharePartition, "_switch_order")
def keys_forgotten_by_a_load(original: Function, self: SharePartition) -> None:
    """Plant the fault that the keys of records in flight are taken as known after a load."""
    original(self)
    if self._order is not None and self._window.batches:
        self._order.known_until = self._window.end_offset + 1


def key_never_free() -> AbstractContextManager[object]:
    return replaced((KeyOrder, "settle", lambda _self, _window: False))


@in_place_of(KeyOrder, "__init__")
def key_with_one_record_more(original: Function, self: KeyOrder, known_until: int, per_key: int) -> None:
    original(self, known_until, per_key + 1)
    self.per_key = per_key


@in_place_of(KeyOrder, "__init__")
def key_with_one_record_alone(original: Function, self: KeyOrder, known_until: int, per_key: int) -> None:
    original(self, known_until)
    self.per_key = per_key


@in_place_of(partition, "limit_now")
def window_never_looks_ahead(original: Function, window: Any, settings: Any) -> Any:
    return original(window, settings._replace(order_look_ahead=0))


class Planted(NamedTuple):
    fault: Callable[[], AbstractContextManager[object]]
    scope: Scope
    depth: int


FAULTS: Final = (
    Planted(owner_not_checked, PLAIN, 4),
    Planted(session_end_releases_everybody, PLAIN, 4),
    Planted(delivery_limit_ignored, PLAIN, 4),
    Planted(delivery_not_counted, PLAIN, 4),
    Planted(released_record_never_available, PLAIN, 4),
    Planted(lock_never_expires, PLAIN, 4),
    Planted(start_offset_passes_acquired_records, PLAIN, 4),
    Planted(failed_write_not_rolled_back, PLAIN, 4),
    Planted(gap_window_missing, PLAIN, 4),
    Planted(update_loses_batches, PLAIN, 4),
    Planted(older_batch_wins, Scope(batches=(1,)), 5),
    Planted(dead_letters_forgotten_by_a_crash, QUEUE, 4),
    Planted(dead_letters_before_their_write, QUEUE, 4),
    Planted(archiving_is_finished, QUEUE, 4),
    Planted(no_dead_letters_of_expired_locks, QUEUE, 4),
    Planted(delays_lost_by_a_load, LATER, 4),
    Planted(delays_not_persisted, LATER, 4),
    Planted(no_delay_after_a_lost_lock, LATER, 4),
    Planted(nobody_wakes_what_waits, LATER, 4),
    Planted(dates_not_heeded, DATED, 3),
    Planted(all_of_the_window_waits, DATED, 3),
    Planted(nobody_wakes_what_waits, DATED, 4),
    Planted(expired_records_are_handed_out, MORTAL, 2),
    Planted(all_that_was_read_expires, MORTAL, 2),
    Planted(expired_records_have_no_letters, MORTAL, 4),
    Planted(keys_not_read, ORDERED, 4),
    Planted(keys_taken_for_each_other, THREE_KEYS, 4),
    Planted(key_free_before_the_write, Scope(batches=(2,), keys=(1, 1), delivery_count_limit=1), 4),
    Planted(key_free_when_given_back, ORDERED, 5),
    Planted(keys_forgotten_by_a_load, ORDERED, 5),
    Planted(key_never_free, ORDERED, 4),
    Planted(key_with_one_record_more, TWO_OF_A_KEY, 3),
    Planted(key_with_one_record_alone, TWO_OF_A_KEY, 3),
    Planted(key_free_when_given_back, TWO_OF_A_KEY, 5),
    Planted(window_never_looks_ahead, AHEAD, 3),
)
