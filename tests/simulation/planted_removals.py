"""Faults of operations that remove states which owe dead letters, planted like those of `planted.py`."""

from __future__ import annotations

from contextlib import AbstractContextManager

from shareq.broker.foundation.pending import completed
from shareq.broker.share.coordinator import ShareCoordinatorService
from shareq.broker.share.last_letters import LastLetters
from shareq.protocol.errors import NO_ERROR
from tests.support.planting import replaced


def states_go_before_their_letters_are_written() -> AbstractContextManager[object]:
    """Plant the fault that states are removed while letters are being written, which a crash then loses."""
    return replaced((LastLetters, "written", lambda _self, _key: completed(NO_ERROR)))


def states_that_no_leader_has_go_without_their_letters() -> AbstractContextManager[object]:
    return replaced((ShareCoordinatorService, "owes_letters", lambda _self, _key: completed(False)))
