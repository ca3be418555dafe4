"""docs/dramatiq.md: its example runs as shown, and its options are the code's."""

from __future__ import annotations

from pathlib import Path

from shareq.dramatiq import ShareqBroker
from shareq.testing import Broker
from tests.support.worker_page import WorkerPage

PAGE = WorkerPage("dramatiq")


def test_the_example(broker: Broker, tmp_path: Path) -> None:
    lines = PAGE.output.splitlines()
    PAGE.run_example(broker, tmp_path, lambda text: [line for line in text.splitlines() if line in lines] == lines)
    broker.assert_acknowledged("dramatiq.default", "dramatiq.default", 2)


def test_the_options_of_the_page_are_those_of_the_code() -> None:
    PAGE.check_options(ShareqBroker, prefix="dramatiq.", renew_s=86_400)
