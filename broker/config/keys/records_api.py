"""Properties of the records API, our own."""

from __future__ import annotations

from shareq.protocol.config_def import password, text


class RecordsApiProperties:
    """Address and access of the records API."""

    shareq_records_api_listen = text(
        "shareq.records.api.listen",
        None,
        "HOST:PORT at which the records API is served; without it, nowhere. An address that other machines reach needs "
        "`shareq.records.api.tls.listener`, or --insecure.",
    )
    shareq_records_api_token = password(
        "shareq.records.api.token",
        None,
        "What requests to the records API have to carry: Authorization: Bearer TOKEN. At least 16 characters.",
    )
    shareq_records_api_tls_listener = text(
        "shareq.records.api.tls.listener",
        None,
        "The name of a listener with TLS: the records API is served behind TLS with its certificate.",
    )
