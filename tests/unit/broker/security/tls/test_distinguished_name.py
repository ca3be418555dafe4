"""Names of certificates as Java writes them. `tests/interop/test_tls_names.py` compares them with Java."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.security.tls.certificate import MalformedDer, subject_of
from shareq.broker.security.tls.distinguished_name import distinguished_name
from tests.support.kafka.distinguished_names import CN, DC, EMAIL, PRINTABLE, SERIAL, UID, UTF8, attribute, der, name


@pytest.mark.parametrize(
    ("encoded", "text"),
    [
        (name(), ""),
        (name((attribute(DC, "de"),), (attribute(CN, "alice"),)), "CN=alice,DC=de"),
        (name((attribute(CN, "a"), attribute(UID, "7"))), "CN=a+UID=7"),
        (name((attribute(CN, 'x,y+z"\\<>;=#'),)), 'CN=x\\,y\\+z\\"\\\\\\<\\>\\;\\=\\#'),
        (name((attribute(CN, "  a b "),)), "CN=\\ \\ a b\\ "),
        (name((attribute(CN, "Jürgen €"),)), "CN=Jürgen €"),
        (name((attribute(CN, "#a#"),)), "CN=\\#a\\#"),
        (name((attribute(CN, "   "),)), "CN=\\ \\ \\ "),
        (name((attribute(CN, "a\\"),)), "CN=a\\\\"),
        (name((attribute(CN, "a\0b\rc\r"),)), "CN=a\\00b\rc\\\r"),
        (name((attribute(CN, ""),)), "CN="),
        (name((attribute(UID, "7"), attribute(CN, "b"), attribute(CN, "a"))), "UID=7+CN=b+CN=a"),
        (
            name((attribute(DC, "de"), attribute(EMAIL, "a@b", 0x16)), (attribute(CN, "a+b"), attribute(UID, "7"))),
            "CN=a\\+b+UID=7,DC=de+1.2.840.113549.1.9.1=#1603614062",
        ),
        (name((attribute(EMAIL, "a@b", 0x16),)), "1.2.840.113549.1.9.1=#1603614062"),
        (name((attribute(EMAIL, "a@b", UTF8),)), "1.2.840.113549.1.9.1=#0c03614062"),
        (name((attribute(SERIAL, "7", PRINTABLE),)), "2.5.4.5=#130137"),
        (name((attribute(CN, "7", 0x02),)), "CN=#020137"),
    ],
)
def test_as_java(encoded: bytes, text: str) -> None:
    assert distinguished_name(encoded) == text


@pytest.mark.parametrize(
    "broken",
    [b"", b"\x30", b"\x31\x00", b"\x30\x02\x31\x05", name() + b"\0", der(0x30, attribute(CN, "a")), b"\x30\x80\0\0"],
)
def test_what_is_no_name(broken: bytes) -> None:
    with pytest.raises(MalformedDer):
        distinguished_name(broken)


@given(st.binary(max_size=60), st.integers(0, 30), st.integers(0, 255))
def test_no_other_error_whatever_comes(noise: bytes, at: int, byte: int) -> None:
    bent = bytearray(name((attribute(CN, "alice"),), (attribute(UID, "x", UTF8),)))
    bent[at % len(bent)] = byte
    for data in (noise, der(0x30, noise), bytes(bent)):
        for read in (distinguished_name, subject_of):
            try:
                read(data)
            except MalformedDer:
                continue
