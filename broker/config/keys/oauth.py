"""Properties of listeners with OAUTHBEARER, by Apache Kafka's names (KIP-768). Each may have the prefix
`listener.name.NAME.` or `listener.name.NAME.oauthbearer.`.
"""

from __future__ import annotations

from shareq.protocol.config_def import boolean, integer, long, text, words


class OauthProperties:
    """Properties of listeners with OAUTHBEARER."""

    sasl_oauthbearer_jwks_endpoint_url = text(
        "sasl.oauthbearer.jwks.endpoint.url",
        None,
        "Where the keys (JWKS) are that tokens are signed with: https://... or file:///... . Needs the extra "
        "shareq[oauth].",
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms = long(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms", 3_600_000, "How often the keys (JWKS) are read again.", at_least=1
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms = long(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        100,
        "How soon reading the keys is tried again after a failure; twice as long after each further one.",
        at_least=1,
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms = long(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        10_000,
        "The longest pause between two tries to read the keys.",
        at_least=1,
    )
    sasl_oauthbearer_expected_audience = words(
        "sasl.oauthbearer.expected.audience",
        None,
        "A token has to be meant for one of these (claim aud). Must be set, unless allow.unverified.audience is true.",
    )
    sasl_oauthbearer_expected_issuer = text(
        "sasl.oauthbearer.expected.issuer",
        None,
        "The issuer that a token must have (claim iss). Must be set, unless allow.unverified.issuer is true.",
    )
    sasl_oauthbearer_allow_unverified_audience = boolean(
        "sasl.oauthbearer.allow.unverified.audience",
        False,
        "Whether tokens for any audience, or none, are taken where no expected.audience is set.",
    )
    sasl_oauthbearer_allow_unverified_issuer = boolean(
        "sasl.oauthbearer.allow.unverified.issuer",
        False,
        "Whether tokens of any issuer, or none, are taken where no expected.issuer is set.",
    )
    sasl_oauthbearer_scope_claim_name = text(
        "sasl.oauthbearer.scope.claim.name", "scope", "The claim with a token's scopes: checked for its form."
    )
    sasl_oauthbearer_sub_claim_name = text("sasl.oauthbearer.sub.claim.name", "sub", "The claim that names the user.")
    sasl_oauthbearer_clock_skew_seconds = integer(
        "sasl.oauthbearer.clock.skew.seconds",
        30,
        "By how much the issuer's clock may differ from this one.",
        at_least=0,
    )
