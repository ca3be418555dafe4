"""The port of every ground's metadata: topics, and the settings of operators: properties, rights, users, quotas.

`MetadataStore` implements it for a data folder, where it also creates and deletes topics.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from shareq.broker.foundation.loop.commit_gate import CommitGate
from shareq.broker.foundation.pending import Pending
from shareq.broker.metadata.changes import DropAcl, PutAcl, PutConfig, PutQuota, PutScram, ResourceName
from shareq.broker.quotas.entity import QuotaEntity
from shareq.broker.security.acls import Acl
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.coordinator.ports import TopicImage, TopicNames
from shareq.protocol.errors import ApiError


class Hearing(Protocol):
    """Requests to a cluster about topics that the metadata may not know yet. Answers may take long."""

    async def of(self, topics: Iterable[str] | Iterable[str | bytes]) -> Collection[str | bytes]:
        """Ask for those of these topics, by name or id, that are unknown.

        Return the topics for which no answer came; any other topic that is still unknown does not exist.
        """

    async def of_all(self) -> None:
        """Ask for all existing topics."""


class Metadata(TopicNames, Protocol):
    """The image of the current settings and topics, and changes of it by clients.

    A change is answered when it is durable and visible in this port, with NO_ERROR; after an error nothing has
    changed, or the outcome is unknown. Listeners are called after the image shows the change, in the order in which
    they were added.
    """

    @property
    def cluster_id(self) -> str: ...

    @property
    def features(self) -> Mapping[str, int]:
        """Finalized feature levels; a feature at level 0 is off."""

    @property
    def features_epoch(self) -> int:
        """The epoch of the features, at least 1. It grows with each change of a feature level."""

    @property
    def share_groups_enabled(self) -> bool: ...

    @property
    def dead_letters_enabled(self) -> bool: ...

    @property
    def consumer_groups_enabled(self) -> bool: ...

    @property
    def hearing(self) -> Hearing | None:
        """The port for asking about unknown topics; None if an unknown topic does not exist."""

    def topic_names(self) -> Collection[str]:
        """Return the names of all topics, in no order."""

    def deleted_topics(self) -> Sequence[TopicImage]:
        """Return the deleted topics that are still remembered."""

    def configs(self, kind: str, name: str) -> Mapping[str, str]:
        """Return a resource's own properties; an empty mapping if it has none. `kind` and `name` are those of
        `ResourceName`.
        """

    def config_names(self, kind: str) -> list[str]:
        """Return the names of the resources of a kind that have properties of their own, sorted."""

    @property
    def acls(self) -> Collection[Acl]: ...

    @property
    def credentials(self) -> Mapping[CredentialKey, ScramCredential]: ...

    @property
    def quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]: ...

    def own_secret(self) -> bytes:
        """Return random bytes that no client knows, and that are the same after each start."""

    # -- changes; the caller has checked them

    @property
    def gate(self) -> CommitGate:
        """The gate to pass before a change."""

    def alter_configs(self, changes: Sequence[PutConfig]) -> Pending[ApiError]:
        """Set and remove properties, all of these or none."""

    def alter_acls(self, changes: Sequence[PutAcl | DropAcl]) -> Pending[ApiError]:
        """Add and remove access control list entries, all of these or none."""

    def alter_credentials(self, changes: Sequence[PutScram]) -> Pending[ApiError]:
        """Set and remove SCRAM credentials, all of these or none."""

    def alter_quotas(self, changes: Sequence[PutQuota]) -> Pending[ApiError]:
        """Set and remove quotas of clients, all of these or none."""

    # -- news

    def on_topics_changed(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call `listener` with the present state of topics that are new, or have more partitions."""

    def on_topics_deleted(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call the listener with the deleted topics; `topic(name)` no longer finds them."""

    def on_config_changed(self, listener: Callable[[ResourceName], None]) -> None: ...

    def on_features_changed(self, listener: Callable[[], None]) -> None: ...

    def on_credentials_changed(self, listener: Callable[[Sequence[PutScram]], None]) -> None:
        """Call the listener with the changes, in their order."""

    def on_quotas_changed(self, listener: Callable[[], None]) -> None: ...

    def on_acls_changed(self, listener: Callable[[Sequence[PutAcl | DropAcl]], None]) -> None:
        """Call the listener with the changes, in their order."""
