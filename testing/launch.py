"""The start of a broker, in a thread, a fork or a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from shareq.testing.failure import START_TIMEOUT_S, STOP_TIMEOUT_S, BrokerFailed

TEST_CONFIG: Final = {
    "group.initial.rebalance.delay.ms": "0",  # a group of a test is complete when its first member joins
    "connections.max.idle.ms": "-1",  # `clock.advance` makes every client silent
}
"""Properties of every test's broker, which the test's own override."""
NO_RESERVE: Final = {"shareq.disk.reserve.bytes": "0"}
"""Further properties if the data folder is removed with the test."""


def check_names(config: Mapping[str, str]) -> None:
    """Raise BrokerFailed for a property unknown to this broker and to Apache Kafka: a broker would start without it."""
    if not config:
        return
    from shareq.broker.config.keys.known_names import did_you_mean, is_property

    for name in config:
        if not is_property(name):
            raise BrokerFailed(f"did not start: unknown property {name}{did_you_mean(name)}")


def options_of(config: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return properties as options of `shareq serve`, and secrets, which it refuses as options, as variables."""
    from shareq.broker.config.sources.environment import variable_name
    from shareq.broker.config.sources.on_command_line import has_secret

    secrets = {name: value for name, value in config.items() if has_secret(name, value)}
    plain = {name: value for name, value in config.items() if name not in secrets}
    words = [word for name, value in plain.items() for word in ("--set", f"{name}={value}")]
    return words, {variable_name(name): value for name, value in secrets.items()}


class Launch(NamedTuple):
    """The settings of a broker to start.

    `ahead_ms`: how far its clock begins ahead; `own_dir`: its data folder is removed with the test.
    """

    data_dir: Path
    listen: str
    config: Mapping[str, str]
    features: Mapping[str, int]
    metrics: str | None
    options: Sequence[str]
    ahead_ms: int
    own_dir: bool
    start_timeout_s: float = START_TIMEOUT_S
    stop_timeout_s: float = STOP_TIMEOUT_S

    @property
    def log_path(self) -> Path:
        """The path of the log, next to the data folder."""
        return self.data_dir.with_name(self.data_dir.name + ".log")

    @property
    def own_folder(self) -> str | None:
        """The folder to remove when the test has ended."""
        return str(self.data_dir.parent) if self.own_dir else None

    def arguments(self) -> list[str]:
        """Return the arguments for `shareq serve`."""
        return self._arguments([word for name, value in self.config.items() for word in ("--set", f"{name}={value}")])

    def command_line(self) -> tuple[list[str], dict[str, str]]:
        """Return arguments without secrets, and variables, for `shareq serve` in another process."""
        settings, variables = options_of(self.config)
        return self._arguments(settings), variables

    def _arguments(self, settings: Sequence[str]) -> list[str]:
        listeners = self.config.get("listeners", ":0")
        found = ["--data-dir", str(self.data_dir)]
        if "," not in listeners and listeners.strip().endswith(":0"):  # else they say where to listen
            found += ["--listen", self.listen]
        found += settings
        for name, level in self.features.items():
            found += ["--feature", f"{name}={level}"]
        if self.metrics is not None:
            found += ["--metrics", self.metrics]
        return [*found, *self.options]

    def failed_start(self, code: object, log: str) -> BrokerFailed:
        """Return the error for a broker that ended with this code before it listened."""
        return BrokerFailed(f"did not start:\n{tail(log) or f'it ended with {code} and logged nothing'}")


class Running(Protocol):
    """A running broker. `host` and `port` are its first listener's; `log` has its messages of this life."""

    host: str
    port: int
    pid: int
    metrics_url: str | None
    records_api_url: str | None

    def call(self, name: str, **arguments: Any) -> Any:
        """Have a command carried out inside the broker.

        Raises BrokerFailed if that is impossible, ValueError for an invalid command.
        """

    def signal_stop(self) -> None: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...

    @property
    def crashed(self) -> bool: ...
    def hits_at_crash(self) -> dict[int, int]: ...


def tail(log: str, lines: int = 40) -> str:
    """Return the last lines of a log."""
    return "\n".join(log.splitlines()[-lines:])
