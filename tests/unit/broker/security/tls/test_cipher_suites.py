"""ssl.enabled.protocols and ssl.cipher.suites: the resulting suites, and unavailable ones."""

from __future__ import annotations

import ssl

import pytest

from shareq.broker.security.tls.cipher_suites import OF_TLS_1_2, OF_TLS_1_3, VERSIONS, choose


def test_nothing_named_leaves_all() -> None:
    assert choose(VERSIONS, ()) == (VERSIONS, ())


def test_suites_of_one_version_switch_the_other_one_off() -> None:
    """A version without suites is disabled, as in Java, because it cannot be negotiated."""
    assert choose(VERSIONS, ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]) == (
        ("TLSv1.2",),
        ("ECDHE-RSA-AES128-GCM-SHA256",),
    )
    assert choose(VERSIONS, OF_TLS_1_3) == (("TLSv1.3",), ())


@pytest.mark.parametrize(
    ("versions", "suites", "what"),
    [
        ([], [], "one or several of TLSv1.2, TLSv1.3"),
        (["TLSv1.1"], [], "one or several of TLSv1.2, TLSv1.3"),
        (VERSIONS, ["TLS_RSA_WITH_RC4_128_MD5"], "TLS_RSA_WITH_RC4_128_MD5 is not served; there are TLS_AES_256"),
        (VERSIONS, [OF_TLS_1_3[0]], "must name all of TLS_AES_256_GCM_SHA384, "),
        (["TLSv1.2"], OF_TLS_1_3, "must have a suite of TLSv1.2"),
        (["TLSv1.3"], list(OF_TLS_1_2), "must have a suite of TLSv1.3"),
    ],
)
def test_what_cannot_be_had_is_refused(versions: list[str], suites: list[str], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        choose(versions, suites)


@pytest.mark.parametrize("suite", OF_TLS_1_2)
def test_openssl_has_every_suite_by_its_name(suite: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(OF_TLS_1_2[suite])
    assert OF_TLS_1_2[suite] in [each["name"] for each in context.get_ciphers()]
