from __future__ import annotations

from itertools import product

import pytest

from shareq.broker.foundation.loop.coroutines import Begin, beginner, in_ticks
from shareq.cluster.link.leaders import PartitionLeader
from shareq.cluster.mirror import topics
from shareq.cluster.mirror.doubts import PROOF_MS, Doubt, Witness, judged
from shareq.cluster.mirror.topics import ABSENT_MS, AGE_MS, Found, TopicMirror
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.primitives import Message
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9
from tests.support.cluster.world import ClusterWorld


class Rig:
    def __init__(self, settings: ClusterSettings | None = None) -> None:
        self.world = ClusterWorld(settings)
        self.cluster, self.clock = self.world.cluster, self.world.clock
        begin: Begin = beginner(self.world.env.budget, in_ticks(self.clock.call_soon))
        self.mirror = TopicMirror(self.world.env, self.world.link, begin)
        self.news: list[tuple[str, str, int]] = []
        self.led: list[tuple[int, PartitionLeader | None]] = []
        self.mirror.on_topic_created(lambda image: self.news.append(("created", image.name, image.partitions)))
        self.mirror.on_topic_grown(lambda image, before: self.news.append(("grown", image.name, before)))
        self.mirror.on_topic_deleted(lambda image: self.news.append(("deleted", image.name, image.partitions)))
        self.mirror.on_leader(lambda topic, part: self.led.append((part, self.mirror.leader(topic, part))))

    def find(self, key: str | bytes) -> Found:
        return self.world.wait(self.mirror.find(key))

    def pass_ms(self, ms: int) -> None:
        self.clock.advance(ms)


def test_a_topic_is_mirrored_once_it_is_asked_for() -> None:
    rig = Rig()
    topic = rig.cluster.create_topic("orders", partitions=3)
    rig.cluster.create_topic("unasked")
    found = rig.find("orders")
    assert found == TopicImage("orders", topic.topic_id, 3)
    assert rig.mirror.topic("orders") == rig.mirror.topic_by_id(topic.topic_id) == found
    assert rig.mirror.topics() == [found]
    assert rig.news == [("created", "orders", 3)]
    assert [rig.mirror.leader(topic.topic_id, each) for each in range(3)] == [
        PartitionLeader(state.leader, state.epoch) for state in topic.partitions
    ]
    assert rig.mirror.cluster_id == rig.cluster.cluster_id


@pytest.mark.parametrize("settings", [ClusterSettings(), ClusterSettings(release=KAFKA_3_9)])
def test_by_id(settings: ClusterSettings) -> None:
    rig = Rig(settings)
    topic = rig.cluster.create_topic("orders")
    found = rig.find(topic.topic_id)
    assert isinstance(found, TopicImage)
    assert found.name == "orders"
    assert rig.find(b"?" * 16) is ErrorCode.UNKNOWN_TOPIC_ID


def test_a_part_of_the_broker_that_looks_a_topic_up_has_it_mirrored() -> None:
    rig = Rig()
    rig.cluster.create_topic("orders")
    assert rig.mirror.topic("orders") is None
    rig.pass_ms(1)
    assert rig.mirror.topic("orders") is not None


def test_a_topic_that_comes_later_is_news() -> None:
    rig = Rig()
    assert rig.find("orders") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    rig.cluster.create_topic("orders")
    rig.pass_ms(ABSENT_MS + 200)
    assert rig.news == [("created", "orders", 1)]


def test_growth_is_news_and_a_late_broker_does_not_shrink_a_topic() -> None:
    rig = Rig()
    topic = rig.cluster.create_topic("orders", partitions=1)
    rig.find("orders")
    for late in (2, 3):
        rig.cluster.hold_news(late)
    rig.cluster.controller.grow_topic("orders", 3)
    rig.pass_ms(4 * AGE_MS)
    image = rig.mirror.topic("orders")
    assert image is not None
    assert image.partitions == 3
    assert rig.news == [("created", "orders", 1), ("grown", "orders", 1)]
    assert rig.mirror.topic_by_id(topic.topic_id) == image


def test_own_topics_are_hidden() -> None:
    rig = Rig()
    topic = rig.cluster.create_topic("__shareq_state", partitions=2)
    found = rig.find("__shareq_state")
    assert isinstance(found, TopicImage)
    assert rig.mirror.known("__shareq_state") == found
    assert rig.mirror.topic("__shareq_state") is None
    assert rig.mirror.topic_by_id(topic.topic_id) is None
    assert rig.mirror.topics() == []
    assert rig.news == []
    assert rig.mirror.leader(topic.topic_id, 1) is not None


def test_leaders_follow_elections_once_what_is_known_is_said_to_be_out_of_date() -> None:
    rig = Rig()
    topic = rig.cluster.create_topic("orders", replication_factor=3)
    rig.find("orders")
    rig.cluster.elect("orders", 2)
    rig.mirror.refresh(topic.topic_id)
    rig.pass_ms(150)
    epoch = rig.cluster.topic("orders").partitions[0].epoch
    assert rig.led[-1] == (0, PartitionLeader(2, epoch))
    rig.mirror.learned(topic.topic_id, 0, PartitionLeader(1, epoch - 1))
    assert rig.mirror.leader(topic.topic_id, 0) == PartitionLeader(2, epoch)
    rig.mirror.learned(topic.topic_id, 0, PartitionLeader(3, epoch + 1))
    assert rig.led[-1] == (0, PartitionLeader(3, epoch + 1))


