"""Apache Kafka's console tools: producer, consumer and share consumer, with `--command-config`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

from devtools.kafka.apache_kafka import class_path, quick_java
from tests.interop.support.clients.commands import JAVA_TOKENS, OAUTHBEARER, Unavailable, java_security, properties_text
from tests.interop.support.java_driver import JavaDriver, why_no_java
from tests.interop.support.json_process import ProgramError
from tests.support.processes import finished

TIMEOUT_S: Final = 60


class JavaTools:
    """A client with the commands `produce`, `fetch` and `share`, and only topic, group, count and values.

    Raises Unavailable without Java.
    """

    def __init__(self) -> None:
        if (missing := why_no_java()) is not None:
            raise Unavailable(missing)
        self._java = JavaDriver()
        self._folder = tempfile.TemporaryDirectory(prefix="shareq-tools-")

    def call(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Run a command. Raise ProgramError with the tool's output."""
        config = Path(self._folder.name) / "client.properties"
        login = arguments.get("login")
        handler = JAVA_TOKENS if login is not None and login["mechanism"] == OAUTHBEARER else {}
        config.write_text(properties_text(java_security(login, arguments.get("tls")) | handler))
        address = ("--bootstrap-server", arguments["bootstrap"], "--command-config", str(config))
        common = [*address, "--topic", arguments["topic"]]
        if do == "produce":
            return _produce(common, arguments["values"])
        count = ("--max-messages", str(arguments["count"]), "--timeout-ms", str(TIMEOUT_S * 500))
        if do == "fetch":
            place = ("--partition", "0", "--offset", "earliest")
            values = self._lines("consumer.ConsoleConsumer", *common, *place, *count)
            return {"records": [{"offset": offset, "value": value} for offset, value in enumerate(values)]}
        assert do == "share"
        group = ("--group", arguments["group"])
        values = self._lines("consumer.ConsoleShareConsumer", *common, *group, *count)
        return {"deliveries": [[value, 1] for value in values]}

    def _lines(self, tool: str, *arguments: str) -> list[str]:
        result = self._java.tool(tool, *arguments)
        if f"Processed a total of {arguments[arguments.index('--max-messages') + 1]} messages" not in result.err:
            raise ProgramError(result.output)
        return result.out.splitlines()

    def close(self) -> None:
        self._java.close()
        self._folder.cleanup()


def _produce(common: list[str], values: list[str]) -> dict[str, Any]:
    command = [*quick_java(), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    command += ["-cp", class_path(), "org.apache.kafka.tools.ConsoleProducer", *common]
    given = "".join(f"{value}\n" for value in values)
    done = finished(command, stdin=given, timeout_s=TIMEOUT_S)
    if done.returncode or "ERROR" in done.stderr:
        raise ProgramError(done.stdout + done.stderr)
    return {}
