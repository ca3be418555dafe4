"""The error that stops a maintenance command."""

from __future__ import annotations


class MaintenanceError(Exception):
    """Error: the command cannot continue. The text is one sentence for the operator. `usage`: the operator's input
    is the cause.
    """

    def __init__(self, message: str, *, usage: bool = False) -> None:
        super().__init__(message)
        self.usage = usage
