"""`docs/evidence/aio-scenarios.md`: each scenario has a test or a reason, and each test a result on both brokers."""

from __future__ import annotations

from collections import Counter

from tests.interop.aio_scenarios.scenarios import LEFT_OUT, SCENARIOS
from tests.interop.aio_scenarios.table import BEGIN, DOCUMENT, END, KINDS, left_out, lines, made_tests, redone, results


def names() -> list[str]:
    return [name for of_file in SCENARIOS.values() for name in of_file.split()]


def test_the_table_is_made_of_tests_and_results() -> None:
    text = DOCUMENT.read_text()
    assert text[text.index(BEGIN) : text.index(END)] == "\n".join([BEGIN, *lines(results()), ""])


def test_each_scenario_is_redone_or_left_out_with_a_reason() -> None:
    assert [name for name, count in Counter(names()).items() if count > 1] == []
    left = [name for of_reason in LEFT_OUT.values() for name in of_reason.split()]
    assert Counter([*redone(), *left]) == Counter(names())
    assert set(left) == set(left_out())


def test_every_test_redoes_a_scenario_and_passes_on_both_brokers() -> None:
    assert all(made_tests().values())
    assert results() == {kind: dict.fromkeys(sorted(made_tests()), "passed") for kind in KINDS}


def test_what_did_not_pass_is_named() -> None:
    test = redone()["double_close_is_idempotent"][0].test
    everything = dict.fromkeys(made_tests(), "passed")
    (made,) = [line for line in lines({"ours": {**everything, test: "failed"}, "apache": {}}) if "pass on" in line]
    count = len(everything)
    assert f"{count - 1} of {count} tests pass on shareq: `{test}` failed; 0 of {count} tests pass on " in made
    assert f"`{test}` not run" in made


def test_what_is_left_out_is_counted_by_its_reason() -> None:
    made = lines(results())
    for why, scenarios in LEFT_OUT.items():
        assert f"* {why} ({len(scenarios.split())})" in made
