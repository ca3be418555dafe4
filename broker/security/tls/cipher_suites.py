"""Cipher suites by Java's names, and OpenSSL's names for them. Only those with forward secrecy are listed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

TLS_1_2: Final = "TLSv1.2"
TLS_1_3: Final = "TLSv1.3"
VERSIONS: Final = (TLS_1_2, TLS_1_3)

OF_TLS_1_3: Final = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
OF_TLS_1_2: Final = {
    f"TLS_ECDHE_{signed}_WITH_{java}": f"ECDHE-{signed}-{openssl}"
    for java, openssl in (
        ("AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"),
        ("AES_256_CBC_SHA384", "AES256-SHA384"),
        ("AES_128_CBC_SHA256", "AES128-SHA256"),
    )
    for signed in ("ECDSA", "RSA")
}


class Chosen(NamedTuple):
    """The remaining TLS versions, and OpenSSL's names of the suites of TLS 1.2; if these are empty, OpenSSL chooses."""

    versions: tuple[str, ...]
    ciphers: tuple[str, ...]


def choose(versions: Iterable[str], suites: Iterable[str]) -> Chosen:
    """Return the versions that remain with these suites (empty: all). Raise ValueError, which names the allowed
    ones.

    Python cannot enable suites of TLS 1.3 one by one: either all three are named, or none, and then TLS 1.3 is off.
    """
    versions, suites = tuple(versions), tuple(suites)
    if not versions or any(version not in VERSIONS for version in versions):
        raise ValueError(f"must be one or several of {', '.join(VERSIONS)}")
    if not suites:
        return Chosen(versions, ())
    unknown = [suite for suite in suites if suite not in OF_TLS_1_2 and suite not in OF_TLS_1_3]
    if unknown:
        raise ValueError(f"{unknown[0]} is not served; there are {', '.join((*OF_TLS_1_3, *OF_TLS_1_2))}")
    named = set(OF_TLS_1_3).intersection(suites)
    if TLS_1_3 in versions and 0 < len(named) < len(OF_TLS_1_3):
        raise ValueError(
            f"must name all of {', '.join(OF_TLS_1_3)}, which cannot be switched one by one, or none of them"
        )
    ciphers = tuple(OF_TLS_1_2[suite] for suite in suites if suite in OF_TLS_1_2)
    left = tuple(version for version in versions if (named if version == TLS_1_3 else ciphers))
    if not left:
        raise ValueError(f"must have a suite of {' or '.join(versions)}, which ssl.enabled.protocols allows")
    return Chosen(left, ciphers)
