"""The simulated cluster answers scripted requests like Apache Kafka in its transcripts of two releases."""

from __future__ import annotations

import pytest

from tests.support.cluster.versions import KafkaRelease
from tests.support.cluster_scripts import transcripts
from tests.support.cluster_scripts.scripts import SCRIPTS, Script
from tests.support.cluster_scripts.simulated import SimulatedKafka
from tests.support.each import for_each

RELEASES = pytest.mark.parametrize("release", transcripts.RELEASES, ids=lambda release: release.name)


@RELEASES
@for_each("script", SCRIPTS)
def test_it_answers_as_apache_kafka_has(release: KafkaRelease, script: Script) -> None:
    talk = transcripts.play(script, SimulatedKafka(release, script.setting))
    difference = transcripts.unlike(transcripts.read(script, release), transcripts.lines_of(talk.transcript))
    assert difference is None, f"{script.name} on {release.name}: {difference}"


@RELEASES
def test_every_transcript_has_its_script(release: KafkaRelease) -> None:
    assert transcripts.names(release) == {script.name for script in SCRIPTS}


def test_a_difference_is_shown_with_what_was_asked() -> None:
    assert transcripts.unlike(["a", "b"], ["a", "b"]) is None
    shown = transcripts.unlike(["a", "b", "c"], ["a", "b"])
    assert shown is not None
    assert "line 3, after b" in shown
    assert "(the end)" in shown
