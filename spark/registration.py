"""Registering the source with a session, in such a way that several of its queries may start there at once.

Spark (4.2 and 4.3, PythonStreamingSourceRunner) keeps one map of environment variables for a registered source, and
puts these four into it when a query starts, without a lock. Two queries that start at the same moment can leave a map
that counts a variable twice: from then on no task of any query can be deserialised (java.io.OptionalDataException),
until the session ends. A variable that is in the map already does not change the map when it is put again.
"""

from __future__ import annotations

import tempfile
import threading
from typing import TYPE_CHECKING, Final

from shareq.spark.data_source import KafkaShareSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUT_BY_SPARK: Final = {
    "SPARK_LOCAL_DIRS": tempfile.gettempdir(),
    "SPARK_AUTH_SOCKET_TIMEOUT": "15",
    "SPARK_BUFFER_SIZE": "65536",
    "SPARK_PYTHON_RUNTIME": "PYTHON_WORKER",
}
"""The variables that Spark puts into the map, with the values that workers assume without them; Spark later overwrites
them.
"""

_registering: Final = threading.Lock()


def register(session: SparkSession) -> None:
    """Register the source with a session. An earlier registration, also Spark's own, is replaced."""
    context = getattr(session, "sparkContext", None)  # a Connect session has none; its server makes the map
    if context is None:
        session.dataSource.register(KafkaShareSource)
        return
    with _registering:
        added = {name: value for name, value in PUT_BY_SPARK.items() if name not in context.environment}
        context.environment.update(added)  # copied by `register`
        try:
            session.dataSource.register(KafkaShareSource)
        finally:
            for name in added:
                context.environment.pop(name, None)
