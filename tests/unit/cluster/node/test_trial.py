from __future__ import annotations

import pytest

from devtools.clients.requests import batch
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.cluster.node.checks import Reached, reach
from shareq.cluster.node.options import Replication
from shareq.cluster.node.trial import Finding, Verdict, try_cluster
from shareq.protocol.generated.fetch import FetchRequest
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9, KAFKA_4_3, KafkaRelease
from tests.support.cluster.world import ClusterWorld

TOPIC = "shareq-check-x"
ALL_GOOD = [
    "3 broker(s) reached",
    "each append gets the offset that is due",
    "what was appended is read back as it was written",
    "what a deposed node writes is refused",
    "state topics can be pruned",
    "the nodes can share the work, as a group of their own protocol",
]


@pytest.fixture
def world() -> ClusterWorld:
    return ClusterWorld()


def tried(world: ClusterWorld) -> list[Finding]:
    begin = beginner(world.env.budget, in_ticks(world.clock.call_soon))
    cluster = world.wait(begin(reach(world.env, world.link)))
    assert isinstance(cluster, Reached)
    return world.wait(begin(try_cluster(world.env, world.link, cluster, Replication(3, 2, given=False), "x")))


def texts(found: list[Finding], verdict: Verdict) -> list[str]:
    return [each.text for each in found if each.verdict is verdict]


@pytest.mark.parametrize("release", [KAFKA_3_9, KAFKA_4_3])
def test_all_is_good_of_a_sound_cluster_and_nothing_is_left(release: KafkaRelease) -> None:
    world = ClusterWorld(ClusterSettings(release=release))
    found = tried(world)
    assert [text.partition(":")[0] for text in texts(found, Verdict.GOOD)] == ALL_GOOD
    assert len(found) == len(ALL_GOOD)
    assert not [name for name in world.cluster.controller.image.topics if name.startswith("shareq-check")]


def test_a_log_that_others_write_to_is_no_log_of_owners(world: ClusterWorld) -> None:
    send = world.link.send

    def disturbed(*arguments: object, **how: object) -> object:
        if type(arguments[1]).__name__ == "ProduceRequest" and world.cluster.log(TOPIC).high_watermark == 7:
            world.cluster.append(TOPIC, batch(b"x"))
        return send(*arguments, **how)  # type: ignore[arg-type]

    world.link.send = disturbed  # type: ignore[method-assign,assignment]
    found = tried(world)
    assert texts(found, Verdict.BAD) == ["an append got offset 8, 7 was due: owners would look alike"]
    assert "state topics can be pruned" not in texts(found, Verdict.GOOD)


def test_without_a_right_to_transactional_ids_nodes_work_and_lack_a_fence(world: ClusterWorld) -> None:
    world.cluster.rights.deny(Resource.TRANSACTIONAL_ID, f"{TOPIC}-0", Operation.WRITE)
    found = tried(world)
    assert texts(found, Verdict.BAD) == []
    (less,) = texts(found, Verdict.LESS)
    assert less.startswith("brokers do not refuse what a deposed node writes; readers skip it all the same")
    assert "state topics can be pruned" in texts(found, Verdict.GOOD)


def test_without_a_right_to_delete_records_state_topics_grow(world: ClusterWorld) -> None:
    world.cluster.rights.deny(Resource.TOPIC, TOPIC, Operation.DELETE)
    assert any(text.startswith("state topics cannot be pruned, and grow") for text in texts(tried(world), Verdict.LESS))


def test_without_a_group_nodes_cannot_work(world: ClusterWorld) -> None:
    world.cluster.rights.deny(Resource.GROUP, TOPIC, Operation.READ)
    assert "the nodes could not share the work: JoinGroup: GROUP_AUTHORIZATION_FAILED" in texts(
        tried(world), Verdict.BAD
    )


def test_an_answer_that_gets_lost_is_said(world: ClusterWorld) -> None:
    for broker in world.cluster.brokers:
        world.cluster.lose_answer(world.link.name, broker, FetchRequest)
    (bad,) = texts(tried(world), Verdict.BAD)
    assert bad.startswith(f"{TOPIC}-0: broker ")
