"""The rights to read and commit offsets, in every version: group errors as in KIP-88, topic errors in rows."""

from __future__ import annotations

import pytest

from devtools.clients.offsets_client import COMMIT_VERSIONS, FETCH_VERSIONS, NONE, OffsetsClient, Row
from shareq.broker.security import rights as r
from shareq.protocol.errors import ErrorCode
from tests.support.clients.access import TOPIC, AccessWorld, acl

HIDDEN = "hidden"
GROUP = "readers"
SEEN, UNSEEN = (TOPIC, 0), (HIDDEN, 0)
NO_GROUP, NO_TOPIC = ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED


class Offsets:
    """Group readers with an offset in two topics; alice has rights on at most one of them."""

    def __init__(self) -> None:
        self.world = AccessWorld()
        ids = {TOPIC: self.world.topic_id, HIDDEN: self.world.create_topic(HIDDEN).topic_id}
        self.alice = OffsetsClient(self.world.alice, ids)
        self.admin = OffsetsClient(self.world.admin, ids)
        self.admin.committed({SEEN: 5, UNSEEN: 6}, group=GROUP)

    def grant(self, *rights: r.Right) -> None:
        self.world.grant(
            [acl(right, GROUP if right in (r.DESCRIBE_GROUP, r.READ_GROUP) else TOPIC) for right in rights]
        )


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_a_group_that_may_not_be_described(version: int) -> None:
    offsets = Offsets()
    offsets.grant(r.DESCRIBE_TOPIC)
    refused = (NONE, {SEEN: Row(-1, NO_GROUP)}) if version == 1 else (NO_GROUP, {})
    assert offsets.alice.fetch([SEEN], version, group=GROUP) == refused
    if version > 1:
        assert offsets.alice.fetch(None, version, group=GROUP) == (NO_GROUP, {})


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_a_topic_that_may_not_be_described(version: int) -> None:
    """A named topic has an error in its rows; a fetch of all offsets omits the topic."""
    offsets = Offsets()
    offsets.grant(r.DESCRIBE_GROUP, r.DESCRIBE_TOPIC)
    rows = {SEEN: Row(5), UNSEEN: Row(-1, NO_TOPIC)}
    assert offsets.alice.fetch([UNSEEN, SEEN], version, group=GROUP) == (NONE, rows)
    if version > 1:
        assert offsets.alice.fetch(None, version, group=GROUP) == (NONE, {SEEN: Row(5)})


@pytest.mark.parametrize("version", range(8, 11))
def test_of_many_groups_each_is_refused_for_itself(version: int) -> None:
    offsets = Offsets()
    offsets.grant(r.DESCRIBE_GROUP, r.DESCRIBE_TOPIC)
    answers = offsets.alice.fetch_many({"other": None, GROUP: [SEEN]}, version)
    assert answers == {"other": (NO_GROUP, {}), GROUP: (NONE, {SEEN: Row(5)})}


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_committing(version: int) -> None:
    offsets = Offsets()
    offsets.grant(r.READ_TOPIC)
    both = {SEEN: 7, UNSEEN: 8}
    assert offsets.alice.commit(both, version, group=GROUP) == dict.fromkeys(both, NO_GROUP)
    offsets.grant(r.READ_TOPIC, r.READ_GROUP)
    assert offsets.alice.commit(both, version, group=GROUP) == {UNSEEN: NO_TOPIC, SEEN: NONE}
    assert offsets.admin.all(GROUP) == {SEEN: 7, UNSEEN: 6}
