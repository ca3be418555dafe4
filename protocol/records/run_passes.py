"""`run_walk` in its quickest form here, as `walk` has `record_walk`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.protocol.compiled import quickest

__all__ = [
    "accept",
    "ascend",
    "available_in",
    "edges",
    "from_front",
    "hand_out",
    "is_account",
    "is_combined",
    "overlay",
    "replaced",
    "settle",
]

_form: Final = quickest("shareq.protocol.records._run_walk", "shareq.protocol.records.run_walk")

if TYPE_CHECKING:
    from shareq.protocol.records.run_walk import (
        accept,
        ascend,
        available_in,
        edges,
        from_front,
        hand_out,
        is_account,
        is_combined,
        overlay,
        replaced,
        settle,
    )
else:
    accept = _form.accept
    ascend = _form.ascend
    available_in = _form.available_in
    edges = _form.edges
    from_front = _form.from_front
    hand_out = _form.hand_out
    is_account = _form.is_account
    is_combined = _form.is_combined
    overlay = _form.overlay
    replaced = _form.replaced
    settle = _form.settle
