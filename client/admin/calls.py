"""Administrative requests: the choice of the broker for each (any one, the controller, or many at once), and retries.

Pure but for the `Network` it is given. Every call has default.api.timeout.ms in all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, TypeVar

from shareq.client.errors import BrokerError, ClientError, Unreachable, is_transient, understood
from shareq.client.network import Exchange, Network
from shareq.protocol.errors import ErrorCode, is_retriable
from shareq.protocol.primitives import Message

AT_ONCE: Final = 500
"""The most groups, partitions or transactional ids in one round of requests, which bounds our memory and the brokers'
work."""
TRANSACTION: Final = 1

K = TypeVar("K")
V = TypeVar("V")
M = TypeVar("M", bound=Message)

Outcome: TypeAlias = V | ClientError
"""The requested value, or the error that prevented it."""
Routes: TypeAlias = tuple[dict[int, list[K]], dict[K, ClientError]]
"""Keys by the node that answers for them, and errors of keys without a known node."""
Partition = tuple[str, int]
NONE_SILENT: Final[Mapping[int, str]] = {}


class KnownSum(NamedTuple):
    """The sum of the known values, None if there are none, and the number of unknown ones."""

    known: int | None
    unknown: int


def sum_known(values: Iterable[int | None]) -> KnownSum:
    """Return the sum of the known values, and the number of unknown ones."""
    given = list(values)
    known = [each for each in given if each is not None]
    return KnownSum(sum(known) if known or not given else None, len(given) - len(known))


def total(values: Iterable[int | None]) -> int | None:
    """Return the sum of the known values; None if none is known."""
    return sum_known(values).known


class Calls:
    """The sender of requests over a `Network`, with its rules on threads. `silent`: brokers that `each` does not ask,
    with the reason, which becomes the error of their keys.
    """

    def __init__(self, network: Network, *, silent: Mapping[int, str] = NONE_SILENT) -> None:
        self.network = network
        self._silent = silent

    # -- one request, one answer

    def any(self, request: Message, answers: type[M], what: str, *, min_version: int = 0) -> M:
        """Ask any broker. An error of the whole answer is tried again if that may help, else raised."""
        return self._ask(lambda _: None, request, answers, what, min_version)

    def controller(self, request: Message, answers: type[M], what: str) -> M:
        """Ask the controller, or, in a KRaft cluster, a broker that forwards the request to it."""
        return self._ask(lambda left_ms: self.network.controller(timeout_ms=left_ms), request, answers, what, 0)

    def node(self, node: int | None, request: Message, answers: type[M], what: str) -> M:
        """Ask this broker, or any broker if `node` is None."""
        return self._ask(lambda _: node, request, answers, what, 0)

    def _ask(
        self, where: Callable[[int], int | None], request: Message, answers: type[M], what: str, min_version: int
    ) -> M:
        tries = self.network.tries()
        while True:
            left_ms = tries.left_ms
            answer = self.network.request(where(left_ms), request, timeout_ms=left_ms, min_version=min_version)
            assert isinstance(answer, answers)
            code = getattr(answer, "error_code", ErrorCode.NONE)
            if not code:
                return answer
            error = BrokerError(code, what, getattr(answer, "error_message", None))
            if not is_retriable(code):
                raise error
            self.network.wait(tries, error)
            with contextlib.suppress(Unreachable):
                self.network.refresh([], timeout_ms=tries.left_ms)

    # -- the same question to all brokers

    def brokers(self, request: Message, answers: type[M], what: str) -> Iterator[M]:
        """Ask all brokers at once, and yield each answer. Raises the error of a failed broker, after retries."""
        for _, outcome in self.brokers_each(request, answers, what):
            if isinstance(outcome, ClientError):
                raise outcome
            yield outcome

    def brokers_each(
        self, request: Message, answers: type[M], what: str, nodes: Collection[int] | None = None
    ) -> Iterator[tuple[int, Outcome[M]]]:
        """Ask brokers as `brokers` does. Yield each node with its answer, or with the error in its place.

        `nodes`: only these.
        """

        def take(answer: Message, asked: Sequence[int]) -> dict[int, Outcome[M]]:
            assert isinstance(answer, answers)
            code = getattr(answer, "error_code", ErrorCode.NONE)
            return {asked[0]: BrokerError(code, what, getattr(answer, "error_message", None)) if code else answer}

        given = list(self.network.brokers() if nodes is None else nodes)
        routes: Callable[[Sequence[int], int], Routes[int]] = lambda left, _: ({node: [node] for node in left}, {})  # noqa: E731
        yield from self.each(given, routes, lambda _: request, take).items()

    def brokers_once(self, request: Message, answers: type[M], what: str, *, timeout_ms: int) -> dict[int, Outcome[M]]:
        """Ask all brokers once, each with this timeout; return the answers by node, with errors in the places of
        answers. Raises as `Network.brokers`, and UnsupportedApi.
        """
        found: dict[int, Outcome[M]] = {}
        asked: dict[int, Exchange] = {}
        for node in sorted(self.network.brokers()):
            try:
                asked[node] = self.network.submit(node, request, timeout_ms=timeout_ms)
            except Unreachable as error:
                found[node] = error
        self.network.collect(list(asked.values()))
        for node, exchange in asked.items():
            try:
                answer = exchange.result()
            except ClientError as error:
                found[node] = error
                continue
            assert isinstance(answer, answers)
            code = getattr(answer, "error_code", ErrorCode.NONE)
            found[node] = refused(code, what, getattr(answer, "error_message", None)) or answer
        return found

    # -- many keys, each of which some node answers for

    def each(
        self,
        keys: Iterable[K],
        routes: Callable[[Sequence[K], int], Routes[K]],
        ask: Callable[[list[K]], Message],
        take: Callable[[Message, list[K]], Mapping[K, Outcome[V]]],
        *,
        min_version: int = 0,
        max_version: int | None = None,
    ) -> dict[K, Outcome[V]]:
        """Ask each node for its keys, all at once; keys with an error that may pass are routed and asked again.

        `take` raises ClientError for the whole answer. Raises what `routes` does, and UnsupportedApi.
        """
        left = list(dict.fromkeys(keys))
        done: dict[K, Outcome[V]] = {}
        tries = self.network.tries()
        while left:
            by_node, failures = routes(left, tries.left_ms)
            asked: list[tuple[Exchange, list[K]]] = []
            for node, of_node in by_node.items():
                if node in self._silent:
                    done |= dict.fromkeys(of_node, ClientError(self._silent[node]))
                    continue
                try:
                    timeout_ms = min(tries.left_ms, self.network.config.request_timeout_ms)
                    exchange = self.network.submit(
                        node, ask(of_node), timeout_ms=timeout_ms, min_version=min_version, max_version=max_version
                    )
                    asked.append((exchange, of_node))
                except Unreachable as error:
                    failures |= dict.fromkeys(of_node, error)
            self.network.collect([exchange for exchange, _ in asked])
            for exchange, of_node in asked:
                _sort(exchange, of_node, take, done, failures)
            done |= {key: error for key, error in failures.items() if not _may_pass(error)}
            left = [key for key in left if key not in done]
            if left:
                try:
                    self.network.wait(tries, failures[left[0]])
                except ClientError as given_up:
                    return done | {key: failures[key] for key in left[1:]} | {left[0]: given_up}
        return done

    def each_group(
        self,
        groups: Iterable[str],
        ask: Callable[[list[str]], Message],
        take: Callable[[Message, list[str]], Mapping[str, Outcome[V]]],
        *,
        kind: int = 0,
        min_version: int = 0,
        max_version: int | None = None,
    ) -> dict[str, Outcome[V]]:
        """Call `each` by coordinator, for groups or for keys of another `kind` that have coordinators."""
        return self.each(groups, self.by_coordinator(kind), ask, take, min_version=min_version, max_version=max_version)

    def group(
        self,
        group: str,
        request: Message,
        answers: type[M],
        take: Callable[[M], Outcome[V]],
        *,
        kind: int = 0,
        max_version: int | None = None,
    ) -> V:
        """Ask the coordinator of one group, like `each_group`. Raises the error."""
        taken = answered(answers, lambda answer: {group: take(answer)})
        return only(self.each_group([group], lambda _: request, taken, kind=kind, max_version=max_version), group)

    # -- routes

    def by_coordinator(self, kind: int = 0) -> Callable[[Sequence[str], int], Routes[str]]:
        """Return the function that routes groups, or (kind 1) transactional ids, to their coordinators."""

        def routes(keys: Sequence[str], left_ms: int) -> Routes[str]:
            nodes: dict[int, list[str]] = {}
            failures: dict[str, ClientError] = {}
            for key, node in self.network.coordinators(keys, kind, timeout_ms=left_ms).items():
                if isinstance(node, ClientError):
                    failures[key] = node
                else:
                    nodes.setdefault(node, []).append(key)
            missing = set(keys).difference(failures, *nodes.values())
            return nodes, failures | {key: Unreachable(f"no broker named a coordinator of {key}") for key in missing}

        return routes

    def by_leader(self, partitions: Sequence[Partition], left_ms: int) -> Routes[Partition]:
        """Return the partitions by leader. Metadata that lacks a leader is requested again."""
        names = {name for name, _ in partitions}
        ids = self.network.topic_ids(names, timeout_ms=left_ms)
        nodes: dict[int, list[Partition]] = {}
        failures: dict[Partition, ClientError] = {}
        for partition in sorted(partitions):
            name, number = partition
            if name not in ids:
                failures[partition] = NotFound(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name}")
            elif (leader := self.network.leader(ids[name], number)) is not None:
                nodes.setdefault(leader, []).append(partition)
            elif number not in self.network.partitions(ids[name]):
                failures[partition] = NotFound(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {name}-{number}")
            else:
                failures[partition] = BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {name}-{number}")
        return nodes, failures

    def moved_leader(self, partitions: Sequence[Partition], left_ms: int) -> Routes[Partition]:
        """Route as `by_leader` does after an answer that named a wrong leader: ask for the topics first."""
        with contextlib.suppress(Unreachable):
            self.network.refresh({name for name, _ in partitions}, timeout_ms=left_ms)
        return self.by_leader(partitions, left_ms)

    def each_partition(
        self,
        partitions: Iterable[Partition],
        ask: Callable[[list[Partition]], Message],
        take: Callable[[Message, list[Partition]], Mapping[Partition, Outcome[V]]],
        *,
        min_version: int = 0,
        max_version: int | None = None,
    ) -> dict[Partition, Outcome[V]]:
        """Call `each` by leader: first by the known leaders, then by those that the cluster names."""
        rounds = 0

        def routes(keys: Sequence[Partition], left_ms: int) -> Routes[Partition]:
            nonlocal rounds
            rounds += 1
            return (self.by_leader if rounds == 1 else self.moved_leader)(keys, left_ms)

        return self.each(partitions, routes, ask, take, min_version=min_version, max_version=max_version)


class NotFound(BrokerError):
    """A topic or partition that the client itself found missing: asking again does not help."""


def answered(answers: type[M], take: Callable[[M], V]) -> Callable[[Message, object], V]:
    """Return the function that `Calls.each` calls: `take` for an answer of the right class."""

    def taken(answer: Message, _asked: object) -> V:
        assert isinstance(answer, answers)
        return take(answer)

    return taken


def _may_pass(error: ClientError) -> bool:
    return is_transient(error) and not isinstance(error, NotFound)


def _sort(
    exchange: Exchange,
    of_node: list[K],
    take: Callable[[Message, list[K]], Mapping[K, Outcome[V]]],
    done: dict[K, Outcome[V]],
    failures: dict[K, ClientError],
) -> None:
    """Put each key of an answer into `done` with its value, or into `failures` with its error."""
    try:
        answer = exchange.result()
        with understood():
            found = take(answer, of_node)
    except ClientError as error:
        failures |= dict.fromkeys(of_node, error)
        return
    for key in of_node:
        value = found.get(key)
        if value is None:
            failures[key] = Unreachable(f"a broker left out {key} that it was asked for")
        elif isinstance(value, ClientError):
            failures[key] = value
        else:
            done[key] = value


def refused(code: int, what: str, message: str | None = None) -> BrokerError | None:
    """Return the error of a row; None if it has none."""
    return BrokerError(code, what, message) if code else None


def batched(keys: Iterable[K], size: int = AT_ONCE) -> Iterator[list[K]]:
    """Yield keys in lists of at most `size`."""
    some: list[K] = []
    for key in keys:
        some.append(key)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some


def only(outcomes: Mapping[K, Outcome[V]], key: K) -> V:
    """Return the value of the one key that was asked for. Raises its error."""
    value = outcomes[key]
    if isinstance(value, ClientError):
        raise value
    return value
