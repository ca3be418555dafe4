"""The reading of options, for the source and for the sink: one by one, with all problems reported at once.

Spark hands options over in lower case; errors show them as they are documented.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, TypeVar

from shareq.client.config import ClientConfig
from shareq.client.errors import ConfigError

T = TypeVar("T")

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
PREFIX: Final = "kafka."


class OptionsError(ValueError):
    """Options that are invalid for a source.

    The message is one line with every problem: option, value, allowed values.
    """


class OptionReader:
    """A reader of options, one by one, that collects the errors.

    `known` are the options besides kafka.*; `refused` has reasons for refusing known ones.
    """

    def __init__(self, options: Mapping[str, str], known: Sequence[str], refused: Mapping[str, str]) -> None:
        self._known = known
        self._left = {name.lower(): str(value) for name, value in options.items()}
        self._problems: list[str] = []
        self.failed: set[str] = set()
        for name, why in refused.items():
            if self._left.pop(name.lower(), None) is not None:
                self.problem(f"{name} is not an option here: {why}")

    def problem(self, text: str) -> None:
        self._problems.append(text)

    def take(self, name: str, parse: Callable[[str], T]) -> T | None:
        text = self._left.pop(name.lower(), None)
        if text is None:
            return None
        try:
            return parse(text.strip())
        except ValueError as error:
            self.failed.add(name)
            self.problem(f"{name}={text!r}: {error}")
            return None

    def client(self) -> ClientConfig | None:
        """Read the remaining options that begin with kafka.: those of the connection."""
        given = {name: value for name, value in self._left.items() if name.startswith(PREFIX)}
        for name in given:
            del self._left[name]
        try:
            return ClientConfig.from_properties(
                {name.removeprefix(PREFIX): value for name, value in given.items()}, prefix=PREFIX
            )
        except ConfigError as error:
            self.problem(str(error))
            return None

    def finish(self) -> None:
        """Raise OptionsError with all problems. Values of unknown options are not shown: they may be secrets."""
        for name in sorted(self._left):
            self.problem(f"{name} is not an option of kafka-share; {_nearest(name, self._known)}")
        if self._problems:
            count = len(self._problems)
            raise OptionsError(
                f"kafka-share: {self._problems[0]}"
                if count == 1
                else f"kafka-share: {count} problems: {'; '.join(self._problems)}"
            )


def _nearest(name: str, names: Sequence[str]) -> str:
    spelled = {known.lower(): known for known in names}
    close = get_close_matches(name, spelled, 1, 0.75)
    if close:
        return f"did you mean {spelled[close[0]]}?"
    if "." in name:  # a property of the client, without what stands before all of them
        return f"did you mean {PREFIX}{name}?"
    return f"there are kafka.* and {', '.join(names)}"


def whole(lowest: int, highest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = lowest - 1
        if not lowest <= value <= highest:
            bounds = f"of at least {lowest}" if highest > 32_767 else f"from {lowest} to {highest}"
            raise ValueError(f"must be a whole number {bounds}")
        return value

    return parse
