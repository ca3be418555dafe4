"""The administrator's client: one part for each subject, made when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shareq.client.admin.calls import NONE_SILENT, Calls
from shareq.client.network import Network

if TYPE_CHECKING:
    from shareq.client.admin.acls import Acls
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


def _subject(module: str, name: str) -> cached_property[Any]:  # Any: of the subject's class
    def made(admin: Admin) -> Any:
        return getattr(import_module(f"shareq.client.admin.{module}"), name)(admin.calls)

    return cached_property(made)


class Admin:
    """Administration of a cluster over a `Network`, by its rules on threads.

    Every call tries again within default.api.timeout.ms. It raises BrokerError for refusals of the cluster,
    Unreachable, UnsupportedApi for a cluster that is too old, and AuthenticationFailed. Calls about many things return
    an `Outcome` for each: a value, or the error in its place.
    """

    topics: cached_property[Topics] = _subject("topics", "Topics")
    groups: cached_property[Groups] = _subject("groups", "Groups")
    """The operations common to groups of all kinds."""
    share_groups: cached_property[ShareGroups] = _subject("share_groups", "ShareGroups")
    consumer_groups: cached_property[ConsumerGroups] = _subject("consumer_groups", "ConsumerGroups")
    configs: cached_property[Configs] = _subject("configs", "Configs")
    acls: cached_property[Acls] = _subject("acls", "Acls")
    users: cached_property[Users] = _subject("users", "Users")
    quotas: cached_property[Quotas] = _subject("quotas", "Quotas")
    cluster: cached_property[ClusterInfo] = _subject("cluster", "ClusterInfo")
    """The brokers of the cluster and its features."""
    transactions: cached_property[Transactions] = _subject("transactions", "Transactions")
    redrives: cached_property[Redrives] = _subject("redrives", "Redrives")
    """Redrives of dead letters, by requests that only shareq serves."""

    def __init__(self, network: Network, *, silent: Mapping[int, str] = NONE_SILENT) -> None:
        self.network = network
        self.calls = Calls(network, silent=silent)

    def without(self, silent: Mapping[int, str]) -> Admin:
        """Return an administrator over the same network that does not ask these brokers about many things: such a
        broker's things have an error with the given text, at once.
        """
        return Admin(self.network, silent=silent)
