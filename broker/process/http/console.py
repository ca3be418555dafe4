"""The web console of a broker: a child process, so that it never holds the broker's loop, and ends with the broker.

The child's standard input is one end of a pipe: when the broker ends, in whatever way, the system closes the other
end, and the child stops. Its socket is bound here, before anything is changed; secrets are passed through the pipe.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from secrets import token_urlsafe
from typing import Final, NamedTuple

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.process.exposure import is_loopback
from shareq.broker.process.sockets import Address, ServeError, address_text, begin_to_listen, bind

logger = logging.getLogger(__name__)

SHORTEST_TOKEN: Final = 16
BACKLOG: Final = 128
STOP_TIMEOUT_S: Final = 3.0
_PURPOSE: Final = "serve the console"
_LISTEN: Final = "shareq.records.api.listen"
_NEAR: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""Addresses of this machine, for a listener that is open to all."""
_TOKEN: Final = "shareq.records.api.token"


class ConsoleOptions(NamedTuple):
    """Options of the console. `token` is its own token, from `token_file`; None if it needs none. `config_file` has
    a client's properties, for a broker that requires a login; `protocol` is one of them. `for_commands` is the text
    that shows how commands reach the records API added for the console, with %s for its URL; None if the operator
    has configured one.
    """

    address: Address
    token: str | None
    token_file: str | None
    config_file: str | None
    protocol: str
    for_commands: str | None = None


def with_records_api(given: Mapping[str, str], console_token: str | None = None) -> dict[str, str]:
    """Return the properties of a broker with a console: the records API is enabled, on a free port if the operator
    names none.

    `given` are the operator's properties. The console's token is valid for the API, too, because its owner sees the
    same data anyway.
    """
    if given.get(_LISTEN):
        return {}
    return {_LISTEN: "127.0.0.1:0", _TOKEN: given.get(_TOKEN) or console_token or token_urlsafe(32)}


def for_commands(given: Mapping[str, str], token_file: str | None) -> str | None:
    """Return the value of `ConsoleOptions.for_commands` for the same `given`."""
    if given.get(_LISTEN):
        return None
    if given.get(_TOKEN):
        return "commands reach the records API with --api %s and the token that it was given"
    if token_file is not None:
        return f"commands reach the records API with --api %s --api-token-file {token_file.replace('%', '%%')}"
    return "the records API at %s is the console's alone; --console-token-file FILE lets commands use it, too"


def token_of(path: str) -> str:
    """Return the token in a file.

    Raise ValueError for one that the console would not accept, before the child is started.
    """
    try:
        with open(path, encoding="ascii") as file:
            token = file.read().strip()
    except OSError as error:
        raise ValueError(error.strerror) from None
    if len(token) < SHORTEST_TOKEN or not token.isprintable() or " " in token:
        raise ValueError(f"must have a token of at least {SHORTEST_TOKEN} visible characters of ASCII")
    return token


class Console:
    """The child process and its socket, which is bound by the constructor. Raise ServeError. Owned by the loop."""

    def __init__(self, options: ConsoleOptions, config: BrokerConfig) -> None:
        if find_spec("aiohttp") is None:
            raise ServeError("--console needs aiohttp: pip install 'shareq[console]'", usage=True)
        self._options = options
        self._config = config
        self._listener = self._listener_to_ask()
        self._has_rights = config.authorizer_class_name != ""
        if (self._has_rights or options.protocol.startswith("SASL_")) and options.token is None:
            raise ServeError(
                "--console would show every user of this machine what a login or ACLs may keep from them: give "
                "--console-token-file",
                usage=True,
            )
        self._socket = bind(options.address, _PURPOSE)
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        host = str(self._socket.getsockname()[0])
        if not is_loopback(host) and options.token is None:
            self._socket.close()
            raise ServeError(
                f"the console on {address_text((host, options.address.port))} is open to other machines: "
                "listen on 127.0.0.1, or give --console-token-file",
                usage=True,
            )
        self.url = f"http://{address_text(self._socket.getsockname())}/"

    async def start(self, addresses: Sequence[str], records_api_url: str | None) -> None:
        """Start the child, for a broker that listens at these addresses (HOST:PORT), one of each listener. Raise
        ServeError.
        """
        begin_to_listen(self._socket, BACKLOG, _PURPOSE)  # clients that come now wait for the child
        command = [sys.executable, "-P", "-m", "shareq", "console", f"--of-broker={self._socket.fileno()}"]
        if self._options.config_file is not None:
            command.append(f"--config={self._options.config_file}")
        command += ["--", self._bootstrap(addresses)]
        handed = {
            "records_api": records_api_url,
            "token": (self._config.shareq_records_api_token or "").strip(),
            "console_token": self._options.token,
            "token_to_read": self._has_rights,
        }
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, pass_fds=(self._socket.fileno(),), env=_environment()
        )
        self._socket.close()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(handed).encode())
        self._watch = asyncio.create_task(self._notice_its_end(self._process))
        if self._options.for_commands is not None:
            logger.info(self._options.for_commands, records_api_url)

    def begin_to_stop(self) -> None:
        """Signal the child to end, without waiting for it."""
        self._socket.close()
        if self._watch is not None:
            self._watch.cancel()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    async def stop(self) -> None:
        """End the child. A second call has no effect."""
        self.begin_to_stop()
        process, self._process = self._process, None
        if process is None:
            return
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def _listener_to_ask(self) -> int:
        """Return the index of the first listener with the protocol of the console's client.

        Raise ServeError.
        """
        for place, listener in enumerate(self._config.endpoints):
            security = self._config.security[listener.name]
            protocol = ("SASL_" if security.sasl else "") + ("SSL" if security.tls is not None else "PLAINTEXT")
            if protocol == self._options.protocol:
                return place
        raise ServeError(
            f"--console: no listener has the protocol {self._options.protocol}: give --console-config with properties "
            "of a client",
            usage=True,
        )

    def _bootstrap(self, addresses: Sequence[str]) -> str:
        host, _, port = addresses[self._listener].rpartition(":")
        return f"{_NEAR.get(host, host)}:{port}"

    async def _notice_its_end(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        logger.error("the console ended with exit code %d; the broker goes on without it", code)


def _environment() -> dict[str, str]:
    """Return an environment in which the child imports the same modules as this process, wherever they are."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
