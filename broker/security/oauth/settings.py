"""One listener's OAUTHBEARER settings, as configured. Nothing here reads a file or a socket."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from shareq.broker.security.tls.settings import Setting, TrustStore


class ClaimRules(NamedTuple):
    """The rules for a token's claims.

    The token must name one of `audiences`, unless these are empty. `issuer` is None if the token may be from any
    holder of a key. `clock_skew_s` is the greatest allowed difference to the issuer's clock.
    """

    audiences: tuple[str, ...]
    issuer: str | None
    scope_claim: str
    sub_claim: str
    clock_skew_s: int


class OauthSettings(NamedTuple):
    """One listener's settings. `keys_url` is where the issuer's keys are, https: or file:; `trusted` are the
    authorities for that server, None for those that this machine trusts.

    The keys are read every `refresh_ms`; after a failure again after `retry_ms`, which doubles up to `retry_max_ms`.
    """

    keys_url: Setting
    trusted: TrustStore | None
    refresh_ms: int
    retry_ms: int
    retry_max_ms: int
    rules: ClaimRules
