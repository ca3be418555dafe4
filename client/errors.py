"""Errors that a client's caller may have to deal with. Every message is one line and holds no secret."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from shareq.protocol.errors import ErrorCode, is_retriable, text_of

_REASON_LETTERS: Final = 200


class ClientError(Exception):
    """An operation that a client cannot do. The subclasses show whether to try again."""


class ConfigError(ClientError, ValueError):
    """A property that is unknown, refused or invalid. Nothing was sent."""


class AuthenticationFailed(ClientError):
    """Credentials that the broker does not accept, or a certificate that we do not accept.

    Trying again does not help.
    """


class UnsupportedApi(ClientError):
    """An API that the broker does not offer in a needed version. Trying again does not help."""


class Unintelligible(ClientError):
    """An answer of a broker that is well-formed but impossible. Trying again does not help."""


class Unreachable(ClientError):
    """A broker that did not answer in time. Trying again may help."""


class Disconnected(Unreachable):
    """A connection that ended before the answer came. The broker may or may not have handled the request."""


class BrokerError(ClientError):
    """An error code in a broker's answer. `what` names the subject: a topic, a group, a request."""

    def __init__(self, code: int, what: str, message: str | None = None) -> None:
        said = " ".join((message or text_of(code)).split())  # a broker may send lines
        super().__init__(f"{what}: {name_of(code)}: {said}")
        self.code = code
        self.what = what
        self.message = message

    def __reduce__(self) -> tuple[type[BrokerError], tuple[int, str, str | None]]:
        return type(self), (self.code, self.what, self.message)


@contextmanager
def understood(what: str = "an answer") -> Iterator[None]:
    """Raise Unintelligible instead of an error that an unexpected answer leads to.

    A broker may name topics that it was not asked for, times out of all bounds, values of no known kind.
    """
    try:
        yield
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
        struct.error,
    ) as error:
        if isinstance(error, ClientError):
            raise
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        place = f"{at.tb_frame.f_code.co_name}, line {at.tb_lineno}" if at is not None else "?"
        reason = " ".join(str(error).split())[:_REASON_LETTERS]
        raise Unintelligible(f"{what} is not understood: {type(error).__name__}: {reason} ({place})") from error


def is_transient(error: ClientError) -> bool:
    """Return True if trying again may help."""
    return isinstance(error, Unreachable) or (isinstance(error, BrokerError) and is_retriable(error.code))


def name_of(code: int) -> str:
    """Return Kafka's name of an error code, or the number if this release does not know it."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
