"""The blocks of PEM texts (RFC 7468), split as Java does: any white space may stand for a line's end. Pure."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from typing import Final, NamedTuple

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.+?)-----END \1-----", re.DOTALL)
_LINE: Final = 64


class PemBlock(NamedTuple):
    """One block: its label (`CERTIFICATE`, `PRIVATE KEY`), and its text, with line breaks as OpenSSL needs them."""

    label: str
    text: str

    @property
    def is_certificate(self) -> bool:
        """True for certificates, also with older labels such as `X509 CERTIFICATE`."""
        return self.label.endswith("CERTIFICATE")

    @property
    def is_key(self) -> bool:
        """True for private keys, encrypted or not."""
        return self.label.endswith("PRIVATE KEY")

    def der(self) -> bytes:
        """Return the content in DER. Raise ValueError if it is not base64."""
        body = self.text.split("-----")[2]
        try:
            return a2b_base64("".join(body.split()), strict_mode=True)
        except Error as error:
            raise ValueError(str(error)) from None


def pem_blocks(text: str) -> list[PemBlock]:
    """Return every block of a text, in order, without the text in between."""
    return [PemBlock(match[1], _wrapped(match[1], match[2])) for match in _BLOCK.finditer(text)]


def _wrapped(label: str, body: str) -> str:
    if ":" not in body:  # the headers of an old encrypted key need their lines
        packed = "".join(body.split())
        body = "\n" + "".join(f"{packed[at : at + _LINE]}\n" for at in range(0, len(packed), _LINE))
    return f"-----BEGIN {label}-----{body}-----END {label}-----\n"
