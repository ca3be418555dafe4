from __future__ import annotations

from tests.support.clients.share_client import REJECT
from tests.support.worlds.dead_letters import QUEUE, DeadLetterWorld
from tests.support.worlds.metrics import scraped

NAMES = {
    "records": "kafka_server_share_group_metrics_dead_letter_queue_records_total",
    "requests": "kafka_server_share_group_metrics_dead_letter_queue_total_produce_requests_total",
    "failed": "kafka_server_share_group_metrics_dead_letter_queue_failed_produce_requests_total",
    "waiting": "shareq_dead_letters_waiting",
    "lost": "shareq_dead_letters_lost_total",
    "refused": "shareq_dead_letters_refused_total",
    "bare": "shareq_dead_letters_without_content_total",
    "retries": "shareq_dead_letter_retries_total",
}


def counts(world: DeadLetterWorld) -> dict[str, float]:
    reported = scraped(world.world)
    return {short: value for short, name in NAMES.items() if (value := reported.value(name, group="g"))}


def test_a_group_without_dead_letters_has_no_row() -> None:
    world = DeadLetterWorld()
    world.produce(b"v")
    world.take()
    reported = scraped(world.world)
    assert [reported.labels_of(name) for name in NAMES.values()] == [[]] * len(NAMES)


def test_written_letters() -> None:
    world = DeadLetterWorld()
    world.produce(*[b"v"] * 3)
    world.take()
    world.end(REJECT, 0, 2)
    assert counts(world) == {"records": 3, "requests": 1}


def test_letters_that_the_queue_does_not_take() -> None:
    world = DeadLetterWorld()
    world.world.create_topic(QUEUE, 1, errors_deadletterqueue_group_enable="true", max_message_bytes="150")
    world.produce(*[b"v"] * 3)
    world.take()
    world.end(REJECT, 0, 2)
    assert counts(world) == {"requests": 3, "failed": 3, "lost": 3}


def test_a_queue_that_may_not_be_used_is_sent_nothing() -> None:
    world = DeadLetterWorld(creates=False)
    world.produce(*[b"v"] * 3)
    world.take()
    world.end(REJECT, 0, 2)
    assert counts(world) == {"lost": 3}


def test_dead_records_that_wait() -> None:
    world = DeadLetterWorld(creates=False, shareq_dlq_keep="true")
    world.produce(*[b"v"] * 3)
    world.take()
    world.end(REJECT, 0, 2)
    world.settle(3_000)
    assert counts(world) == {"waiting": 3, "retries": 2}


def test_letters_without_content() -> None:
    world = DeadLetterWorld(shareq_dlq_keep="true")
    world.world.create_topic(QUEUE, 1, errors_deadletterqueue_group_enable="true", max_message_bytes="1000")
    world.produce(b"v", b"x" * 900)
    world.take()
    world.end(REJECT, 0, 1)
    assert counts(world) == {"records": 2, "requests": 3, "failed": 1, "bare": 1}
