"""A limit of the whole broker, divided among the owners of the counted objects. Pure.

Below the limit, any owner may create objects, as in Apache Kafka. At the limit, an owner that has less than its
part, the limit divided by the number of owners, may still create one. Existing objects are never taken away, so the
limit can be exceeded: k owners have at most `limit` x (1 + 1/2 + ... + 1/k) + k.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def may_make(limit: int, held: Mapping[K, int], owner: K) -> bool:
    """Return True if an owner may create one more.

    `held` is how many each owner has, each at least 1; objects without an owner count as those of one owner. `limit`
    >= 1.
    """
    if sum(held.values()) < limit:
        return True
    owners = len(held) + (owner not in held)
    return held.get(owner, 0) < max(1, limit // owners)
