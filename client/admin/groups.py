"""The operations common to groups of all kinds: listing and deleting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shareq.client.admin.calls import Calls, Outcome, answered, batched, refused
from shareq.client.errors import ClientError
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


class GroupListing(NamedTuple):
    """A group by name. `kind`: classic, consumer, share or streams; empty if the broker is too old to report it."""

    group_id: str
    kind: str
    state: str
    protocol: str


class Groups:
    """Groups of all kinds."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def find(self, kinds: Sequence[str] = (), states: Sequence[str] = ()) -> Iterator[GroupListing]:
        """Return the groups that this user may see, broker by broker; only of these kinds and states, if any are given.

        Names of kinds and states are Apache Kafka's, in any case.
        """
        request = ListGroupsRequest(list(states), list(kinds))
        for answer in self._calls.brokers(request, ListGroupsResponse, "groups"):
            for row in answer.groups:
                yield _listing(row)

    def found_soon(
        self, kinds: Sequence[str] = (), *, timeout_ms: int
    ) -> tuple[list[GroupListing], dict[int, ClientError]]:
        """Return the groups of the brokers that answer one request within a timeout, and the errors of the others, by
        node. If none answers, ask like `find`, and raise as it does.
        """
        answers = self._calls.brokers_once(
            ListGroupsRequest([], list(kinds)), ListGroupsResponse, "groups", timeout_ms=timeout_ms
        )
        failed = {node: each for node, each in answers.items() if isinstance(each, ClientError)}
        if len(failed) == len(answers):
            return list(self.find(kinds)), {}
        found = [each for each in answers.values() if isinstance(each, ListGroupsResponse)]
        return [_listing(row) for answer in found for row in answer.groups], failed

    def delete(self, group_ids: Iterable[str]) -> Iterator[tuple[str, Outcome[bool]]]:
        """Delete groups with their offsets. A group with members is refused: NON_EMPTY_GROUP."""
        for some in batched(group_ids):
            deleted = answered(DeleteGroupsResponse, _deleted)
            yield from self._calls.each_group(some, DeleteGroupsRequest, deleted).items()


def _listing(row: ListedGroup) -> GroupListing:
    return GroupListing(row.group_id, row.group_type.lower(), row.group_state, row.protocol_type)


def _deleted(answer: DeleteGroupsResponse) -> dict[str, Outcome[bool]]:
    return {
        row.group_id: refused(row.error_code, f"group {row.group_id}", row.error_message) or True
        for row in answer.results
    }
