"""Scripts of clients, request by request, written down as generators.

A script yields an answer that it waits for, or None where it leaves off until it is let go on. Nothing of it survives
the broker: its caller remembers what matters.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from shareq.broker.foundation.pending import Pending
from shareq.protocol.primitives import Message

T = TypeVar("T")

Wait = Pending[Message] | None
Script = Generator[Wait, Message | None, T]


class Runner:
    """Runs one script. What comes of a script that was dropped goes nowhere."""

    def __init__(self, script: Script[None]) -> None:
        self._script: Script[None] | None = script
        self._paused = True
        self._failure: BaseException | None = None

    @property
    def done(self) -> bool:
        return self._script is None

    @property
    def waits(self) -> bool:
        """A request is under way."""
        return self._script is not None and not self._paused

    def go_on(self) -> None:
        """Go on from where it left off; do nothing while it waits for an answer.

        Raise what it failed with when its last answer came: the broker may have caught that.
        """
        if self._failure is not None:
            raise self._failure
        if self._script is not None and self._paused:
            self._step(None)

    def drop(self) -> None:
        """The client is gone."""
        self._script = None

    def _step(self, value: Message | None) -> None:
        script = self._script
        if script is None:
            return
        self._paused = False
        try:
            wait = script.send(value)
        except StopIteration:
            self._script = None
            return
        except BaseException as failure:
            self._script, self._failure = None, failure
            raise
        if wait is None:
            self._paused = True
        else:
            wait.on_complete(self._step)
