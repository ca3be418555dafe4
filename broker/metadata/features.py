"""The features this broker has, their levels, and how ApiVersions shows them (KIP-584).

Clients use only transaction.version; share.version and group.version show operators and handlers if share groups and
the consumer group protocol are on. From share.version 2 on, share groups have dead letters (KIP-1191). Levels are
Apache Kafka 4.4.0's: metadata.version 33 is its 4.4-IV2, 30 was that of 4.3.1. Three of its features do not exist
here: streams.version, eligible.leader.replicas.version and kraft.version. A feature of our own is named to our own
clients alone, unless it is on.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

METADATA_VERSION: Final = "metadata.version"
SHARE_VERSION: Final = "share.version"
GROUP_VERSION: Final = "group.version"
TRANSACTION_VERSION: Final = "transaction.version"
SHARE_TRANSACTIONS: Final = "shareq.share.transactions"


SHARE_GROUPS: Final = 1
"""The share.version from which on share groups are enabled."""
DEAD_LETTERS: Final = 2
"""The share.version from which on share groups have dead letters."""

CONTROLLERS_UNREGISTER: Final = 33
"""The metadata.version from which on controllers can be unregistered."""


class Feature(NamedTuple):
    """A feature's lowest and highest level, both inclusive, and its level in a new data folder. Level 0 means off.

    `own`: shareq's own.
    """

    lowest: int
    highest: int
    initial: int
    own: bool = False


FEATURES: Final[Mapping[str, Feature]] = {
    METADATA_VERSION: Feature(7, 33, 33),
    TRANSACTION_VERSION: Feature(0, 2, 2),
    GROUP_VERSION: Feature(0, 1, 1),
    SHARE_VERSION: Feature(0, 2, 2),
    SHARE_TRANSACTIONS: Feature(0, 1, 0, own=True),
}


class FeatureError(ValueError):
    """Error: an unknown feature, or an unknown level of one. `allowed` has the valid ones."""

    def __init__(self, name: str, level: int, allowed: str) -> None:
        super().__init__(f"Invalid value {level} for feature {name}: {allowed}")


def check_level(name: str, level: int) -> None:
    """Raise FeatureError unless the feature exists and has that level."""
    feature = FEATURES.get(name)
    if feature is None:
        raise FeatureError(name, level, f"there are only the features {', '.join(FEATURES)}")
    if not feature.lowest <= level <= feature.highest:
        raise FeatureError(name, level, f"must be between {feature.lowest} and {feature.highest}")


class UpdateKind(IntEnum):
    """UpgradeType of UpdateFeatures: the kind of change that the client intends."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def update_problem(name: str, now: int, level: int, kind: int) -> str | None:
    """Return why an update of that kind cannot move a feature from level `now` to `level`; None if it can."""
    try:
        check_level(name, level)
        kind = UpdateKind(kind)
    except FeatureError as error:
        return str(error)
    except ValueError:
        return f"there is no kind of update {kind}"
    if level < now and kind is UpdateKind.UPGRADE:
        return f"it is at {now}, and an upgrade cannot lower it"
    if level > now and kind is not UpdateKind.UPGRADE:
        return f"it is at {now}, and a downgrade cannot raise it"
    if level < now and name == METADATA_VERSION:
        return f"it is at {now}, and metadata may depend on that"
    return None
