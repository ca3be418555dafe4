"""docs/cluster.md names existing tests only, and every property and option of a node."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from shareq.broker.config.keys.node import NodeProperties
from shareq.ops.cli.serve import command as serve
from shareq.protocol.config_def import declared, format_value
from tests.unit.docs.test_promises import names_in

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "cluster.md").read_text()
SHOWN_BY: Final = {
    "elsewhere, takes over when the first ends": (
        "tests/wire/test_node.py::test_a_second_node_goes_on_when_the_first_is_killed",
    ),
    "(0). `ARGS=--cluster=ours` needs no Java": ("tests/wire/test_demo_cluster.py::test_the_demo_with_fewer_flights",),
    "file with the properties of a Kafka client": (
        "tests/interop/test_nodes.py::test_nodes_before_a_cluster_behind_tls_and_a_login",
    ),
    "for the join, 1.5 s for the new assignment": (
        "tests/unit/cluster/membership/test_group.py::test_nodes_that_end_while_they_join_are_waited_for",
    ),
    "does the same with Apache Kafka (`KAFKA_VERSION=4.3.1 python -m tests.campaign.commit_sync": (
        "tests/interop/test_commit_sync_alone.py::test_a_silent_broker_is_waited_for_until_the_timeout",
        "tests/interop/test_commit_sync_alone.py::test_a_killed_broker_is_not_waited_for",
    ),
    "Both tested versions give `ok` throughout": (
        "tests/interop/test_nodes.py::test_a_trial_finds_what_nodes_need_and_leaves_nothing_behind",
    ),
    "its protocol; 3.9.1 and 4.3.1 are tested": (
        "tests/interop/test_nodes.py::test_what_one_node_confirmed_another_one_knows",
    ),
    "one that answers is enough, and a warning names the others": (
        "tests/wire/test_node.py::test_brokers_at_addresses_that_are_not_reached_are_named",
        "tests/unit/cluster/node/test_checks.py::test_some_brokers_are_enough_after_a_while",
    ),
    "cluster lacks, and the consequence": (
        "tests/unit/cluster/node/test_checks.py::test_an_api_that_is_too_old_is_named_with_what_it_means",
    ),
    "of the same name on both sides are two groups": (
        "tests/unit/cluster/node/test_checks.py::test_a_cluster_with_share_groups_of_its_own_is_a_warning",
    ),
    "many replicas as brokers, with a warning": (
        "tests/unit/cluster/node/test_checks.py::test_few_brokers_get_as_many_replicas_as_there_are_with_a_warning",
    ),
    "that cannot have them refuses the start": (
        "tests/unit/cluster/node/test_checks.py::test_replicas_that_the_operator_gave_are_not_made_fewer",
    ),
    "missing, with the command that grants them": (
        "tests/wire/test_node.py::test_what_a_node_says_at_its_start_gets_its_user_the_rights_that_it_needs",
        "tests/interop/test_nodes.py::test_apache_kafka_and_the_simulated_cluster_lead_to_the_same_lines",
    ),
    "configure [an authorizer](security.md) on the node": (
        "tests/frames/forwarding/test_forwarded.py::test_nothing_is_forwarded_without_the_rights_and_all_of_it_with_them",
    ),
    "transactions and other groups have a warning each": (
        "tests/unit/broker/config/test_broker_config.py::test_a_node_says_which_property_has_no_effect_on_it",
    ),
    "the node ends with one line and exit code 1": (
        "tests/wire/test_node.py::test_a_cluster_that_is_not_reached_is_one_line_with_its_addresses",
        "tests/wire/test_node.py::test_a_cluster_that_does_not_know_the_node_is_not_asked_again",
        "tests/wire/test_node.py::test_a_state_topic_that_loses_what_was_confirmed_refuses_the_start",
    ),
    "and exit code 1. A signal ends that wait": ("tests/wire/test_node.py::test_a_signal_ends_the_wait_for_a_cluster",),
    "slots, and waits 3 seconds at most until the others know": (
        "tests/wire/test_other_grounds.py::test_a_stop_waits_no_longer_for_others_than_it_must",
    ),
    "slots; a node that owns nothing is ready": (
        "tests/frames/node/test_node_metrics.py::test_a_node_is_ready_when_its_slots_are_served",
    ),
    "imports nothing that only a data folder needs": (
        "tests/unit/broker/process/test_start_imports.py::test_a_node_imports_nothing_that_only_a_data_folder_or_another_client_needs",
    ),
    "clients up for more than 20 ms at a time": (
        "tests/unit/cluster/state/test_long_loads.py::test_many_share_partitions",
    ),
}
"""The tests for sentences of the page outside of its tables, by the sentences' ends."""


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)
    assert len(named) == TEXT.count("`tests/") > 30
    for file, name in named:
        assert name in names_in(ROOT / file), f"{file} has no test {name}"


@pytest.mark.parametrize("said", SHOWN_BY)
def test_what_the_page_says_is_shown_by_tests(said: str) -> None:
    assert said in " ".join(TEXT.split())
    assert SHOWN_BY[said]
    for test in SHOWN_BY[said]:
        file, _, name = test.partition("::")
        assert name in names_in(ROOT / file), f"{file} has no test {name}"


def test_every_sentence_of_the_contract_is_shown_by_a_test() -> None:
    contract = TEXT.partition("## The contract")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in contract.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) > 10
    assert all("`tests/" in shown_by for _, _, shown_by, _ in rows)


def five_cells() -> list[list[str]]:
    return [cells for line in TEXT.splitlines() if len(cells := line.split("|")) == 5]


def test_every_property_of_nodes_is_there_with_its_default() -> None:
    rows = {name.strip(" `"): default.strip(" `") for _, name, _, default, _ in five_cells()}
    for key in declared(NodeProperties):
        assert rows[key.name] == (format_value(key.default) or "none"), key.name


def test_every_option_of_nodes_is_there() -> None:
    options = {name for each in serve.params for name in each.opts}
    named = set(re.findall(r"`(--[a-z-]+)", TEXT))
    assert {"--cluster", "--cluster-config", "--no-proxy"} <= named <= options
