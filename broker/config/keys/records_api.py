"""Properties of the records API, our own."""

from __future__ import annotations

from typing import Final

from shareq.protocol.config_def import ConfigKey
from shareq.protocol.config_def import ConfigType as Type

RECORDS_API_KEYS: Final = (
    ConfigKey(
        "shareq.records.api.listen",
        Type.STRING,
        None,
        None,
        "HOST:PORT at which the records API is served; without it, nowhere. An address that other machines reach needs "
        "`shareq.records.api.tls.listener`, or --insecure.",
    ),
    ConfigKey(
        "shareq.records.api.token",
        Type.PASSWORD,
        None,
        None,
        "What requests to the records API have to carry: Authorization: Bearer TOKEN. At least 16 characters.",
    ),
    ConfigKey(
        "shareq.records.api.tls.listener",
        Type.STRING,
        None,
        None,
        "The name of a listener with TLS: the records API is served behind TLS with its certificate.",
    ),
)
