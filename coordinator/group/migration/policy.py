"""The policy `group.consumer.migration.policy`, which decides on conversions of groups with members."""

from __future__ import annotations

from enum import Enum


class MigrationPolicy(Enum):
    """The values of the property, in lower case. A group without members may change its kind under every policy.

    Under DISABLED no member of the classic protocol may join a consumer group; under the others it may.
    """

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        """True if a classic group becomes a consumer group when a member of KIP-848's protocol joins it."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def downgrades(self) -> bool:
        """True if a consumer group becomes a classic group when its last member of KIP-848's protocol leaves."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)
