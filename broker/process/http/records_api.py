"""The records API as a part of the process: its address, its token, its certificate, its start and stop."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.listeners import HIGHEST_PORT
from shareq.broker.http.server import BACKLOG, HttpServer
from shareq.broker.process.exposure import is_loopback
from shareq.broker.process.sockets import Address, ServeError, address_text, begin_to_listen, bind
from shareq.broker.records_api.api import SHORTEST_TOKEN, RecordsApi, refuse
from shareq.broker.records_api.query import ROOT

if TYPE_CHECKING:
    from shareq.broker.network.tls.stream import TlsPort
    from shareq.broker.services import Services

logger = logging.getLogger(__name__)

LISTEN: Final = "shareq.records.api.listen"
_PURPOSE: Final = "serve the records API"


class RecordsApiPort:
    """The socket of the records API, which is bound by the constructor, before anything is changed. Raise
    ServeError.
    """

    def __init__(self, config: BrokerConfig, taken: Collection[str], *, insecure: bool) -> None:
        """Bind the socket. `taken` are the addresses of the listeners."""
        self._token = _token_of(config)
        self._tls_listener = _listener_of(config)
        self._http: HttpServer | None = None
        self._socket = bind(_address_of(config), _PURPOSE)
        try:
            self._check(taken, insecure=insecure)
        except ServeError:
            self._socket.close()
            raise

    @property
    def tls_listener(self) -> str | None:
        """The name of the listener whose certificate the API uses; None without TLS."""
        return self._tls_listener

    @property
    def url(self) -> str:
        """The address of the API, as bound."""
        scheme = "http" if self._tls_listener is None else "https"
        return f"{scheme}://{address_text(self._socket.getsockname())}{ROOT}"

    def _check(self, taken: Collection[str], *, insecure: bool) -> None:
        bound = self._socket.getsockname()
        where = address_text(bound)
        if where in taken:
            raise ServeError(f"cannot {_PURPOSE} on {where}: clients of the broker connect there", usage=True)
        if self._tls_listener is not None or is_loopback(str(bound[0])):
            return
        if not insecure:
            raise ServeError(
                f"the records API on {where} is open to other machines without TLS, which shows its token: listen on "
                "127.0.0.1, name a listener in shareq.records.api.tls.listener, or say --insecure",
                usage=True,
            )
        logger.warning("records API on %s: other machines may read its token without TLS (--insecure)", where)

    async def start(self, services: Services, tls: TlsPort | None) -> None:
        """Begin to serve. `tls` has the certificate of the named listener."""
        begin_to_listen(self._socket, BACKLOG, _PURPOSE)
        self._http = HttpServer("records API", RecordsApi(services, self._token).handle, refuse)
        await self._http.start(self._socket, None if tls is None else _renewed_by(tls))

    async def stop(self) -> None:
        """Disconnect all clients, and close the socket. A second call has no effect."""
        if self._http is not None:
            await self._http.close()
            self._http = None
        self._socket.close()


def _renewed_by(port: TlsPort) -> ssl.SSLContext:
    """Return a context in which each new connection uses the listener's present certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    def choose(tls: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        tls.context = port.context

    context.sni_callback = choose  # called for clients that name no server, too
    return context


def _address_of(config: BrokerConfig) -> Address:
    text = config.shareq_records_api_listen or ""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not port.isdecimal() or int(port) > HIGHEST_PORT or (":" in host and not bracketed):
        raise ServeError(f"{LISTEN}={text}: must be HOST:PORT, for example 127.0.0.1:9465", usage=True)
    return Address(host[1:-1] if bracketed else host, int(port))


def _token_of(config: BrokerConfig) -> str:
    token = (config.shareq_records_api_token or "").strip()
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ServeError(
            "the records API needs a token: --records-api-token-file, or shareq.records.api.token, with at least "
            f"{SHORTEST_TOKEN} visible characters of ASCII",
            usage=True,
        )
    return token


def _listener_of(config: BrokerConfig) -> str | None:
    if config.shareq_records_api_tls_listener is None:
        return None
    name = config.shareq_records_api_tls_listener.strip().upper()
    names = [name for name, security in config.security.items() if security.tls is not None]
    if name not in names:
        known = ", ".join(names) or "none"
        raise ServeError(f"shareq.records.api.tls.listener={name}: must be a listener with TLS: {known}", usage=True)
    return name