def test_a_deleted_topic_is_deleted_after_a_minute() -> None:
    rig = Rig()
    topic = rig.cluster.create_topic("orders")
    rig.find("orders")
    rig.cluster.controller.delete_topic("orders")
    rig.mirror.refresh(topic.topic_id)
    rig.pass_ms(PROOF_MS - 1)
    assert rig.mirror.topic("orders") is not None
    rig.pass_ms(2 * AGE_MS)
    assert rig.news[-1] == ("deleted", "orders", 1)
    assert rig.mirror.topic("orders") is None
    assert rig.mirror.leader(topic.topic_id, 0) is None


def test_a_topic_that_was_created_again_takes_the_name_when_the_first_is_proved_to_be_gone() -> None:
    rig = Rig()
    first = rig.cluster.create_topic("orders")
    rig.find("orders")
    rig.cluster.controller.delete_topic("orders")
    second = rig.cluster.create_topic("orders", partitions=4)
    rig.pass_ms(AGE_MS)
    image = rig.mirror.topic("orders")
    assert image is not None
    assert image.topic_id == first.topic_id
    rig.pass_ms(PROOF_MS + 2 * AGE_MS)
    image = rig.mirror.topic("orders")
    assert image is not None
    assert image.topic_id == second.topic_id
    assert rig.news == [("created", "orders", 1), ("deleted", "orders", 1), ("created", "orders", 4)]


def test_a_topic_that_may_not_be_described_is_never_taken_for_deleted() -> None:
    rig = Rig()
    topic = rig.cluster.create_topic("orders")
    rig.find("orders")
    rig.cluster.rights.deny(Resource.TOPIC, "orders", Operation.DESCRIBE)
    rig.mirror.refresh(topic.topic_id)
    rig.pass_ms(10 * PROOF_MS)
    assert rig.mirror.topic("orders") is not None
    assert rig.news == [("created", "orders", 1)]


def test_one_broker_that_does_not_know_a_topic_proves_nothing() -> None:
    """The other brokers are unreachable, and this one has learned nothing since its start."""
    rig = Rig()
    rig.cluster.hold_news(3)
    topic = rig.cluster.create_topic("orders", replication_factor=1)
    for broker in (1, 2):
        rig.world.link.know({broker: rig.cluster.addresses[broker]})
    rig.mirror.watch(TopicImage("orders", topic.topic_id, 1))
    rig.cluster.cut("node", 1, 2)
    rig.pass_ms(20 * PROOF_MS)
    assert rig.mirror.topic("orders") is not None
    assert rig.news == []
    rig.cluster.heal("node")
    rig.cluster.release_news(3)
    rig.pass_ms(5 * PROOF_MS)
    assert rig.mirror.topic("orders") is not None


def test_a_topic_from_before_is_watched_and_proved_to_be_deleted() -> None:
    rig = Rig()
    rig.mirror.watch(TopicImage("orders", b"o" * 16, 2))
    rig.pass_ms(PROOF_MS + AGE_MS)
    assert rig.news == [("deleted", "orders", 2)]


def test_who_waits_is_answered_when_the_mirror_closes_or_no_broker_answers() -> None:
    rig = Rig()
    rig.cluster.silence()
    assert rig.find("orders") is ErrorCode.REQUEST_TIMED_OUT
    waiting = rig.mirror.find("payments")
    rig.mirror.close()
    assert waiting.value is ErrorCode.REQUEST_TIMED_OUT
    assert rig.mirror.find("more").value is ErrorCode.REQUEST_TIMED_OUT


def test_a_listener_that_fails_keeps_nobody_else_from_hearing() -> None:
    rig = Rig()
    rig.cluster.create_topic("orders")
    heard: list[str] = []

    def fail(image: TopicImage) -> None:
        raise RuntimeError(image.name)

    rig.mirror.on_topic_created(fail)
    rig.mirror.on_topic_created(lambda image: heard.append(image.name))
    rig.find("orders")
    assert heard == ["orders"]


ID, OTHER = b"i" * 16, b"o" * 16
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("by_id", "by_name", "named_id", "denies"),
    [
        (ErrorCode.UNKNOWN_TOPIC_ID, UNKNOWN, None, True),
        (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NONE, OTHER, True),
        (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NONE, ID, False),
        (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, False),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, UNKNOWN, None, False),
        (ErrorCode.NONE, UNKNOWN, None, False),
    ],
)
def test_what_denies_a_topic(by_id: ErrorCode, by_name: ErrorCode, named_id: bytes | None, denies: bool) -> None:
    assert Witness(1, by_id, by_name, named_id).denies(ID) == denies


