from __future__ import annotations

CN, DC, UID, EMAIL, SERIAL = (
    bytes.fromhex(text)
    for text in ("550403", "0992268993f22c640119", "0992268993f22c640101", "2a864886f70d010901", "550405")
)
UTF8, PRINTABLE = 0x0C, 0x13
_ONE_BYTE = 128


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < _ONE_BYTE else b"\x82" + size.to_bytes(2)
    return bytes([tag]) + length + content


def attribute(kind: bytes, value: str | bytes, tag: int = UTF8) -> bytes:
    return der(0x30, der(0x06, kind) + der(tag, value.encode() if isinstance(value, str) else value))


def name(*sets: tuple[bytes, ...]) -> bytes:
    """Encode a name of sets of attributes, the most significant one first."""
    return der(0x30, b"".join(der(0x31, b"".join(each)) for each in sets))
