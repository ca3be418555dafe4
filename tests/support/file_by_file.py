"""Test files that are collected only when they are run: `--file-by-file`, with pytest-xdist.

Every pytest-xdist process collects all tests before the first one runs. With this option it lists only files, and
collects a file when it takes it: a test module is imported only by the process that runs it.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.file_order import in_order

Location = tuple[str, int | None, str]


class Turn(pytest.Item):
    """The place of a file in a run's order. `FileByFile` runs the file's tests when it gets there."""

    def runtest(self) -> None:
        raise AssertionError(f"{self.nodeid} is not a test, and nobody has collected its tests")

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.nodeid


class _Later(pytest.File):
    def collect(self) -> Iterator[Turn]:
        yield Turn.from_parent(self, name=self.name, nodeid=self.nodeid)


class FileByFile:
    def __init__(self) -> None:
        self._items: dict[Turn, list[pytest.Item]] = {}
        self._is_turn = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> _Later | None:
        return None if self._is_turn else _Later.from_parent(parent, path=module_path)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        """Hide the files from plugins that select tests, and sort them."""
        turns = {item.nodeid: item for item in items if isinstance(item, Turn)}
        items[:] = [item for item in items if not isinstance(item, Turn)]
        result = yield
        items += [turns[file] for file in in_order(list(turns))]
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if not isinstance(item, Turn):
            return None
        hook, session = item.ihook, item.session
        place = session.items.index(item)
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        items = self._collected(item)
        for at, test in enumerate(items, 1):
            following = self._collected(nextitem) if at == len(items) and isinstance(nextitem, Turn) else items[at:]
            session.items[place] = test  # pytest-xdist looks there for the test that a report is about
            hook.pytest_runtest_protocol(item=test, nextitem=following[0] if following else None)
            if session.shouldfail or session.shouldstop:
                break
        session.items[place] = item
        del self._items[item]
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _collected(self, turn: Turn) -> list[pytest.Item]:
        if turn not in self._items:
            later, session = turn.getparent(_Later), turn.session
            assert later is not None
            assert later.parent is not None
            with without_collector(), self._at_its_turn():
                module = later.ihook.pytest_pycollect_makemodule(module_path=later.path, parent=later.parent)
                items = list(session.genitems(module))
                session.config.hook.pytest_collection_modifyitems(session=session, config=session.config, items=items)
            self._items[turn] = items
        return self._items[turn]

    @contextmanager
    def _at_its_turn(self) -> Iterator[None]:
        self._is_turn = True
        try:
            yield
        finally:
            self._is_turn = False


class FilesDone:
    """The plugin of the reporting process: it shows the number of files done, as that of tests is unknown."""

    def __init__(self) -> None:
        self._files = self._done = self._tests = 0
        self._session: pytest.Session | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._files = len(ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tests += report.when == "call" or (report.when == "setup" and not report.passed)
        self._estimate()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._done += "::" not in nodeid
        self._estimate()

    def _estimate(self) -> None:
        if self._session is not None:
            self._session.testscollected = self._tests * self._files // max(self._done, 1)


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(
        "--file-by-file",
        action="store_true",
        help="with pytest-xdist: collect the tests of a file in the process that runs them, when it takes the file",
    )


def install(config: pytest.Config) -> None:
    """Install the plugins if requested and possible: not if tests are named, or selected among those of all files."""
    named = any("::" in argument for argument in config.args)
    chosen = any(config.getoption(name, False) for name in ("lf", "failedfirst", "newfirst"))
    if not config.getoption("--file-by-file") or named or chosen:
        return
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(FileByFile())
        if config.getoption("durations", None) is None:
            _say_less(config.pluginmanager)
    elif config.getoption("dist", "no") != "no":
        config.pluginmanager.register(FilesDone())


def _say_less(plugins: pytest.PytestPluginManager) -> None:
    """Leave out messages that the reporting process does not use: a quarter of the work for a quick test.

    They are about setups and teardowns that passed and printed nothing, and about a test's begin and end.
    """
    (sender,) = (plugin for plugin in plugins.get_plugins() if type(plugin).__name__ == "WorkerInteractor")
    plugins.unregister(sender)
    send, begin, end = sender.pytest_runtest_logreport, sender.pytest_runtest_logstart, sender.pytest_runtest_logfinish

    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed or report.sections:
            send(report)

    def pytest_runtest_logstart(nodeid: str, location: Location) -> None:
        if "::" not in nodeid:
            begin(nodeid, location)

    def pytest_runtest_logfinish(nodeid: str, location: Location) -> None:
        if "::" not in nodeid:
            end(nodeid, location)

    for hook in (pytest_runtest_logreport, pytest_runtest_logstart, pytest_runtest_logfinish):
        setattr(sender, hook.__name__, hook)
    plugins.register(sender)


@contextmanager
def without_collector() -> Iterator[None]:
    """Keep the garbage collector from repeatedly scanning modules, which stay until the end of the run."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
