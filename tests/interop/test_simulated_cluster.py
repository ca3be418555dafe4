"""The simulated cluster compared with Apache Kafka 3.9.1 and 4.3.1: the same scripts must get the same answers.

`tests/unit/support/cluster/test_scripts.py` runs them on the simulated cluster and compares with the transcripts; this
module asks real brokers again. With `--update-transcripts` their answers become the transcripts.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from devtools.kafka import apache_kafka
from tests.support.cluster.versions import KafkaRelease
from tests.support.cluster_scripts import transcripts
from tests.support.cluster_scripts.apache import ApacheCluster
from tests.support.cluster_scripts.conversation import Setting
from tests.support.cluster_scripts.fields import GONE, IGNORED, SORTED
from tests.support.cluster_scripts.scripts import SCRIPTS

pytestmark = pytest.mark.interop


class _Brokers:
    def __init__(self, release: KafkaRelease, stack: ExitStack) -> None:
        self.release = release
        self._stack = stack
        self._started: dict[Setting, ApacheCluster] = {}

    def of(self, setting: Setting) -> ApacheCluster:
        found = self._started.get(setting)
        if found is None:
            folder = apache_kafka.unused_folder("simulated-cluster")
            self._stack.callback(shutil.rmtree, folder)
            found = self._started[setting] = ApacheCluster(folder, self.release, setting)
            self._stack.callback(found.stop)
        found.new_script()
        return found


@pytest.fixture(params=transcripts.RELEASES, ids=lambda release: release.name)
def brokers(request: pytest.FixtureRequest) -> Iterator[_Brokers]:
    release: KafkaRelease = request.param
    missing = apache_kafka.why_unavailable(release.name)
    if missing is not None:
        pytest.skip(missing)
    with ExitStack() as stack:
        yield _Brokers(release, stack)


def test_apache_kafka_answers_as_its_transcripts_say(brokers: _Brokers, pytestconfig: pytest.Config) -> None:
    """All scripts run on one broker: transcripts omit other topics, groups and ids."""
    unlike: list[str] = []
    ignored: Counter[str] = Counter()
    answers = 0
    for script in SCRIPTS:
        talk = transcripts.play(script, brokers.of(script.setting))
        lines = transcripts.lines_of(talk.transcript)
        ignored += talk.plainly.ignored
        answers += len(lines) // 2
        if pytestconfig.getoption("--update-transcripts"):
            transcripts.write(script, brokers.release, lines)
        elif (difference := transcripts.unlike(transcripts.read(script, brokers.release), lines)) is not None:
            unlike.append(f"{script.name}: {difference}")
    print(f"\nApache Kafka {brokers.release.name}: {len(SCRIPTS)} scripts, {answers} answers; not compared:")
    for field, count in sorted(ignored.items()):
        print(f"{count:5} {field}: {IGNORED.get(field) or next(iter(GONE.values()))}")
    for path, (_, reason) in sorted(SORTED.items()):
        print(f"      order of {path}: {reason}")
    assert not unlike, "\n".join(unlike)


def test_apache_kafka_offers_these_versions(brokers: _Brokers) -> None:
    offered = brokers.of(Setting.PLAIN).offered
    assert {api: offered[api] for api in brokers.release.apis} == dict(brokers.release.apis)
