"""Tracebacks of a handler's exception without the frames that led to the handler."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Final

_FRAMEWORK: Final = ("shareq.worker.", "asyncio.", "contextlib", "contextvars", "threading")


def keep_users_frames(error: BaseException) -> bool:
    """Drop the frames before the handler's own, also in the exceptions that led to this one.

    Return True if anything is left to show: a traceback, or the note of one from another process.
    """
    left: BaseException | None = error
    seen: set[int] = set()
    shown = bool(getattr(error, "__notes__", None))
    while left is not None and id(left) not in seen:
        seen.add(id(left))
        left.__traceback__ = _from_the_user(left.__traceback__)
        shown = shown or left.__traceback__ is not None
        left = left.__cause__ or (None if left.__suppress_context__ else left.__context__)
    return shown


def note_users_frames(error: BaseException) -> None:
    """Keep the traceback as a note, because it does not reach another process with the exception."""
    frames = traceback.format_tb(_from_the_user(error.__traceback__))
    if frames:
        error.add_note("In its process:\n" + "".join(frames).rstrip())


def _from_the_user(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith(_FRAMEWORK):
        trace = trace.tb_next
    return trace
