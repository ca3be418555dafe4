"""The port of every ground's metadata: topics, and the settings of operators: properties, rights, users, quotas.

`MetadataStore` serves it from a data folder, and does more: it is the sole author of its topics, too.
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
    """Questions about topics that the metadata may not know yet. What is asked for may be long in coming."""

    async def of(self, topics: Iterable[str] | Iterable[str | bytes]) -> Collection[str | bytes]:
        """Ask for those of these topics, by name or id, that are unknown.

        Return the topics without an answer: every other unknown topic does not exist.
        """

    async def of_all(self) -> None:
        """Ask for all topics that there are."""


class Metadata(TopicNames, Protocol):
    """The image of the current settings and topics, and changes of it by clients.

    A change is answered when it is durable and visible in this port: NO_ERROR, or an error, after which nothing has
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
        """Grows with each change of a feature level; at least 1."""

    @property
    def share_groups_enabled(self) -> bool: ...

    @property
    def dead_letters_enabled(self) -> bool: ...

    @property
    def consumer_groups_enabled(self) -> bool: ...

    @property
    def hearing(self) -> Hearing | None:
        """Asks for topics; None: an unknown topic does not exist."""

    def topic_names(self) -> Collection[str]:
        """Return the names of all topics, in no order."""

    def deleted_topics(self) -> Sequence[TopicImage]:
        """Topics that were deleted, as far as they are remembered."""

    def configs(self, kind: str, name: str) -> Mapping[str, str]:
        """Return a resource's own properties, none if it has none. `kind` and `name` are those of `ResourceName`."""

    def config_names(self, kind: str) -> list[str]:
        """Names of the resources of a kind that have properties of their own, sorted."""

    @property
    def acls(self) -> Collection[Acl]: ...

    @property
    def credentials(self) -> Mapping[CredentialKey, ScramCredential]: ...

    @property
    def quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]: ...

    def own_secret(self) -> bytes:
        """Random bytes that no client knows, the same after each start."""

    # -- changes; the caller has checked them

    @property
    def gate(self) -> CommitGate:
        """The gate that is passed before a change."""

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
        """Call the listener with topics that are new, or have more partitions, as they are now."""

    def on_topics_deleted(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call the listener with the deleted topics; `topic(name)` no longer finds them."""

    def on_config_changed(self, listener: Callable[[ResourceName], None]) -> None: ...

    def on_features_changed(self, listener: Callable[[], None]) -> None: ...

    def on_credentials_changed(self, listener: Callable[[Sequence[PutScram]], None]) -> None:
        """Call the listener with the changes, in their order."""

    def on_quotas_changed(self, listener: Callable[[], None]) -> None: ...

    def on_acls_changed(self, listener: Callable[[Sequence[PutAcl | DropAcl]], None]) -> None:
        """Call the listener with the changes, in their order."""
