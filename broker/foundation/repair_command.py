"""The command that repairs a data folder, as a refusal to start prints it, so that it can be copied and run. Pure."""

from __future__ import annotations

from typing import Final

ADOPT_ALL: Final = "--adopt all"
SET_ASIDE_ALL: Final = "--set-aside all"


def repair_command(data_dir: str, *options: str) -> str:
    """Return the command in backquotes, quoted for a shell."""
    import shlex  # rarely needed

    return f"`{' '.join(('shareq verify', shlex.quote(data_dir), '--repair', *options))}`"
