"""`group.consumer.migration.policy`: which conversions of groups with members are made."""

from __future__ import annotations

from enum import Enum


class MigrationPolicy(Enum):
    """The value is the property's, in lower case. A group without members changes its kind under every policy.

    Under DISABLED no member of the classic protocol may join a consumer group; under the others it may.
    """

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        """A classic group becomes a consumer group when a member of KIP-848's protocol joins it."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def downgrades(self) -> bool:
        """A consumer group becomes a classic group when the last member of KIP-848's protocol goes."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)
