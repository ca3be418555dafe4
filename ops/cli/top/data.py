"""The data of `shareq top`: samples of a cluster, and rates between two of them.

Lag and positions come over Kafka's protocol, from any cluster; deliveries, records in flight and their age from the
records API of shareq, if given. None means unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from fnmatch import fnmatchcase
from heapq import nsmallest
from typing import Annotated, Any, Final, NamedTuple

from shareq.client.admin import Admin
from shareq.client.admin.calls import Outcome, Partition, batched, sum_known
from shareq.client.admin.share_groups import SharePosition
from shareq.client.core.list_offsets import LATEST
from shareq.client.errors import ClientError, Unreachable
from shareq.ops.records_api import RecordsApi

PATIENCE_MS: Final = 2_000
"""The time in which each broker has to list its groups; one that does not is left out of the sample."""
MOST_GROUPS: Final = 1_000
MOST_PARTITIONS: Final = 50_000
"""The most share groups and begun partitions in one sample, since samples are taken every other second."""


class GroupSample(NamedTuple):
    """A share group. `lag` and `finished` (since the logs' beginning) count records, without the `unknown` partitions.

    The five values of the API are numbers of records, too; `oldest_ms` is when the oldest unfinished record was put in
    flight.
    """

    state: str
    members: int | None
    partitions: int
    lag: int | None
    unknown: int
    finished: int | None
    in_flight: int | None = None
    held: int | None = None
    acquired: int | None = None
    accepted: int | None = None
    redelivered: int | None = None
    oldest_ms: int | None = None


class Sample(NamedTuple):
    """A cluster at the time `at_s` (monotonic).

    `ends`: for each topic, the sum of its high watermarks. `now_ms` is the broker's time of day if the API reports it.
    `left_out` is the number of groups beyond the limit.
    """

    at_s: float
    groups: Mapping[str, GroupSample]
    ends: Mapping[str, int]
    now_ms: int | None
    left_out: int = 0
    nodes: Sequence[TopNodeRow] = ()
    api_problem: str | None = None


class TopGroupRow(NamedTuple):
    group: Annotated[str, "The share group."]
    state: Annotated[str, "Kafka's name of its state."]
    members: Annotated[int | None, "How many there are; null without the records API."]
    partitions: Annotated[int, "Partitions that it has begun."]
    lag: Annotated[int | None, "Records that are not done with, in all partitions whose lag is known; null if none is."]
    unknown: Annotated[int, "Partitions whose lag is not known."]
    lag_per_s: Annotated[float | None, "How fast the lag grows; null in the first sample, and while `unknown` changes."]
    in_flight: Annotated[
        int | None,
        "Offsets in flight, finished ones behind an unfinished one included; null without the records API.",
    ]
    held: Annotated[
        int | None, "Those of them that members have; null without the records API, or if there are too many to count."
    ]
    acquired_per_s: Annotated[float | None, "Records handed out, again included; null without the records API."]
    acknowledged_per_s: Annotated[
        float | None, "Records accepted; without the records API those done with, given up or not."
    ]
    redeliveries_per_s: Annotated[float | None, "Records handed out again; null without the records API."]
    oldest_ms: Annotated[int | None, "Age of the oldest unfinished record in flight; null without the records API."]


class TopTopicRow(NamedTuple):
    topic: Annotated[str, "The topic."]
    end: Annotated[int, "The sum of its high watermarks."]
    records_per_s: Annotated[float | None, "Records written; null in the first sample."]


class TopNodeRow(NamedTuple):
    node: Annotated[int, "Its node id."]
    address: Annotated[str, "Where other nodes reach it."]
    slots: Annotated[int | None, "Slots that it serves; null if it does not answer, as all that follows."] = None
    awaited: Annotated[int | None, "Slots that it is to own, and does not serve yet."] = None
    take_overs: Annotated[int | None, "Take-overs of slots since its start."] = None
    share_partitions: Annotated[int | None, "Share partitions in its memory."] = None
    in_flight: Annotated[int | None, "Offsets in flight in these."] = None
    problem: Annotated[str | None, "Why it does not answer."] = None


class TopRow(NamedTuple):
    seconds: Annotated[float | None, "Between the two samples that rates are of; null in the first one."]
    groups: Annotated[tuple[TopGroupRow, ...], "Share groups."]
    topics: Annotated[tuple[TopTopicRow, ...], "Topics that they have begun."]
    left_out: Annotated[int, "Groups beyond the first 1,000, those with members first."]
    nodes: Annotated[
        tuple[TopNodeRow, ...],
        "Nodes before a cluster, by the records API of one; brokers that do not answer, also without it.",
    ] = ()
    api_problem: Annotated[str | None, "Why the records API did not answer."] = None


class PartitionView(NamedTuple):
    """A share partition of the open group. Without the records API, its other fields are None."""

    topic: str
    partition: int
    start: int | None
    end: int | None
    lag: int | None
    in_flight: int | None = None
    held: int | None = None
    states: str | None = None
    oldest_ms: int | None = None


class MemberView(NamedTuple):
    """A member of the open group. `held`: the number of offsets that it holds; None without the records API."""

    member: str
    client: str
    host: str
    partitions: int
    held: int | None


def take(admin: Admin, api: RecordsApi | None, at_s: float, patterns: Sequence[str] = ()) -> Sample:
    """Return a sample of share groups, with `patterns` only those whose name matches one: at most `MOST_GROUPS`, those
    with members first, and no more once `MOST_PARTITIONS` are reached. Groups that vanish meanwhile are left out, as
    are those of brokers that do not answer.
    """
    if api is None:
        return _sample(admin, at_s, patterns, None, None)
    with ThreadPoolExecutor(1) as beside:  # it waits for nodes, as the requests over the wire do
        return _sample(admin, at_s, patterns, api, beside.submit(_nodes, api))


def _sample(
    admin: Admin,
    at_s: float,
    patterns: Sequence[str],
    api: RecordsApi | None,
    nodes: Future[list[TopNodeRow]] | None,
) -> Sample:
    listed, count, silent = _listed(admin, patterns)
    admin = admin.without(silent)
    positions: dict[str, dict[Partition, Outcome[SharePosition]]] = {}
    asked = begun = 0
    for some in batched(listed, 50):
        if begun >= MOST_PARTITIONS:
            break
        asked += len(some)
        for group, outcome in admin.share_groups.offsets(some):
            if not isinstance(outcome, ClientError):
                positions[group] = outcome
                begun += len(outcome)
    wanted = {partition for each in positions.values() for partition in each}
    found = admin.topics.offsets(dict.fromkeys(sorted(wanted), LATEST)) if wanted else {}
    ends = {each: one.offset or 0 for each, one in found.items() if not isinstance(one, ClientError)}
    groups = {group: _group(listed[group], each, ends) for group, each in positions.items()}
    known: list[TopNodeRow] = []
    now_ms = problem = None
    if api is not None and nodes is not None:
        try:
            now_ms = _add_api(groups, api)
            known = nodes.result()
        except Unreachable as error:
            problem = str(error)
    sums: dict[str, int] = {}
    for (topic, _), end in ends.items():
        sums[topic] = sums.get(topic, 0) + end
    seen = _with_silent(known, admin, silent)
    return Sample(at_s, groups, sums, now_ms, left_out=count - asked, nodes=seen, api_problem=problem)


def _listed(admin: Admin, patterns: Sequence[str]) -> tuple[dict[str, str], int, dict[int, str]]:
    """Return the states of at most `MOST_GROUPS` groups, the number of all groups, and the brokers that do not answer,
    with the reason.
    """
    count = 0
    found, failed = admin.groups.found_soon(("share",), timeout_ms=PATIENCE_MS)

    def rows() -> Iterator[tuple[bool, str, str]]:
        nonlocal count
        for row in found:
            if not patterns or any(fnmatchcase(row.group_id, each) for each in patterns):
                count += 1
                yield row.state == "Empty", row.group_id, row.state

    listed = {name: state for _, name, state in nsmallest(MOST_GROUPS, rows())}
    return listed, count, {node: str(error) for node, error in failed.items()}


def _group(
    state: str, positions: Mapping[Partition, Outcome[SharePosition]], ends: Mapping[Partition, int]
) -> GroupSample:
    lags = {each: None if isinstance(one, ClientError) else one.lag for each, one in positions.items()}
    lag, unknown = sum_known(lags.values())
    finished = sum(ends[each] - behind for each, behind in lags.items() if behind is not None and each in ends)
    return GroupSample(state, None, len(positions), lag, unknown, None if lag is None else finished)


def _add_api(groups: dict[str, GroupSample], api: RecordsApi) -> int:
    last = max(groups, default="")
    for row in api.groups(behind=min(groups, default="")[:-1]):
        if row["group"] > last:
            break
        sample = groups.get(row["group"])
        if sample is not None:
            groups[row["group"]] = sample._replace(
                members=row["members"],
                in_flight=row["in_flight"],
                held=row.get("held"),
                acquired=row["deliveries"],
                accepted=row["accepted"],
                redelivered=row["redeliveries"],
                oldest_ms=row["oldest_in_flight_ms"],
            )
    now_ms: int = api.about()["at_ms"]
    return now_ms


def _nodes(api: RecordsApi) -> list[TopNodeRow]:
    names = {"node": "node_id", **{name: name for name in TopNodeRow._fields[1:]}}
    return [TopNodeRow(**{field: row[name] for field, name in names.items()}) for row in api.nodes()]


def _with_silent(known: Sequence[TopNodeRow], admin: Admin, silent: Mapping[int, str]) -> list[TopNodeRow]:
    """Return the rows of nodes, with one for each broker that did not answer."""
    rows = {row.node: row for row in known}
    addresses = admin.network.core.known_brokers
    for node, problem in silent.items():
        row = rows.get(node) or TopNodeRow(node, str(addresses.get(node, "")))
        rows[node] = row if row.problem else row._replace(problem=problem)
    return [rows[node] for node in sorted(rows)]


def rates(before: Sample | None, now: Sample) -> TopRow:
    """Return the rows of a sample, with rates since the previous one."""
    seconds = None if before is None else now.at_s - before.at_s
    old_groups = {} if before is None else before.groups
    old_ends = {} if before is None else before.ends
    groups = [_group_row(name, old_groups.get(name), each, seconds, now.now_ms) for name, each in now.groups.items()]
    topics = [TopTopicRow(name, end, _rate(old_ends.get(name), end, seconds)) for name, end in now.ends.items()]
    found = tuple(sorted(groups)), tuple(sorted(topics))
    return TopRow(seconds, *found, now.left_out, tuple(now.nodes), now.api_problem)


def _group_row(
    name: str, old: GroupSample | None, new: GroupSample, seconds: float | None, now_ms: int | None
) -> TopGroupRow:
    def rate(field: str) -> float | None:
        return _rate(None if old is None else getattr(old, field), getattr(new, field), seconds)

    same = old is not None and old.unknown == new.unknown  # else it is a difference of sums over other partitions
    by_wire = rate("finished") if same else None
    done = by_wire if new.accepted is None else rate("accepted")
    age_ms = None if new.oldest_ms is None or now_ms is None else max(0, now_ms - new.oldest_ms)
    return TopGroupRow(
        group=name,
        state=new.state,
        members=new.members,
        partitions=new.partitions,
        lag=new.lag,
        unknown=new.unknown,
        lag_per_s=rate("lag") if same else None,
        in_flight=new.in_flight,
        held=new.held,
        acquired_per_s=rate("acquired"),
        acknowledged_per_s=done,
        redeliveries_per_s=rate("redelivered"),
        oldest_ms=age_ms,
    )


def _rate(old: int | None, new: int | None, seconds: float | None) -> float | None:
    if old is None or new is None or not seconds:
        return None
    return round((new - old) / seconds, 3)


def look_into(admin: Admin, api: RecordsApi | None, group: str) -> tuple[list[PartitionView], list[MemberView]]:
    """Return the partitions and members of one group; none if it does not exist."""
    rows: dict[Partition, PartitionView] = {}
    for _, outcome in admin.share_groups.offsets([group]):
        positions = {} if isinstance(outcome, ClientError) else outcome
        ends = admin.topics.offsets(dict.fromkeys(positions, LATEST)) if positions else {}
        for each, one in positions.items():
            start, lag = (None, None) if isinstance(one, ClientError) else (one.start, one.lag)
            end = ends[each]
            rows[each] = PartitionView(*each, start, None if isinstance(end, ClientError) else end.offset, lag)
    held: dict[str, int] = {}
    if api is not None:
        try:
            _add_windows(rows, held, api.partitions(group))
        except ClientError:
            held = {}  # the group has ended: what the wire says is shown
    members = [
        MemberView(
            one.member_id,
            one.client_id,
            one.host,
            sum(map(len, one.assignment.values())),
            None if api is None else held.get(one.member_id, 0),
        )
        for _, found in admin.share_groups.describe([group])
        if not isinstance(found, ClientError)
        for one in found.members
    ]
    return [rows[each] for each in sorted(rows)], members


def _add_windows(
    rows: dict[Partition, PartitionView], held: dict[str, int], windows: Iterable[Mapping[str, Any]]
) -> None:
    for window in windows:
        for member, count in window["held"].items():
            held[member] = held.get(member, 0) + count
        place = window["topic"], window["partition"]
        if place in rows:
            states = " ".join(f"{state}:{count}" for state, count in window["states"].items())
            rows[place] = rows[place]._replace(
                in_flight=window["in_flight"],
                held=sum(window["held"].values()),
                states=states or None,
                oldest_ms=window["oldest_age_ms"],
            )