def test_what_proves_a_deletion() -> None:
    denial, doubt = Witness(1, ErrorCode.UNKNOWN_TOPIC_ID, UNKNOWN, None), Doubt(1, 1_000)
    assert judged(None, ID, denial, 1_000, 3) == doubt
    for node, after_ms, brokers in product((1, 2), (PROOF_MS - 1, PROOF_MS), (1, 3)):
        verdict = judged(doubt, ID, denial._replace(node=node), 1_000 + after_ms, brokers)
        proved = after_ms == PROOF_MS and (node == 2 or brokers == 1)
        assert verdict is True if proved else verdict == doubt
    assert judged(doubt, ID, Witness(2, ErrorCode.NONE, UNKNOWN, None), 2_000, 3) is None
    hidden = Witness(2, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
    assert judged(doubt, ID, hidden, 1_000 + 2 * PROOF_MS, 3) == doubt


def test_a_topic_whose_deletion_was_answered_is_gone_at_once_and_stays_so() -> None:
    """Late brokers still name the topic, but an id is never used again."""
    rig = Rig()
    topic = rig.cluster.create_topic("orders")
    rig.find("orders")
    for late in (1, 2, 3):
        rig.cluster.hold_news(late)
    rig.cluster.controller.delete_topic("orders")
    rig.mirror.deleted(topic.topic_id)
    assert rig.news[-1] == ("deleted", "orders", 1)
    assert rig.find("orders") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert rig.find(topic.topic_id) is ErrorCode.UNKNOWN_TOPIC_ID
    rig.pass_ms(2 * PROOF_MS)
    assert [what for what, *_ in rig.news] == ["created", "deleted"]


def test_another_topic_has_its_name_as_soon_as_there_is_one() -> None:
    rig = Rig()
    topic = rig.cluster.create_topic("orders")
    rig.find("orders")
    rig.cluster.controller.delete_topic("orders")
    again = rig.cluster.create_topic("orders", partitions=2)
    assert rig.find("orders") == TopicImage("orders", topic.topic_id, 1)
    rig.mirror.deleted(topic.topic_id)
    assert rig.find("orders") == TopicImage("orders", again.topic_id, 2)
    rig.mirror.deleted(b"?" * 16)
    assert rig.mirror.topic("orders") == TopicImage("orders", again.topic_id, 2)


def test_all_topics_are_asked_for_once_for_all_who_wait() -> None:
    rig = Rig(ClusterSettings(latency_ms=(5, 5)))
    for name in ("a", "b", "hidden"):
        rig.cluster.create_topic(name)
    answers = [rig.mirror.find_all(lambda name: name != "hidden") for _ in range(3)]
    assert [rig.world.wait(answer) for answer in answers] == [ErrorCode.NONE] * 3
    assert [image.name for image in rig.mirror.topics()] == ["a", "b"]
    rig.cluster.create_topic("c")
    rig.world.wait(rig.mirror.find_all(lambda _name: True))
    assert [image.name for image in rig.mirror.topics()] == ["a", "b", "c", "hidden"]


def test_the_list_of_all_topics_is_bounded(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Topics that are asked for by name are still mirrored."""
    monkeypatch.setattr(topics, "MOST_FOUND", 3)
    rig = Rig()
    for number in range(5):
        rig.cluster.create_topic(f"t{number}")
    rig.world.wait(rig.mirror.find_all(lambda _name: True))
    assert len(rig.mirror.topics()) == 3
    assert "3 topics are known, and no more are listed: topic t3 is not" in caplog.text
    assert isinstance(rig.find("t4"), TopicImage)


def test_who_waits_for_all_topics_is_answered_when_nobody_answers_or_the_node_stops() -> None:
    rig = Rig()
    for broker in (1, 2, 3):
        rig.cluster.kill(broker)
    assert rig.world.wait(rig.mirror.find_all(lambda _name: True)) is ErrorCode.REQUEST_TIMED_OUT
    waiting = rig.mirror.find_all(lambda _name: True)
    rig.mirror.close()
    assert waiting.value is ErrorCode.REQUEST_TIMED_OUT
    assert rig.mirror.find_all(lambda _name: True).value is ErrorCode.REQUEST_TIMED_OUT


def test_large_topics_are_asked_for_in_requests_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading an answer about 200 topics of 1,000 partitions would take a second."""
    monkeypatch.setattr(topics, "MOST_PARTITIONS", 10)
    rig = Rig()
    for number, partitions in enumerate((1, 4, 4, 30, 2, 8, 1)):
        rig.cluster.create_topic(f"t{number}", partitions)
        rig.find(f"t{number}")
    asked: list[int] = []
    send = rig.world.link.send

    def noted(node: int | None, message: Message, **how: object) -> object:
        assert isinstance(message, MetadataRequest)
        asked.append(sum(len(rig.cluster.topic(each.name or "").partitions) for each in message.topics or ()))
        return send(node, message, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(rig.world.link, "send", noted)
    for image in rig.mirror.topics():
        rig.mirror.refresh(image.topic_id)
    rig.pass_ms(1_000)
    assert asked == [9, 30, 10, 1]
