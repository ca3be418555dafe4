"""The pace at which a handler's calls may begin. Pure; the caller's times are seconds of one clock."""

from __future__ import annotations

import math
import re
from typing import Final

from shareq.client.errors import ConfigError

AT_ONCE_S: Final = 0.1
"""The seconds of calls that may begin together; at least one call may."""
_UNITS_S: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
_RATE: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)/([smh])")


class Pace:
    """A limit on the rate of calls. Within t seconds, at most t * `per_s` begin, plus those that may begin together."""

    def __init__(self, per_s: float) -> None:
        self._every_s = 1 / per_s
        self._at_once = max(1, math.floor(per_s * AT_ONCE_S))
        self._paid_until = -math.inf  # each call that began has moved it by `_every_s`

    def ready(self, now: float) -> int:
        """Return how many calls may begin now."""
        if self._paid_until <= now:
            return self._at_once
        owed = math.ceil((self._paid_until - now) / self._every_s - 1e-9)
        return max(0, self._at_once - owed)

    def began(self, now: float) -> None:
        """Note that a call has begun."""
        self._paid_until = max(self._paid_until, now) + self._every_s

    def wait_s(self, now: float) -> float:
        """Return the seconds until the next call may begin; 0 if it may now."""
        return max(0.0, self._paid_until - now - (self._at_once - 1) * self._every_s)


def rate_of(text: str) -> float:
    """Return the calls per second of "100/s", "30/m" or "5/h". Raise ConfigError."""
    found = _RATE.fullmatch(text)
    per_s = float(found[1]) / _UNITS_S[found[2]] if found is not None else 0.0
    if not per_s:
        raise ConfigError(f'rate is {text!r}: must be calls a second, minute or hour: "100/s", "30/m", "5/h"')
    return per_s
