from __future__ import annotations

import logging
from pathlib import Path

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.process import sockets


def test_a_burst_of_clients_fits_into_the_backlog() -> None:
    """With Apache Kafka's backlog of 50, most of 500 simultaneous clients waited a second or longer."""
    assert BrokerConfig({}).socket_listen_backlog_size == 1_024


@pytest.mark.parametrize(("allowed", "logged"), [("128\n", True), ("1024\n", False), ("", False), (None, False)])
def test_a_backlog_that_the_system_cuts_is_logged(
    allowed: str | None,
    logged: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "somaxconn"
    if allowed is not None:
        path.write_text(allowed)
    monkeypatch.setattr(sockets, "_MOST_UNACCEPTED", str(path))
    caplog.set_level(logging.INFO)
    sockets.note_backlog(1_024)
    expected = "socket.listen.backlog.size=1024: the system allows 128 (net.core.somaxconn)"
    assert caplog.messages == ([expected] if logged else [])
