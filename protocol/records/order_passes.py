"""`key_chains` and `offset_walk` in their quickest forms here, as `walk` has `record_walk`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.protocol.compiled import quickest

__all__ = [
    "KeyChains",
    "accept",
    "available_run",
    "count_available",
    "free",
    "from_front",
    "hand_out",
    "put",
    "runs_in",
    "settle",
    "unfinished",
]

_chains: Final = quickest("shareq.protocol.records._key_chains", "shareq.protocol.records.key_chains")
_form: Final = quickest("shareq.protocol.records._offset_walk", "shareq.protocol.records.offset_walk")

if TYPE_CHECKING:
    from shareq.protocol.records.key_chains import KeyChains
    from shareq.protocol.records.offset_walk import (
        accept,
        available_run,
        count_available,
        free,
        from_front,
        hand_out,
        put,
        runs_in,
        settle,
        unfinished,
    )
else:
    KeyChains = _chains.KeyChains
    accept = _form.accept
    available_run = _form.available_run
    count_available = _form.count_available
    free = _form.free
    from_front = _form.from_front
    hand_out = _form.hand_out
    put = _form.put
    runs_in = _form.runs_in
    settle = _form.settle
    unfinished = _form.unfinished
