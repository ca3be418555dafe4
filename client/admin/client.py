"""The administrator's client: one part for each subject, made when it is first used."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from shareq.client.network import Network

if TYPE_CHECKING:
    from shareq.client.admin.acls import Acls
    from shareq.client.admin.calls import Calls
    from shareq.client.admin.cluster import ClusterInfo
    from shareq.client.admin.configs import Configs
    from shareq.client.admin.consumer_groups import ConsumerGroups
    from shareq.client.admin.groups import Groups
    from shareq.client.admin.quotas import Quotas
    from shareq.client.admin.redrives import Redrives
    from shareq.client.admin.share_groups import ShareGroups
    from shareq.client.admin.topics import Topics
    from shareq.client.admin.transactions import Transactions
    from shareq.client.admin.users import Users


class Admin:
    """Administration of a cluster over a `Network`, by its rules on threads.

    Every call tries again within default.api.timeout.ms. It raises BrokerError for what the cluster refuses,
    Unreachable, UnsupportedApi for a cluster that is too old, and AuthenticationFailed. Calls about many
    things return an `Outcome` for each: a value, or the error in its place.
    """

    def __init__(self, network: Network) -> None:
        self.network = network

    @cached_property
    def calls(self) -> Calls:
        from shareq.client.admin.calls import Calls

        return Calls(self.network)

    @cached_property
    def topics(self) -> Topics:
        from shareq.client.admin.topics import Topics

        return Topics(self.calls)

    @cached_property
    def groups(self) -> Groups:
        """The operations common to groups of all kinds."""
        from shareq.client.admin.groups import Groups

        return Groups(self.calls)

    @cached_property
    def share_groups(self) -> ShareGroups:
        from shareq.client.admin.share_groups import ShareGroups

        return ShareGroups(self.calls)

    @cached_property
    def consumer_groups(self) -> ConsumerGroups:
        from shareq.client.admin.consumer_groups import ConsumerGroups

        return ConsumerGroups(self.calls)

    @cached_property
    def configs(self) -> Configs:
        from shareq.client.admin.configs import Configs

        return Configs(self.calls)

    @cached_property
    def acls(self) -> Acls:
        from shareq.client.admin.acls import Acls

        return Acls(self.calls)

    @cached_property
    def users(self) -> Users:
        from shareq.client.admin.users import Users

        return Users(self.calls)

    @cached_property
    def quotas(self) -> Quotas:
        from shareq.client.admin.quotas import Quotas

        return Quotas(self.calls)

    @cached_property
    def cluster(self) -> ClusterInfo:
        """Brokers, and features."""
        from shareq.client.admin.cluster import ClusterInfo

        return ClusterInfo(self.calls)

    @cached_property
    def transactions(self) -> Transactions:
        from shareq.client.admin.transactions import Transactions

        return Transactions(self.calls)

    @cached_property
    def redrives(self) -> Redrives:
        """Dead letters on their way back, by requests that only shareq serves."""
        from shareq.client.admin.redrives import Redrives

        return Redrives(self.calls)
