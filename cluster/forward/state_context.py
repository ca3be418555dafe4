"""The context of the handlers of state RPCs, whose clients are the nodes that coordinate groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.topics.nodes import NodeFigures

if TYPE_CHECKING:
    from shareq.broker.network.connection import Connection
    from shareq.broker.services import Services
    from shareq.cluster.forward.state_changes import StateChanges


@runtime_checkable
class JudgingGround(Protocol):
    """A ground that refuses outdated requests of coordinators."""

    @property
    def state_changes(self) -> StateChanges: ...

    async def figures(self) -> NodeFigures:
        """Return the node's figures, for another node."""

    async def reply_to(self, question: str) -> tuple[int, str]:
        """Return status and text of the node's own answer to a question of the records API, for another node."""


class StateContext(RequestContext):
    """The context of a state RPC's handler."""

    __slots__ = ("changes", "figures", "reply_to")

    def __init__(self, services: Services, connection: Connection, api_version: int, client_id: str | None) -> None:
        super().__init__(services, connection, api_version, client_id)
        ground = services.ground
        assert isinstance(ground, JudgingGround), f"{ground.name} has states of its own alone"
        self.changes: Final = ground.state_changes
        self.figures: Final = ground.figures
        self.reply_to: Final = ground.reply_to

    async def hear_of(self, topic_ids: Iterable[bytes]) -> None:
        """Have the mirror ask for topics that it lacks. The owner of their states may never have needed them before."""
        hearing = self.services.metadata.hearing
        if hearing is not None:
            await hearing.of(list(topic_ids))
