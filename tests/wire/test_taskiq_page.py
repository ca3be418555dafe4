"""docs/taskiq.md: its example runs as shown, and its options are the code's."""

from __future__ import annotations

from pathlib import Path

from shareq.taskiq import ShareqBroker
from shareq.testing import Broker
from tests.support.worker_page import WorkerPage

PAGE = WorkerPage("taskiq")


def test_the_example(broker: Broker, tmp_path: Path) -> None:
    PAGE.run_example(broker, tmp_path, lambda text: PAGE.output in text)
    broker.assert_acknowledged("tasks", "tasks", 1)


def test_the_options_of_the_page_are_those_of_the_code() -> None:
    PAGE.check_options(ShareqBroker, topic="taskiq", renew_s=86_400, prefetch=0, max_delay=86_400)
