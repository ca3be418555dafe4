from __future__ import annotations

import re
from typing import Final

OFFSETS: Final = "__consumer_offsets"
TRANSACTIONS: Final = "__transaction_state"
INTERNAL: Final = frozenset({OFFSETS, TRANSACTIONS})

_ALLOWED: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def is_valid_name(name: str) -> bool:
    return _ALLOWED.fullmatch(name) is not None and name not in (".", "..")
