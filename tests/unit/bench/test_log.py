"""The log's benchmark completes: every append is answered, even while the sync of new names takes long."""

from __future__ import annotations

import sys

import pytest

from bench import log


@pytest.mark.parametrize("options", [[], ["--idempotent"], ["--profile"]])
def test_it_runs_to_its_end(
    options: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "TAIL_READS", 3)
    monkeypatch.setattr(sys, "argv", ["bench.log", "--batches", "100", *options])
    log.main()
    printed = capsys.readouterr().out
    assert "100 batches of" in printed
    assert "recovery of 100 batches" in printed
    assert ("append, flush every 32" in printed) == (options != ["--profile"])
