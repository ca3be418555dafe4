"""Share groups' RPCs and records: everything that a client can request, and the names of its fields (KIP-932)."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from shareq.protocol.generator.spec import MessageSpec, load_file

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"
SHARE_RPCS = sorted(path for path in (SCHEMAS / "rpc").iterdir() if "Share" in path.name)
OF_SHARE_GROUPS = SHARE_RPCS + sorted(path for path in (SCHEMAS / "records").iterdir() if "Share" in path.name)


@pytest.mark.parametrize(
    ("request_name", "says"),
    [
        ("ShareGroupHeartbeat", "GroupId MemberId MemberEpoch RackId SubscribedTopicNames"),
        (
            "ShareFetch",
            "GroupId MemberId ShareSessionEpoch MaxWaitMs MinBytes MaxBytes MaxRecords BatchSize ShareAcquireMode "
            "IsRenewAck Topics ForgottenTopicsData",
        ),
        ("ShareAcknowledge", "GroupId MemberId ShareSessionEpoch IsRenewAck Topics"),
    ],
)
def test_a_share_consumer_can_say_no_more_than_this(request_name: str, says: str) -> None:
    """Reset of offsets, isolation level, instance id, assignor, group protocol, timeouts and intervals are not the
    client's.

    They belong to the broker and the group; and nothing commits automatically.
    """
    asked = message(SCHEMAS / "rpc" / f"{request_name}Request.json")
    assert [field.name for field in asked.root.fields] == says.split()


def test_the_first_offset_of_a_range_has_one_name() -> None:
    """The name is FirstOffset, beside each LastOffset; KIP-932 says BaseOffset or StartOffset in places."""
    ranges = 0
    for path in OF_SHARE_GROUPS:
        names = re.findall(r'"name":\s*"(\w+)"', path.read_text())
        assert "BaseOffset" not in names, path.name
        assert names.count("FirstOffset") == names.count("LastOffset"), path.name
        assert all(after == "LastOffset" for name, after in pairwise(names) if name == "FirstOffset"), path.name
        ranges += names.count("FirstOffset")
    assert ranges == 7


@pytest.mark.parametrize("path", SHARE_RPCS, ids=lambda path: path.stem)
def test_every_version_of_every_share_rpc_is_flexible(path: Path) -> None:
    found = message(path)
    assert found.flexible_versions.lowest == 0
    assert found.flexible_versions.highest >= found.valid_versions.highest


def message(path: Path) -> MessageSpec:
    return load_file(path, f"rpc/{path.name}")
