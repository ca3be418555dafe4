"""Distinguished names as Java writes them (RFC 2253, `X500Principal.getName()`):
`CN=alice,OU=Orders,O=Example,C=DE`.

In Java the nine attributes below have a keyword. Any other one is written as its object identifier, with its value
in DER and hexadecimal, as is a value that is not text. The names in ACLs and `super.users` must agree with this text
exactly.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.security.tls.certificate import OBJECT_IDENTIFIER, SEQUENCE, SET, Der, MalformedDer, only, read_der

_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
# UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString: in Java these are texts.
_TEXT_TAGS: Final = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
_ESCAPED: Final = frozenset(',+<>;"\\=#')
_WHITE: Final = " \r"


def distinguished_name(name: bytes) -> str:
    """Return the text of a Name in DER; "" for one without attributes. Raise MalformedDer."""
    sets = read_der(only(name, SEQUENCE))
    return ",".join("+".join(map(_attribute, _members(each))) for each in reversed(sets))


def _members(relative: Der) -> list[Der]:
    if relative.tag != SET:
        raise MalformedDer("a name that is no list of sets")
    return read_der(relative.content)


def _attribute(attribute: Der) -> str:
    parts = read_der(attribute.content)
    if attribute.tag != SEQUENCE or len(parts) != 2 or parts[0].tag != OBJECT_IDENTIFIER:
        raise MalformedDer("an attribute that is no pair of type and value")
    kind, value = _dotted(parts[0].content), parts[1]
    keyword = _KEYWORDS.get(kind)
    if keyword is None or value.tag not in _TEXT_TAGS:
        return f"{keyword or kind}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode(errors='replace'))}"


def _escaped(text: str) -> str:
    text = "".join(f"\\{each}" if each in _ESCAPED else "\\00" if each == "\0" else each for each in text)
    inner = text.strip(_WHITE)
    before = text[: len(text) - len(text.lstrip(_WHITE))]
    after = text[len(before) + len(inner) :]
    return "".join(f"\\{each}" for each in before) + inner + "".join(f"\\{each}" for each in after)


def _dotted(identifier: bytes) -> str:
    numbers: list[int] = []
    number = 0
    for byte in identifier:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    if not numbers or identifier[-1] >= 0x80:
        raise MalformedDer("an object identifier that does not end")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))
