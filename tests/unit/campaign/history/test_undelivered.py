"""Records that a share group stops delivering: which fetches without an answer can explain it."""

from __future__ import annotations

from tests.campaign.history.anomalies import Analysis
from tests.campaign.history.checker import check
from tests.campaign.history.operations import (
    AckType,
    Acquired,
    Drained,
    Killed,
    Operation,
    Outcome,
    Record,
    ShareDrained,
    ShareReset,
    ShareStart,
)
from tests.unit.campaign.history.story import RULES, SECOND, A, Story

LIMIT = RULES["g"].delivery_limit


def begun(*, handed: int) -> Story:
    """Return a story with a record that was delivered `handed` times, and released each time as its session ended."""
    story = Story()
    story.send("p", A, "a0", base=0)
    for times in range(1, handed + 1):
        hand_out(story, times)
    return story


def hand_out(story: Story, times: int) -> None:
    story.deliver("m", A, (0, times, "a0"))
    story.answer("m", A, 0, AckType.RELEASE)


def cut_off(story: Story, *members: str) -> None:
    for member in members:
        story.add(member, Acquired("g", member, ()), Outcome.INFO)


def kill(story: Story) -> None:
    story.add("nemesis", Killed())


def undelivered(story: Story) -> list[str]:
    """Return the checker's findings on the record after a drain that did not get it."""
    story.add("drain", Drained(A, 0, 1, (Record(A, "a0", 0),)))
    story.add("drain", ShareDrained("g", A))
    found = check(story.history())
    assert {one.analysis for one in found} <= {Analysis.UNDELIVERED}
    return [one.text for one in found]


def test_limit_of_deliveries_that_were_seen_explains_it() -> None:
    assert undelivered(begun(handed=LIMIT)) == []
    assert undelivered(begun(handed=LIMIT - 1))


def test_several_fetches_that_were_cut_off_explain_it_together() -> None:
    story = begun(handed=LIMIT - 2)
    cut_off(story, "m", "n")
    kill(story)
    assert undelivered(story) == []


def test_fetches_that_different_kills_cut_off_explain_it_together() -> None:
    story = begun(handed=LIMIT - 2)
    for _ in range(2):
        cut_off(story, "m")
        kill(story)
    assert undelivered(story) == []


def test_fewer_fetches_that_were_cut_off_do_not_explain_it() -> None:
    story = begun(handed=LIMIT - 2)
    cut_off(story, "m")
    kill(story)
    assert undelivered(story)


def test_record_that_was_never_seen_needs_as_many_fetches_as_the_limit() -> None:
    for count, explained in ((LIMIT - 1, False), (LIMIT, True)):
        story = begun(handed=0)
        cut_off(story, *["m"] * count)
        kill(story)
        assert (undelivered(story) == []) is explained


def test_fetch_that_was_cut_off_before_the_last_delivery_is_in_its_count() -> None:
    story = begun(handed=0)
    cut_off(story, "m", "n")
    kill(story)
    hand_out(story, 1)
    assert undelivered(story), "the broker that they asked was dead when the count was seen to be 1"


def test_fetch_under_way_at_the_last_delivery_may_come_after_it() -> None:
    story = begun(handed=0)
    cut_off(story, "n", "o")
    hand_out(story, 1)
    kill(story)
    assert undelivered(story) == []


def test_fetch_that_was_over_before_the_record_was_written_does_not_explain_it() -> None:
    story = Story()
    cut_off(story, *["m"] * LIMIT)
    kill(story)
    story.send("p", A, "a0", base=0)
    assert undelivered(story)


def test_fetches_of_another_group_do_not_explain_it() -> None:
    story = begun(handed=LIMIT - 1)
    story.add("m", Acquired("other", "m", ()), Outcome.INFO)
    kill(story)
    assert undelivered(story)


def test_count_that_a_kill_took_back_counts_from_the_last_delivery() -> None:
    """The limit had been reached without an answer, and the record came again after the kill.

    It must then be delivered until it is finished.
    """
    story = Story()
    story.send("p", A, "a0", base=0)
    story.deliver("m", A, (0, LIMIT, "a0"))
    kill(story)
    story.deliver("m", A, (0, 1, "a0"))
    assert undelivered(story)


def test_record_that_an_administrator_skipped_need_not_come() -> None:
    story = begun(handed=0)
    story.add("admin", ShareReset("g", A, 1))
    assert undelivered(story) == []


def test_answer_whose_outcome_is_unknown_may_have_ended_it() -> None:
    story = begun(handed=0)
    story.deliver("m", A, (0, 1, "a0"))
    story.answer("m", A, 0, AckType.REJECT, Outcome.INFO)
    assert undelivered(story) == []


def test_anomaly_reports_the_record_s_way_through_the_group() -> None:
    story = Story()
    story.send("p", A, "a0", base=0)
    cut_off(story, "early")
    kill(story)
    hand_out(story, 1)
    story.answer("m", A, 0, AckType.GAP)
    cut_off(story, "late")
    story.add("admin", ShareStart("g", A, 0))
    kill(story)
    (text,) = undelivered(story)
    for part in (
        "g, Place(topic='logs', partition=0) at 0: a0; at most 2 of 3 deliveries",
        "2 fetches of the group cut off in all",
        "+1500.0 ms m got it x1; +2000.0 ms m said RELEASE (ok); +2500.0 ms m said GAP (ok)",
        "+3000.0 ms late was cut off; +3500.0 ms start 0; +4000.0 ms kill",
    ):
        assert part in text, text


def test_fetches_that_are_sent_while_the_broker_is_killed_end_with_it() -> None:
    story = begun(handed=0)
    sent = story.now
    for member in ("m", "n"):
        story.operations.append(Operation(member, sent, None, Outcome.INFO, Acquired("g", member, ())))
    story.operations.append(Operation("nemesis", sent - 10, sent + 10, Outcome.OK, Killed()))
    story.now += SECOND
    hand_out(story, 1)
    assert undelivered(story), "both were over when the record came"
