from __future__ import annotations

from shareq.protocol.records.batch import Headers, Record
from tests.campaign.dlq_kills.judge import Group, Redriven, Source, judge, judge_redrive
from tests.campaign.dlq_kills.ledger import Ledger
from tests.campaign.member import RELEASE
from tests.campaign.order_kills.judge import ACCEPT, REJECT, Place

PLAIN = Group("g", 2, copies=True, keeps=False)
KEPT = Group("g", 2, copies=True, keeps=True)
OWN: Headers = (("own", b"1"),)
RECORD = Record(0, 5_000, b"k", b"v", OWN)
SOURCE = Source({(0, 0): RECORD}, aborted=(), markers=((0, 1),))
SIX = (
    ("__dlq.errors.topic", b"t"),
    ("__dlq.errors.partition", b"0"),
    ("__dlq.errors.offset", b"0"),
    ("__dlq.errors.group", b"g"),
    ("__dlq.errors.delivery.count", b"1"),
    ("__dlq.errors.message", b"Offset rejected by client."),
)
DISPOSITION = (("__dlq.errors.disposition", b"CLIENT_REJECTED"), ("__dlq.errors.timestamp", b"12000"))
LETTER = Record(0, 12_000, b"k", b"v", SIX)


def ledger(*said: tuple[int, bool | None], place: Place = (0, 0)) -> Ledger:
    one = Ledger()
    for count, (kind, accepted) in enumerate(said, 1):
        one.has_handed_out(place, count)
        one.delivered("m", place, count, 0.0, 1.0)
        one.sends(place, kind)
        if accepted is not None:
            one.answered(place, kind, accepted)
    return one


def broken(one: Ledger, *letters: Record, group: Group = PLAIN, source: Source = SOURCE) -> list[str]:
    return judge(group, "t", one, source, letters, [10_000, 20_000]).broken


def test_what_was_rejected_and_has_a_letter_is_right() -> None:
    assert broken(ledger((REJECT, True)), LETTER) == []
    kept = LETTER._replace(timestamp=5_000, headers=(*OWN, *SIX, *DISPOSITION))
    assert broken(ledger((REJECT, None)), kept, group=KEPT) == []


def test_what_is_lost_is_noticed() -> None:
    assert broken(ledger((REJECT, True))) == ["g: (0, 0) is rejected, and has no letter"]
    assert "a rejection was sent" in broken(ledger((REJECT, None)))[0]
    for one in (Ledger(), ledger((RELEASE, True), (RELEASE, True)), ledger((ACCEPT, False))):
        assert broken(one) == ["g: (0, 0) is lost: neither accepted nor dead-lettered"]
    assert broken(ledger((ACCEPT, None))) == []


def test_a_queue_that_refuses_costs_the_letters_of_dead_records_alone() -> None:
    refused = PLAIN._replace(has_trouble=True)
    for dead in (ledger((REJECT, True)), ledger((REJECT, None)), ledger((RELEASE, True), (RELEASE, None))):
        assert broken(dead, group=refused) == []
        assert broken(dead, group=refused._replace(keeps=True)) != []
    unseen = ledger((RELEASE, True))
    unseen.has_handed_out((0, 0), 2)
    assert broken(unseen, group=refused) == []
    for alive in (Ledger(), ledger((RELEASE, True)), ledger((ACCEPT, False))):
        assert broken(alive, group=refused) == ["g: (0, 0) is lost: neither accepted nor dead-lettered"]
    assert broken(ledger((ACCEPT, True)), LETTER, group=refused) != []
    assert "after the answer that it is rejected" in broken(ledger((REJECT, True), (ACCEPT, None)), group=refused)[0]


def test_an_accepted_record_with_a_letter_and_one_that_comes_again_are_noticed() -> None:
    assert broken(ledger((ACCEPT, True)), LETTER)[-1] == "g: (0, 0) is accepted, and has a letter"
    assert "after the answer that it is accepted" in broken(ledger((ACCEPT, True), (ACCEPT, True)))[0]
    assert "after the answer that it is rejected" in broken(ledger((REJECT, True), (ACCEPT, None)), LETTER)[0]


def test_letters_of_nothing_and_with_other_contents_are_noticed() -> None:
    rejected = ledger((REJECT, True))
    assert "which nobody did" in broken(ledger((RELEASE, True)), LETTER)[0]
    assert "in place of" in broken(rejected, LETTER._replace(value=b"w"))[0]
    assert "has headers" in broken(rejected, LETTER._replace(headers=(*OWN, *SIX)))[0]
    assert "is of 12000" in broken(rejected, LETTER._replace(headers=(*OWN, *SIX, *DISPOSITION)), group=KEPT)[0]
    exceeded = (*SIX[:5], ("__dlq.errors.message", b"Offset delivery count exceeded the threshold."))
    assert "says" in broken(ledger((RELEASE, True)), LETTER._replace(headers=exceeded))[0]
    elsewhere = LETTER._replace(headers=(*SIX[:2], ("__dlq.errors.offset", b"7"), *SIX[3:]))
    assert "is of no record" in broken(rejected, LETTER, elsewhere)[0]
    aborted = SOURCE._replace(aborted=((0, 0),))
    assert (
        "is of an aborted record" in broken(rejected, LETTER, group=PLAIN._replace(committed=True), source=aborted)[0]
    )


def test_two_letters_are_of_two_lives_of_the_broker() -> None:
    rejected = ledger((REJECT, True))
    assert broken(rejected, LETTER, LETTER._replace(timestamp=21_000)) == []
    assert broken(rejected, LETTER, LETTER._replace(timestamp=19_000)) != []


REDRIVE = Redriven("again", "dlq.g", 0, 0, 1, to_group=False, answered=True)


def back(offset: int) -> Record:
    headers = (("__redrive.name", b"again"), ("__redrive.queue.offset", b"%d" % offset))
    return Record(offset, 0, None, b"v", headers)


def test_letters_that_are_lost_or_go_back_twice_are_noticed() -> None:
    letters = [LETTER, LETTER._replace(offset=1), LETTER._replace(offset=2)]

    def verdict(state: str, *found: Record, redrive: Redriven = REDRIVE) -> list[str]:
        return judge_redrive(redrive, state, lambda _queue, _partition: letters, found)

    assert verdict("DONE", back(0), back(1)) == []
    assert "[1] of dlq.g-0 are lost" in verdict("DONE", back(0))[0]
    assert "[1] went back too often" in verdict("DONE", back(0), back(1), back(1))[0]
    assert "[2] went back too often" in verdict("DONE", back(0), back(1), back(2))[0]
    assert verdict("RUNNING", back(0)) == ["again is RUNNING"]
    assert verdict("") == ["again is unknown"]
    assert verdict("", redrive=REDRIVE._replace(answered=False)) == []
