"""One entry of a JAAS configuration, the value of `sasl.jaas.config` of brokers and clients.

MODULE FLAG key=value ... ;      values may stand in double or single quotes, with backslash escapes
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([;=])|([^\s"'=;]+))""",
    re.DOTALL,
)
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")


class JaasEntry(NamedTuple):
    """A login module with its options."""

    module: str
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"JaasEntry({self.module}, [hidden])"


def parse_jaas(text: str) -> JaasEntry:
    """Return the only entry of a text. Raises ValueError, which names the fault without any value."""
    tokens = list(_tokens(text))
    if len(tokens) < 3 or tokens[-1] != ";":
        raise ValueError("must be MODULE FLAG KEY=VALUE ... with a semicolon at the end")
    module, flag, *rest = tokens[:-1]
    if flag.lower() not in _FLAGS:
        raise ValueError(f"must have one of {', '.join(_FLAGS)} behind the module")
    if len(rest) % 3 or any(sign != "=" for sign in rest[1::3]) or ";" in rest:
        raise ValueError("must have options of the form KEY=VALUE, and one module")
    return JaasEntry(module, dict(zip(rest[::3], rest[2::3], strict=True)))


def _tokens(text: str) -> Iterator[str]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError("must have every quoted value closed")
        at = match.end()
        double, single, sign, word = match.groups()
        quoted = double if double is not None else single
        yield re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) if quoted is not None else sign or word
