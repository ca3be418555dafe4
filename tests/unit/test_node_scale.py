"""The figures about many nodes in docs/cluster.md, which are computed again."""

from __future__ import annotations

from bench.node_scale import BEGIN, END, MOST_BYTES, Scale, lines, most_nodes
from devtools.kafka.apache_kafka import ROOT


def test_the_document_has_the_figures_of_today() -> None:
    text = (ROOT / "docs" / "cluster.md").read_text()
    assert text.partition(BEGIN)[2].partition(END)[0].strip().splitlines() == lines()


def test_the_most_nodes_are_the_last_whose_record_has_room() -> None:
    most = most_nodes(48)
    assert Scale(most, 48).record_bytes() <= MOST_BYTES < Scale(most + 1, 48).record_bytes()


def test_a_restart_moves_what_the_node_held_and_its_part_back() -> None:
    scale = Scale(3, 48)
    moves = scale.restart_all()
    assert moves == [32] * 6
