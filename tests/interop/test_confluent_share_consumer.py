"""librdkafka's ShareConsumer (confluent-kafka): acknowledgement modes, several members, restarts and kills."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import AcknowledgeType, Message

from devtools.clients.admin import configure_group, produce, read_from_start
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.filled import filled_topic
from tests.interop.support.share_ledger import Ledger, members, mixed, run_until, run_until_settled

Unique = Callable[[str], str]


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_implicit_acknowledgement_takes_every_record_once(
    broker: BrokerUnderTest, unique: Unique, partitions: int
) -> None:
    """More than one partition: librdkafka then repeats topic ids within one ShareFetch."""
    topic, group = filled_topic(broker, unique, partitions, records=1000)
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger, decide=None) as joined:
        run_until_settled(joined, ledger, 1000, quiet_s=0.3)
    assert sorted(map(int, ledger.values.values())) == list(range(1000))
    assert all(counts == [1] for counts in ledger.counts.values())
    assert len(ledger.finished) == 1000


def test_implicit_acknowledgement_confirmed_by_closing(broker: BrokerUnderTest, unique: Unique) -> None:
    """The records of the last poll are accepted by `close`; the next member of the group gets none of them."""
    topic, group = filled_topic(broker, unique, 2, records=100)
    ledger, later = Ledger(), Ledger()
    with members(broker.bootstrap, group, topic, ledger, decide=None) as joined:
        run_until(joined, lambda: len(ledger.counts) == 100)
    produce(broker.bootstrap, topic, [(0, b"marker")])
    with members(broker.bootstrap, group, topic, later, decide=None) as joined:
        run_until(joined, lambda: len(later.counts) > 0)
    assert list(later.values.values()) == [b"marker"]


@pytest.mark.parametrize("partitions", [1, 2])
def test_explicit_accept_release_reject(broker: BrokerUnderTest, unique: Unique, partitions: int) -> None:
    """A released record comes again with delivery count 2, an accepted or rejected one never."""
    topic, group = filled_topic(broker, unique, partitions, records=300)
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger, decide=mixed) as joined:
        run_until_settled(joined, ledger, 300)
    expected = {place: [1, 2] if place[1] % 5 == 0 else [1] for place in ledger.counts}
    assert ledger.counts == expected
    assert ledger.released == {place for place in ledger.counts if place[1] % 5 == 0}
    rejected = {place for place, kind in ledger.finished.items() if kind is AcknowledgeType.REJECT}
    assert rejected == {place for place in ledger.counts if place[1] % 7 == 0 and place[1] % 5}
    assert len(ledger.finished) == 300
    assert not ledger.revived


def test_delivery_count_limit_ends_the_redelivery(broker: BrokerUnderTest, unique: Unique) -> None:
    """Five deliveries by default; a record released after the fifth is archived, the others are not held up."""
    topic, group = filled_topic(broker, unique, 1, records=20)
    ledger = Ledger()

    def release_the_third(message: Message) -> AcknowledgeType:
        return AcknowledgeType.RELEASE if message.offset() == 3 else AcknowledgeType.ACCEPT

    with members(broker.bootstrap, group, topic, ledger, decide=release_the_third) as joined:
        run_until(joined, lambda: len(ledger.finished) == 19 and len(ledger.counts[(0, 3)]) == 5)
        produce(broker.bootstrap, topic, [(0, b"marker")])
        run_until(joined, lambda: (0, 20) in ledger.finished)
    assert ledger.counts[(0, 3)] == [1, 2, 3, 4, 5]
    assert all(counts == [1] for place, counts in ledger.counts.items() if place != (0, 3))


def test_lower_delivery_count_limit_of_the_group(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = filled_topic(broker, unique, 1, records=5)
    configure_group(broker.bootstrap, group, {"share.delivery.count.limit": "2"})
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger, decide=lambda _: AcknowledgeType.RELEASE) as joined:
        run_until(joined, lambda: len(ledger.counts) == 5 and all(len(c) == 2 for c in ledger.counts.values()))
        produce(broker.bootstrap, topic, [(0, b"marker")])
        run_until(joined, lambda: (0, 5) in ledger.counts)
    assert all(ledger.counts[(0, offset)] == [1, 2] for offset in range(5))


def test_members_of_a_group_share_the_records(broker: BrokerUnderTest, unique: Unique) -> None:
    """Three members on two partitions: nobody gets a record that another one has."""
    topic, group = filled_topic(broker, unique, 2, records=100)
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger, count=3) as joined:
        run_until(joined, ledger.finished_at_least(100))
        for start in range(100, 10_000, 100):  # until everyone has joined and had something
            if all(member.got for member in joined):
                break
            produce(broker.bootstrap, topic, ((number % 2, b"%d" % number) for number in range(start, start + 100)))
            run_until(joined, ledger.finished_at_least(start + 100))
    assert all(member.got for member in joined)
    assert sum(len(member.got) for member in joined) == len(ledger.counts)
    assert all(counts == [1] for counts in ledger.counts.values())


def test_two_groups_each_get_everything(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = filled_topic(broker, unique, 2, records=100)
    read_from_start(broker.bootstrap, group + "-other")
    for name in (group, group + "-other"):
        ledger = Ledger()
        with members(broker.bootstrap, name, topic, ledger) as joined:
            run_until(joined, ledger.finished_at_least(100))
        assert len(ledger.values) == 100


def test_records_of_a_closed_member_go_to_the_next(broker: BrokerUnderTest, unique: Unique) -> None:
    """Closing releases what was acquired and not acknowledged: it comes again at once, counted as a second delivery."""
    topic, group = filled_topic(broker, unique, 1, records=50)
    first, second = Ledger(), Ledger()
    with members(broker.bootstrap, group, topic, first, decide=lambda _: None) as joined:
        while not joined[0].step():
            pass
    with members(broker.bootstrap, group, topic, second) as joined:
        run_until(joined, lambda: len(second.finished) == 50, timeout_s=20)
    assert first.counts
    assert second.counts == {(0, offset): [2 if (0, offset) in first.counts else 1] for offset in range(50)}


@pytest.mark.crash
@pytest.mark.parametrize("kill", [False, True], ids=["clean restart", "kill -9"])
def test_restart_loses_nothing_and_revives_nothing(broker: BrokerUnderTest, unique: Unique, kill: bool) -> None:
    """The broker is restarted three times under three members on three partitions."""
    records = 3000
    topic, group = filled_topic(broker, unique, 3, records, batch_records=20)
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger, count=3, decide=mixed, poll_records=40) as joined:
        for share, delay_s in ((10, 0.004), (4, 0.009), (2, 0.017)):
            run_until(joined, ledger.finished_at_least(records // share))
            broker.restart_while(lambda: [member.step(0.05) for member in joined], kill=kill, delay_s=delay_s)
        run_until_settled(joined, ledger, records, quiet_s=1.5)
    assert sorted(map(int, ledger.values.values())) == list(range(records)), "a record was lost"
    assert not ledger.revived, "a confirmed acknowledgement was forgotten"
    print(f"{ledger.cut_off} acknowledgements cut off, {len(ledger.unknown)} of them unknown: {ledger.errors}")


@pytest.mark.crash
def test_kill_keeps_delivery_counts_of_released_records(broker: BrokerUnderTest, unique: Unique) -> None:
    """A confirmed RELEASE outlasts kill -9: the next delivery continues the count."""
    topic, group = filled_topic(broker, unique, 2, records=20)
    ledger = Ledger()
    verdicts = [AcknowledgeType.RELEASE]
    with members(broker.bootstrap, group, topic, ledger, decide=lambda _: verdicts[-1]) as joined:
        run_until(joined, lambda: len(ledger.released) == 20)
        broker.restart(kill=True)
        verdicts.append(AcknowledgeType.ACCEPT)
        run_until(joined, lambda: len(ledger.finished) == 20)
    for place, counts in ledger.counts.items():
        assert len(counts) > 1, place
        assert counts == list(range(1, len(counts) + 1)), place
