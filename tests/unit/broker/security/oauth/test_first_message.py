"""The client's first message of OAUTHBEARER: accepted forms, and a reader that no other bytes break."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.security.oauth.exchange import FirstMessage, parse_first_message
from tests.support.clients.tokens import first_message

TOKENS = st.from_regex(re.compile(r"[-_.A-Za-z0-9]+", re.ASCII), fullmatch=True)
NAMES = st.text(st.characters(codec="ascii", exclude_characters="\0\x01"), min_size=1)
EXTENSIONS = st.dictionaries(
    st.from_regex(re.compile(r"[A-Za-z]+"), fullmatch=True).filter(lambda name: name != "auth"),
    st.from_regex(re.compile(r"[\x21-\x7e \t\r\n]+"), fullmatch=True),
    max_size=3,
)


@given(TOKENS, st.one_of(st.just(""), NAMES), EXTENSIONS)
def test_what_a_client_writes_is_read(token: str, name: str, extensions: dict[str, str]) -> None:
    escaped = name.replace("=", "=3D").replace(",", "=2C")
    assert parse_first_message(first_message(token, escaped, **extensions)) == (name, token)


@given(st.one_of(st.binary(), st.text().map(str.encode)), st.integers(0, 40), st.integers(0, 3))
def test_any_bytes_are_a_message_or_a_value_error(noise: bytes, at: int, removed: int) -> None:
    """The bytes are noise alone, and noise in place of a few bytes of a message."""
    whole = first_message("aaaa.bbbb.cccc", "alice", traceId="7")
    for data in (noise, whole[:at] + noise + whole[at + removed :]):
        said = ""
        try:
            message = parse_first_message(data)
        except ValueError as error:
            said = str(error)
        else:
            assert re.fullmatch(r"[-_.A-Za-z0-9]+", message.token, re.ASCII)
        assert "bbbb" not in said, "no error shows a token"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01",
        b"n,,\x01auth=Bearer a.b.c\x01\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01\x01trailing",
        b"n,,\x01auth=Basic a.b.c\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer a b\x01\x01",
        b"n,,\x01auth=Bearer a+b\x01\x01",
        b"n,,\x01Auth=Bearer a.b.c\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01auth=Bearer d.e.f\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01key1=value\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01key=\x01\x01",
        b"y,,\x01auth=Bearer a.b.c\x01\x01",
        b"p=tls-unique,,\x01auth=Bearer a.b.c\x01\x01",
        b"n,a=,\x01auth=Bearer a.b.c\x01\x01",
        b"n,a=al,ice,\x01auth=Bearer a.b.c\x01\x01",
        b"n,a=al=ice,\x01auth=Bearer a.b.c\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\xc3\xa4\x01\x01",
        b"\0alice\0password",
    ],
)
def test_what_is_no_message(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(not a first message|a key that is given|no `auth`)"):
        parse_first_message(data)


def test_the_scheme_is_of_any_case_and_spaces_may_be_more() -> None:
    assert parse_first_message(b"n,,\x01auth=bEaReR   a.b.c\x01\x01").token == "a.b.c"


def test_the_longest_message_takes_no_time() -> None:
    """Pairs, or the name, fill `sasl.server.max.receive.size`."""
    began = time.process_time()
    for data in (
        b"n,,\x01" + b"a=b\x01" * 131_000 + b"\x01",
        b"n,,\x01" + b"a=b\x01" * 131_000,
        b"n,a=" + b"=2C" * 170_000,
        b"n,,\x01auth=Bearer " + b"a" * 524_000 + b"!\x01\x01",
    ):
        with pytest.raises(ValueError, match=r"message|twice|auth"):
            parse_first_message(data)
    assert time.process_time() - began < 2


def test_a_token_has_no_repr() -> None:
    assert "secret" not in repr(FirstMessage("", "secret"))
