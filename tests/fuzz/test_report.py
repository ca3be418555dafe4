from __future__ import annotations

import re

from shareq.broker.dispatch.table import HANDLERS
from tests.fuzz.oracle import Outcome
from tests.fuzz.report import never_right, table


def test_the_table_has_every_rpc_with_its_outcomes() -> None:
    counts = {
        ("PRODUCE", True, Outcome.NONE): 1,
        ("PRODUCE", False, Outcome.NONE): 2,
        ("PRODUCE", True, Outcome.ERRORS): 4,
        ("PRODUCE", True, Outcome.BEHIND): 1_000,
    }
    text = table(counts)
    assert re.findall(r"^\| ([A-Z_]+) \| ", text, re.MULTILINE) == ["RPC", *(api.name for api in HANDLERS)]
    assert "| PRODUCE | 1,007 | 3 | 2 | 4 | 0 | 0 | 1,000 |" in text
    assert "| FETCH | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in text


def test_what_was_never_answered_without_an_error_is_named() -> None:
    counts = {(api.name, True, Outcome.NONE): 1 for api in HANDLERS if api.name != "FETCH"}
    counts["FETCH", False, Outcome.ERRORS] = 1
    assert never_right(counts) == ["FETCH"]
