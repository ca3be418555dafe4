"""The conversion of Kafka's names to Python's."""

from __future__ import annotations

import keyword
import re
from functools import cache
from typing import Final

_ODD: Final = {"KRaft": "Kraft", "2Pc": "_2pc"}  # where the rule below would tear a word apart


@cache
def snake(name: str) -> str:
    """Return a name in snake case: `ShareSessionEpoch` and `shareSessionEpoch` become `share_session_epoch`,
    `V3AndBelow` becomes `v3_and_below`.
    """
    for odd, replacement in _ODD.items():
        name = name.replace(odd, replacement)
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
    return f"{name}_" if keyword.iskeyword(name) else name


def module_name(message: str, suffixes: tuple[str, ...] = ("Request", "Response", "Key", "Value")) -> str:
    """Return the generated module of a message: its name without the role, so that request and response share one."""
    if message in ("RequestHeader", "ResponseHeader"):
        return snake(message)
    for suffix in suffixes:
        if message.endswith(suffix) and message != suffix:
            return snake(message.removesuffix(suffix))
    return snake(message)
