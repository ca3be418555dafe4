"""Properties of listeners with OAUTHBEARER, by Apache Kafka's names (KIP-768). Each may stand behind
`listener.name.NAME.` and `listener.name.NAME.oauthbearer.`, too.
"""

from __future__ import annotations

from typing import Final

from shareq.protocol.config_def import ConfigKey, Range
from shareq.protocol.config_def import ConfigType as Type

_NAME: Final = "sasl.oauthbearer."

OAUTH_KEYS: Final = (
    ConfigKey(
        _NAME + "jwks.endpoint.url",
        Type.STRING,
        None,
        None,
        "Where the keys (JWKS) are that tokens are signed with: https://... or file:///... . Needs the extra "
        "shareq[oauth].",
    ),
    ConfigKey(
        _NAME + "jwks.endpoint.refresh.ms", Type.LONG, 3_600_000, Range(1), "How often these keys are read again."
    ),
    ConfigKey(
        _NAME + "jwks.endpoint.retry.backoff.ms",
        Type.LONG,
        100,
        Range(1),
        "How soon they are tried again after a failure; twice as long after each further one.",
    ),
    ConfigKey(
        _NAME + "jwks.endpoint.retry.backoff.max.ms", Type.LONG, 10_000, Range(1), "The longest of these pauses."
    ),
    ConfigKey(
        _NAME + "expected.audience",
        Type.LIST,
        None,
        None,
        "A token has to be meant for one of these (claim aud). Must be set, unless allow.unverified.audience is true.",
    ),
    ConfigKey(
        _NAME + "expected.issuer",
        Type.STRING,
        None,
        None,
        "Who has to have issued a token (claim iss). Must be set, unless allow.unverified.issuer is true.",
    ),
    ConfigKey(
        _NAME + "allow.unverified.audience",
        Type.BOOLEAN,
        False,
        None,
        "Whether tokens for any audience, or none, are taken where no expected.audience is set.",
    ),
    ConfigKey(
        _NAME + "allow.unverified.issuer",
        Type.BOOLEAN,
        False,
        None,
        "Whether tokens of any issuer, or none, are taken where no expected.issuer is set.",
    ),
    ConfigKey(
        _NAME + "scope.claim.name", Type.STRING, "scope", None, "The claim with a token's scopes: checked for its form."
    ),
    ConfigKey(_NAME + "sub.claim.name", Type.STRING, "sub", None, "The claim that names the user."),
    ConfigKey(
        _NAME + "clock.skew.seconds", Type.INT, 30, Range(0), "By how much the issuer's clock may differ from this one."
    ),
)
