"""Queues that refuse letters, for another reason after each start of the broker, and queues created late."""

from __future__ import annotations

from enum import Enum
from typing import Final

from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import incremental_alter_configs
from shareq.protocol.generated.incremental_alter_configs import IncrementalAlterConfigsResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.campaign.dlq_kills.judge import Group

ENABLE: Final = "errors.deadletterqueue.group.enable"
AUTO_CREATE: Final = "errors.deadletterqueue.auto.create.topics.enable"
_TOPIC, _BROKER, _GROUP = 2, 4, 32
_TAKES: Final = {ENABLE: "true", "max.message.bytes": "1048588"}


class Trouble(Enum):
    """The fault of some groups' queues in one life of the broker."""

    NONE = "works"
    MISSING = "is missing, and may not be created"
    APPEARS = "has appeared since"
    NOT_ENABLED = "is not enabled"
    PREFIX = "has another prefix"
    SMALL = "takes no letter of that size"
    FAILS = "cannot be written"


class Queues:
    """The queues of those groups. `topics`: by group, all queues that may contain its letters."""

    def __init__(self, groups: list[Group]) -> None:
        self.groups = groups
        self.topics = {group.name: [group.queue] for group in groups}
        self._later: dict[str, str] = {}

    def begin(self, client: WireClient) -> None:
        for group in self.groups:
            create_topic(client, group.queue, 1, _TAKES)
            other = f"zz.{group.name}"
            create_topic(client, other, 1, _TAKES)
            self.topics[group.name].append(other)

    def trouble(self, client: WireClient, trouble: Trouble, number: int) -> None:
        """Cause the fault from now on. It may be incomplete if the broker dies meanwhile."""
        if trouble is Trouble.APPEARS:
            self._appear(client)
            return
        _set(client, _BROKER, "", **{AUTO_CREATE: "false" if trouble is Trouble.MISSING else "true"})
        for group in self.groups:
            _set(client, _TOPIC, group.queue, **{
                ENABLE: "false" if trouble is Trouble.NOT_ENABLED else "true",
                "max.message.bytes": "100" if trouble is Trouble.SMALL else _TAKES["max.message.bytes"],
            })  # fmt: skip
            name = group.queue
            if trouble is Trouble.PREFIX:
                name = f"zz.{group.name}"
            elif trouble is Trouble.MISSING:
                name = self._later[group.name] = f"{group.queue}.{number}"
                self.topics[group.name].append(name)
            _set(client, _GROUP, group.name, **{"errors.deadletterqueue.topic.name": name})

    def _appear(self, client: WireClient) -> None:
        for name in self._later.values():
            if not exists(client, name):
                create_topic(client, name, 1, _TAKES)


def exists(client: WireClient, topic: str) -> bool:
    request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    return client.call(request, 12, MetadataResponse).topics[0].error_code == ErrorCode.NONE


def _set(client: WireClient, kind: int, name: str, **configs: str) -> None:
    rpc = incremental_alter_configs
    rows = [rpc.AlterableConfig(key, 0, value) for key, value in configs.items()]
    request = rpc.IncrementalAlterConfigsRequest([rpc.AlterConfigsResource(kind, name, rows)], False)
    (answer,) = client.call(request, 1, IncrementalAlterConfigsResponse).responses
    assert answer.error_code == ErrorCode.NONE, answer
