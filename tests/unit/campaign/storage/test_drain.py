from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_acknowledge import (
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from shareq.protocol.generated.share_fetch import (
    AcquiredRecords,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from shareq.protocol.generated.share_fetch import PartitionData as FetchedPartition
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, build_batch
from tests.campaign.history.operations import Acquired, Operation, Refused, ShareDrained
from tests.campaign.storage import drain
from tests.campaign.storage.drain import ENOUGH, Drain
from tests.campaign.storage.links import Link
from tests.campaign.storage.scene import RESET_GROUP, TRIMMED, Scene

TOPIC_ID = b"0123456789abcdef"
Answer = Callable[[], ShareFetchResponse]


@dataclass(slots=True)
class ScriptedLink:
    """A broker that answers share fetches as scripted, and repeats the last answer."""

    answers: Sequence[Answer]
    fetches: list[ShareFetchRequest] = field(default_factory=list)

    def call(self, request: Message, _version: int, _response_class: type[Message]) -> Message:
        if isinstance(request, ShareGroupHeartbeatRequest):
            return ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=1)
        if isinstance(request, ShareAcknowledgeRequest):
            return ShareAcknowledgeResponse(
                responses=[ShareAcknowledgeTopicResponse(TOPIC_ID, [PartitionData(0, error_code=0)])]
            )
        assert isinstance(request, ShareFetchRequest)
        self.fetches.append(request)
        return self.answers[min(len(self.fetches), len(self.answers)) - 1]()

    def drop(self) -> None:
        pass


def answer(partition: FetchedPartition | None) -> ShareFetchResponse:
    topics = [] if partition is None else [ShareFetchableTopicResponse(TOPIC_ID, [partition])]
    return ShareFetchResponse(responses=topics)


def not_looked_at() -> ShareFetchResponse:
    """Return the answer while the share partition's state is still being read."""
    return answer(None)


def nothing() -> ShareFetchResponse:
    return answer(FetchedPartition(partition_index=0, records=b""))


def failed() -> ShareFetchResponse:
    return answer(FetchedPartition(partition_index=0, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, records=b""))


def a_record() -> ShareFetchResponse:
    batch = bytes(build_batch([RecordData(None, b"a0|")], timestamp_ms=1))
    return answer(FetchedPartition(partition_index=0, records=batch, acquired_records=[AcquiredRecords(0, 0, 1)]))


def a_gap() -> ShareFetchResponse:
    """Return an acquired offset without a record, as that of a marker."""
    return answer(FetchedPartition(partition_index=0, records=b"", acquired_records=[AcquiredRecords(0, 0, 1)]))


def drained(monkeypatch: pytest.MonkeyPatch, *answers: Answer, damaged: bool = False) -> list[Operation]:
    link = ScriptedLink(answers)
    monkeypatch.setattr(Scene, "link", lambda _scene, _client_id: cast(Link, link))
    scene = Scene(lambda: ("127.0.0.1", 0), 1, ids={TRIMMED.name: TOPIC_ID})
    Drain(scene, settled=True, damaged=damaged)._group(RESET_GROUP)
    assert all(fetch.share_session_epoch == 0 for fetch in link.fetches), "else an answer leaves out what has nothing"
    return scene.recorder.operations()


def handed(operations: Sequence[Operation]) -> int:
    return sum(isinstance(one.value, Acquired) for one in operations)


def is_over(operations: Sequence[Operation]) -> bool:
    return any(isinstance(one.value, ShareDrained) for one in operations)


@pytest.mark.parametrize("first", [not_looked_at, failed, a_gap], ids=lambda first: first.__name__)
def test_group_is_not_worked_off_before_each_partition_was_looked_at(
    monkeypatch: pytest.MonkeyPatch, first: Answer
) -> None:
    operations = drained(monkeypatch, *[first] * ENOUGH * 2, a_record, nothing)
    assert handed(operations) == 1
    assert is_over(operations)


def test_fetch_that_finds_nothing_does_not_end_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    operations = drained(monkeypatch, *[nothing] * (ENOUGH - 1), a_record, nothing)
    assert handed(operations) == 1


def test_partition_that_cannot_be_looked_at_is_reported_and_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drain, "PATIENCE_S", 0.01)
    operations = drained(monkeypatch, failed)
    reported = [one.value.what for one in operations if isinstance(one.value, Refused)]
    assert is_over(operations), "so that its records are judged, too"
    assert len(reported) == 1
    assert "COORDINATOR_NOT_AVAILABLE" in reported[0]


def test_error_is_an_answer_where_data_may_be_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_over(drained(monkeypatch, failed, damaged=True))
