"""The subject of a certificate in DER (RFC 5280): its name, alternative names and expiry. Pure.

    Certificate     SEQUENCE { TBSCertificate, signatureAlgorithm, signature }
    TBSCertificate  SEQUENCE { [0] version?, serialNumber, signature, issuer Name, validity SEQUENCE { notBefore,
                    notAfter }, subject Name, subjectPublicKeyInfo, [1]?, [2]?, [3] SEQUENCE OF Extension? }
    Extension       SEQUENCE { OBJECT IDENTIFIER, BOOLEAN?, OCTET STRING }
    Name            SEQUENCE OF SET OF SEQUENCE { OBJECT IDENTIFIER, value }

OpenSSL has already read and checked the certificate. The names that `getpeercert` returns lack the types of the
values, which Java shows for an attribute without a keyword, such as a mail address. The library `cryptography`, an
extra, writes names by RFC 4514, which differs.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

SEQUENCE: Final = 0x30
SET: Final = 0x31
OBJECT_IDENTIFIER: Final = 0x06
_OCTET_STRING: Final = 0x04
_UTC_TIME: Final = 0x17
_GENERALIZED_TIME: Final = 0x18
_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_SUBJECT_ALT_NAME: Final = bytes.fromhex("551d11")
_LONG_FORM: Final = 0x80
_MAX_LENGTH_BYTES: Final = 4


class MalformedDer(ValueError):
    """Error: DER is malformed. The text names the fault."""


class Der(NamedTuple):
    """One value in DER: its tag, its content, and `whole`, which includes tag and length."""

    tag: int
    content: bytes
    whole: bytes


class Subject(NamedTuple):
    """The subject of a certificate: `name` is its Name, `alternatives` its subjectAltNames, each in DER;
    `not_after_s` is its expiry in seconds since the epoch.
    """

    name: bytes
    alternatives: frozenset[bytes]
    not_after_s: int


def read_der(data: bytes) -> list[Der]:
    """Return the values in a text in DER, one after the other. Raise MalformedDer."""
    values: list[Der] = []
    at = 0
    while at < len(data):
        start = at
        if len(data) - at < 2:
            raise MalformedDer("it ends within a value")
        tag, length = data[at], data[at + 1]
        at += 2
        if length >= _LONG_FORM:
            size = length - _LONG_FORM
            if not 0 < size <= _MAX_LENGTH_BYTES:
                raise MalformedDer(f"a length of {size} bytes")
            length = int.from_bytes(data[at : at + size])
            at += size
        if len(data) - at < length:
            raise MalformedDer("it ends within a value")
        values.append(Der(tag, data[at : at + length], data[start : at + length]))
        at += length
    return values


def only(data: bytes, tag: int) -> bytes:
    """Return the content of the only value in the data, which has that tag. Raise MalformedDer."""
    values = read_der(data)
    if len(values) != 1 or values[0].tag != tag:
        raise MalformedDer(f"not one value with the tag {tag:#x}")
    return values[0].content


def subject_of(certificate: bytes) -> Subject:
    """Return the subject of a certificate in DER. Raise MalformedDer."""
    whole = read_der(only(certificate, SEQUENCE))
    if len(whole) != 3 or whole[0].tag != SEQUENCE:
        raise MalformedDer("not a certificate")
    fields = read_der(whole[0].content)
    if fields and fields[0].tag == _VERSION:
        fields.pop(0)
    if len(fields) < 6:
        raise MalformedDer("not a certificate")
    _serial, _signature, _issuer, validity, name, _key, *rest = fields
    if name.tag != SEQUENCE:
        raise MalformedDer("a subject that is no name")
    return Subject(name.whole, _alternatives(rest), _not_after_s(validity.content))


def _alternatives(fields: list[Der]) -> frozenset[bytes]:
    names: list[bytes] = []
    for field in fields:
        if field.tag != _EXTENSIONS:
            continue
        for extension in read_der(only(field.content, SEQUENCE)):
            parts = read_der(extension.content)
            if len(parts) > 1 and parts[0].content == _SUBJECT_ALT_NAME and parts[-1].tag == _OCTET_STRING:
                names += [name.whole for name in read_der(only(parts[-1].content, SEQUENCE))]
    return frozenset(names)


def _not_after_s(validity: bytes) -> int:
    times = read_der(validity)
    if len(times) != 2 or times[1].tag not in (_UTC_TIME, _GENERALIZED_TIME):
        raise MalformedDer("a validity without an end")
    text = times[1].content.decode("latin-1")
    if times[1].tag == _UTC_TIME:  # RFC 5280: two digits mean 1950 to 2049
        text = ("20" if text[:2] < "50" else "19") + text
    try:
        return int(datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise MalformedDer(f"a validity that ends at {text[:20]!r}") from None
