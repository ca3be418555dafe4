"""franz-go's own tests of its share consumer, as released, on this broker: all pass.

The tests release records on purpose, and so do leaving members. With the default of five deliveries a record is
sometimes archived and a test waits for it in vain: hence the higher limit. With two thousand records the first member,
which rejects, sometimes takes all before those that release begin: hence more records.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.clients.commands import Unavailable
from tests.interop.support.clients.programs import franz_go_suite
from tests.interop.support.go_suite import Program

pytestmark = pytest.mark.interop

BROKER_SETTINGS = {"group.share.delivery.count.limit": "10"}
ONLY: Final = "^(TestShareGroup|TestAuditShare|TestBuildAckRanges|TestDrainPurgedAcks)"
PASSED: Final = {
    "TestAuditShareLeaveWaitsForInflightMigration",
    "TestAuditShareMetadataMigrationWaitsForLeave",
    "TestAuditShareMoveCollapseMarksCursorUnusable",
    "TestDrainPurgedAcksLiveCursor",
    "TestShareGroup",
    "TestShareGroupAckOnClose",
    "TestShareGroupETL",
    "TestShareGroupOffsetsAdmin",
}


@pytest.fixture(scope="module")
def suite() -> Path:
    try:
        return franz_go_suite()
    except Unavailable as missing:
        pytest.skip(str(missing))


def test_the_share_tests_of_franz_go(broker: BrokerUnderTest, suite: Path) -> None:
    environment = {"KGO_SEEDS": broker.bootstrap, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": "10000"}
    program = Program(suite / "kgo.test", suite, {**environment, "KGO_LOG_LEVEL": "none"}, only=ONLY, leave_out=())
    try:
        outcome = program.outcome()
    finally:
        program.kill()
    if outcome.failed:
        pytest.fail("\n".join(outcome.reported(name) for name in sorted(outcome.causes)), pytrace=False)
    assert outcome.skipped == set()
    assert outcome.passed >= PASSED
