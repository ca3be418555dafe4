"""Pauses at every element apply only to the test that asks for them."""

from __future__ import annotations

from importlib.util import find_spec, module_from_spec

import pytest

from shareq.broker.foundation.turn_budget import PIECE, in_pieces
from tests.support.coroutines import paused_everywhere


def test_a_module_that_is_imported_meanwhile_handles_as_many_elements_at_a_time_as_ever() -> None:
    """A later test once paused at every element when freeing a long request."""
    spec = find_spec("shareq.broker.dispatch.long_requests")
    assert spec is not None
    assert spec.loader is not None
    with pytest.MonkeyPatch.context() as monkeypatch:
        paused_everywhere(monkeypatch)
        assert len(in_pieces(range(3))) == 3
        late = module_from_spec(spec)
        spec.loader.exec_module(late)
    assert late.PIECE == PIECE
    assert len(in_pieces(range(3))) == 1
