"""`shareq groups`: consumer groups, of the classic protocol and of KIP-848."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from shareq.client.admin.calls import Outcome, Partition, only
from shareq.client.core.list_offsets import LATEST
from shareq.client.errors import ClientError
from shareq.ops.cli.groups.shared import (
    Described,
    Kind,
    MemberRow,
    Position,
    add_commands,
    assignment,
)
from shareq.ops.cli.shared.command import Session, cluster_group

command = cluster_group("groups")


class ConsumerKind:
    """Consumer groups, as the commands see them."""

    word = "consumer group"
    types: tuple[str, ...] = ("consumer", "classic")

    def describe(self, session: Session, ids: Iterable[str]) -> Iterator[tuple[str, Outcome[Described]]]:
        for name, each in session.admin.consumer_groups.describe(ids):
            if isinstance(each, ClientError):
                yield name, each
                continue
            members = [
                MemberRow(
                    group=name,
                    member=one.member_id,
                    client=one.client_id,
                    host=one.host,
                    instance=one.instance_id,
                    epoch=None,
                    assignment=assignment(one),
                )
                for one in each.members
            ]
            yield name, Described(each.kind, each.state, each.epoch, each.assignor, tuple(members))

    def positions(
        self, session: Session, ids: Iterable[str], ends: bool
    ) -> Iterator[tuple[str, Outcome[dict[Partition, Outcome[Position]]]]]:
        del ends  # the lag needs them anyway
        for name, committed in session.admin.consumer_groups.offsets(ids):
            if isinstance(committed, ClientError):
                yield name, committed
                continue
            last = session.admin.topics.offsets(dict.fromkeys(committed, LATEST))
            rows: dict[Partition, Outcome[Position]] = {}
            for partition, each in committed.items():
                end = last[partition]
                if isinstance(each, ClientError):
                    rows[partition] = each
                elif isinstance(end, ClientError) or end.offset is None:  # its topic was deleted, or may not be seen
                    rows[partition] = Position(each.offset, None, None)
                else:
                    rows[partition] = Position(each.offset, end.offset, max(0, end.offset - each.offset))
            yield name, rows

    def paused(self, session: Session, ids: Iterable[str]) -> Mapping[str, bool | None]:
        return {}

    def explain(self, session: Session, group: str, positions: Mapping[Partition, Outcome[Position]]) -> None:
        """Do nothing: a consumer group has positions once it has committed."""

    def alter(self, session: Session, group: str, offsets: Mapping[Partition, int]) -> dict[Partition, Outcome[int]]:
        return session.admin.consumer_groups.alter_offsets(group, offsets)

    def forget(self, session: Session, group: str, topics: tuple[str, ...]) -> dict[str, Outcome[bool]]:
        committed = only(dict(session.admin.consumer_groups.offsets([group])), group)
        partitions = [partition for partition in committed if partition[0] in topics]
        found: dict[str, Outcome[bool]] = {}
        for (topic, _), outcome in session.admin.consumer_groups.delete_offsets(group, partitions).items():
            if not isinstance(found.get(topic), ClientError):
                found[topic] = outcome
        return found


_KIND: Kind = ConsumerKind()
add_commands(command, _KIND, "groups")
