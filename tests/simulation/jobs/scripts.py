"""Clients' scripts, request by request, as generators.

A script yields an answer that it waits for, or None to pause. A script ends with the broker; its caller keeps the state
that matters.
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
    """A runner of one script. A dropped script's results are ignored."""

    def __init__(self, script: Script[None]) -> None:
        self._script: Script[None] | None = script
        self._paused = True
        self._failure: BaseException | None = None

    @property
    def done(self) -> bool:
        return self._script is None

    @property
    def waits(self) -> bool:
        return self._script is not None and not self._paused

    def go_on(self) -> None:
        """Continue the script, unless it waits for an answer.

        Raise the error of its last answer here: inside the broker it might have been caught.
        """
        if self._failure is not None:
            raise self._failure
        if self._script is not None and self._paused:
            self._step(None)

    def drop(self) -> None:
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
