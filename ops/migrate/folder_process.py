"""The process that serves a data folder to a migration: a broker at a free port of this machine, for its parent alone.

It reads one line of JSON from standard input, the request, and writes one to standard output: the broker's address, or
why there is no broker. It ends with its standard input, which the system closes with the parent, however that ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.data_folder.ownership import DataFolderError, look_at_folder
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.process import logging_setup
from shareq.broker.process.serve import Wanted, serve_forever
from shareq.broker.process.sockets import ServeError
from shareq.ops.migrate.folder import USER

if TYPE_CHECKING:
    from shareq.broker.process.server import Server

_LONGEST_MINUTES: Final = 2**31 - 1
_PROPERTIES: Final = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:{USER}",
    # Nothing is removed because of the time that the folder lay still: that is for the broker that serves it.
    "log.retention.ms": "-1",
    "log.cleaner.enable": "false",
    "offsets.retention.minutes": str(_LONGEST_MINUTES),
}


def main() -> None:
    """Serve the folder until the parent has no more use for it, or ends."""
    wanted = json.loads(_line())
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    logging_setup.configure(logging_setup.parse_levels("WARNING"), "text")
    try:
        if _is_new(wanted["folder"]) and wanted["use"] != "to":
            if wanted["use"] == "from":
                raise ServeError(f"data folder {wanted['folder']} is absent or empty: there is nothing to move")
            with tempfile.TemporaryDirectory(prefix="shareq-") as folder:
                _serve(os.path.join(folder, "data"), wanted)
        else:
            _serve(wanted["folder"], wanted)
    except (DataFolderError, ServeError, OSError) as error:
        _say({"error": str(error)})


def _line() -> bytes:
    """Return the first line of standard input, unbuffered, so that the bytes after it stay unread."""
    found = bytearray()
    while not found.endswith(b"\n") and (byte := os.read(0, 1)):
        found += byte
    return bytes(found)


def _end_with_the_parent() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _is_new(folder: str) -> bool:
    return look_at_folder(OsFs(lambda call: call()), folder).fresh


def _serve(folder: str, wanted: Mapping[str, Any]) -> None:
    login = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{wanted["password"]}";'
    jaas = {"listener.name.sasl_plaintext.plain.sasl.jaas.config": login}
    config = BrokerConfig.load({**_PROPERTIES, **jaas, "log.dir": folder})

    def ready(server: Server, _console_url: str | None) -> None:
        _say({"bootstrap": server.addresses[0]})

    serve_forever(Wanted(config, {}, None, ()), ready=ready)


def _say(line: Mapping[str, str]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
