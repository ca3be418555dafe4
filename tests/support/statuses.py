"""Statuses shared by all records, and a way to plant a fault that changes new ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shareq.broker.share.core.window.delivery_status import SETTLED
from shareq.broker.share.core.window.key_order import waiting


@contextmanager
def new_statuses() -> Iterator[None]:
    """Run the block without known statuses, then restore the previous ones, which module constants hold."""
    before = dict(SETTLED)
    SETTLED.clear()
    waiting.cache_clear()
    try:
        yield
    finally:
        SETTLED.clear()
        SETTLED.update(before)
        waiting.cache_clear()
