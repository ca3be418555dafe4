"""The pytest plugin of the distribution: brokers by fixture, settings by marker, logs beside a failure."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from shareq.testing.broker import Broker

MODES: Final = ("process", "thread", "command")
LOG_LINES: Final = 60
TRANSCRIPT_LINES: Final = 60
MARKER: Final = (
    "shareq(config={}, topics=[], groups=[], mode=None, features={}, options=[], metrics=None, data_dir=None): "
    "how shareq's fixtures start brokers, and what they create in them"
)
_SETTINGS: Final = ("config", "mode", "features", "options", "metrics", "data_dir")
_CONTENT: Final = ("topics", "groups")
_BROKERS: Final = pytest.StashKey[list["Broker"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shareq")
    group.addoption("--shareq-mode", choices=MODES, help="what brokers run in that no marker says it of (process)")
    parser.addini("shareq_mode", f"as --shareq-mode: {', '.join(MODES)}", default="process")


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Have shareq's modules compiled as they are. pytest would rewrite the asserts of all modules of a distribution
    that brings a plugin: importing a broker would take far longer, also in its own thread, and Python 3.11 sometimes
    fails when two threads parse at once.
    """
    marked: set[str] = getattr(early_config.pluginmanager.rewrite_hook, "_must_rewrite", set())  # no way to ask for it
    marked.discard("shareq")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def shareq_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """Yield a running broker of the test's own, with an empty data folder.

    `@pytest.mark.shareq(...)` has its settings.
    """
    yield from _broker(request)


@pytest.fixture(scope="class")
def shareq_broker_class(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """Yield a broker that the tests of a class share. Marks of the class, or its module, have its settings."""
    yield from _broker(request)


@pytest.fixture(scope="module")
def shareq_broker_module(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """Yield a broker that the tests of a module share. `pytestmark = pytest.mark.shareq(...)` has its settings."""
    yield from _broker(request)


@pytest.fixture(scope="session")
def shareq_broker_session(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """Yield a broker that all tests of this pytest process share; with pytest-xdist, of this worker."""
    yield from _broker(request)


@pytest.fixture
def shareq_brokers(request: pytest.FixtureRequest) -> Iterator[Callable[..., Broker]]:
    """Yield a function that starts as many brokers as a test wants, with the arguments of `shareq.testing.Broker`."""
    with ExitStack() as stack:
        brokers = _brokers_of(request.node)

        def start(**settings: Any) -> Broker:
            broker = stack.enter_context(_new(request.config, settings))
            brokers.append(broker)
            return broker

        yield start
        del brokers[:]


def _broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    settings = _settings(request.node)
    content = {name: settings.pop(name, ()) for name in _CONTENT}
    with _new(request.config, settings) as broker:
        _fill(broker, content["topics"], content["groups"])
        brokers = _brokers_of(request.node)
        brokers.append(broker)
        yield broker
        brokers.remove(broker)


def _new(config: pytest.Config, settings: Mapping[str, Any]) -> Broker:
    from shareq.testing.broker import Broker  # only tests that ask for a broker pay for the import

    mode = config.getoption("--shareq-mode") or config.getini("shareq_mode")
    if mode not in MODES:
        raise pytest.UsageError(f"shareq_mode = {mode}: must be one of {', '.join(MODES)}")
    return Broker(**{"mode": mode, **settings})


def _settings(node: pytest.Item | pytest.Collector | Any) -> dict[str, Any]:
    """Return the arguments of the marks: the closest to the test wins; `config` and `features` are merged."""
    found: dict[str, Any] = {}
    for mark in node.iter_markers("shareq"):
        unknown = sorted(set(mark.kwargs) - {*_SETTINGS, *_CONTENT})
        if unknown or mark.args:
            wrong = ", ".join(unknown) or "positional arguments"
            raise pytest.UsageError(f"pytest.mark.shareq: {wrong}: known are {', '.join((*_SETTINGS, *_CONTENT))}")
        for name, value in mark.kwargs.items():
            if name in ("config", "features"):
                found[name] = {**value, **found.get(name, {})}
            elif value is not None:
                found.setdefault(name, value)
    return found


def _fill(
    broker: Broker, topics: Sequence[str] | Mapping[str, Any], groups: Sequence[str] | Mapping[str, Mapping[str, Any]]
) -> None:
    """Create topics, by name or by name and number of partitions, and configure share groups, by name or with
    arguments.
    """
    counts = topics if isinstance(topics, Mapping) else dict.fromkeys(topics, 1)
    for name, partitions in counts.items():
        broker.topic(name, partitions)
    for name, arguments in (groups if isinstance(groups, Mapping) else {each: {} for each in groups}).items():
        broker.share_group(name, **arguments)


def _brokers_of(node: pytest.Item | pytest.Collector | Any) -> list[Broker]:
    """Return the brokers that run for a test, class, module or session."""
    if _BROKERS not in node.stash:
        node.stash[_BROKERS] = []
    found: list[Broker] = node.stash[_BROKERS]
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the log and the transcript of a failed test's brokers to its report."""
    report = yield
    if report.failed:
        for node in item.listchain():
            for broker in node.stash.get(_BROKERS, []):
                report.sections += _sections(broker, len(_brokers_of(node)))
    return report


def _sections(broker: Broker, brokers: int) -> list[tuple[str, str]]:
    name = f" {broker.bootstrap}" if brokers > 1 else ""
    sections = [(f"shareq broker{name}: log", broker.log_tail(LOG_LINES))]
    try:
        lines = _transcript(broker) if broker.mode != "command" else []
    except Exception as error:  # the broker is gone: that is what the test is about, or why it failed
        lines = [str(error)]
    return [*sections, (f"shareq broker{name}: transcript", "\n".join(lines))]


def _transcript(broker: Broker) -> list[str]:
    """Return the last requests without those by which helpers only look, which are many and show little."""
    lines, polled = broker.transcript(TRANSCRIPT_LINES, polls=False), broker.polled
    left_out = f"(left out: {polled} requests with which the helpers only looked; broker.transcript() has the last)"
    return [*lines, left_out] if polled else lines
