"""`shareq worker run module:app`: runs a worker, shows its work, and restarts it when its files change."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
from typing import Final

import click

from shareq.client.errors import ClientError, ConfigError
from shareq.ops.cli.shared.exits import REFUSED, USAGE, exit_with
from shareq.worker.app import Run, Worker
from shareq.worker.live import LiveLine
from shareq.worker.reload import run_again_on_changes

EPILOG: Final = """\b
Examples:
  shareq worker run packing:app
      The worker `app` of packing.py in this folder.
  shareq worker run packing:app --reload
      The same; it starts again when a .py file in this folder changes.
  shareq worker run packing:app --health 127.0.0.1:8000
      http://127.0.0.1:8000/healthz for probes, /metrics for Prometheus.

\b
SIGTERM and SIGINT: nothing more is begun, handlers finish, within --stop-timeout, the rest is released. A second
signal does not wait.

\b
Exit codes: 0 stopped by a signal, 1 the cluster refused or is away, 2 wrong options, or no such worker.
"""


@click.group("worker")
def command() -> None:
    """Functions that work on the records of topics, as members of a share group."""


@command.command(epilog=EPILOG)
@click.argument("target", metavar="MODULE:APP")
@click.option("--reload", "reloads", is_flag=True, help="Start again when a .py file below this folder changes.")
@click.option("-b", "--bootstrap-server", metavar="HOST:PORT", help="Brokers to use instead of the worker's own.")
@click.option(
    "--health", metavar="HOST:PORT", help="The address for /healthz and /metrics, instead of the worker's own."
)
@click.option(
    "--stop-timeout",
    metavar="SECONDS",
    type=click.FloatRange(0),
    help="How long running handlers may continue after SIGTERM.",
)
@click.option("--quiet", is_flag=True, help="Print no status line.")
@click.option(
    "--log-level",
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
    default="INFO",
    show_default=True,
    help="The level of the log on standard error.",
)
def run(
    target: str,
    reloads: bool,
    bootstrap_server: str | None,
    health: str | None,
    stop_timeout: float | None,
    quiet: bool,
    log_level: str,
) -> None:
    """Run the worker APP of the module MODULE until SIGTERM or SIGINT."""
    if reloads:
        given = [argument for argument in sys.argv[1:] if argument != "--reload"]
        # Only the worker's module is looked for in this folder (`load`), and only once everything of ours is imported.
        raise SystemExit(run_again_on_changes([sys.executable, "-P", "-m", "shareq", *given], os.getcwd()))
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    app = load(target)
    if bootstrap_server is not None:
        app.bootstrap_servers = bootstrap_server
    app.health = health if health is not None else app.health
    app.stop_s = stop_timeout if stop_timeout is not None else app.stop_s
    live = None if quiet else LiveLine(sys.stderr)
    try:
        asyncio.run(_serve(app, live))
    except ConfigError as error:
        exit_with(USAGE, str(error))
    except ClientError as error:
        exit_with(REFUSED, str(error))


async def _serve(app: Worker, live: LiveLine | None) -> None:
    showing: list[asyncio.Task[None]] = []

    def look(run: Run) -> None:
        names = ", ".join(f"{lane.counts.name} ({lane.counts.concurrency})" for lane in run.lanes)
        click.echo(f"shareq worker: group {app.group}: {names}", err=True)
        if live is not None:
            showing.append(asyncio.create_task(live.show(run)))

    try:
        await app.serve(signals=True, look=look)
    finally:
        for task in showing:
            task.cancel()
        await asyncio.gather(*showing, return_exceptions=True)


def load(target: str) -> Worker:
    """Return the worker that MODULE:APP names, also from a module of the current folder.

    Ends the command if there is none.
    """
    name, _, attribute = target.partition(":")
    if not name or not attribute:
        exit_with(USAGE, f"{target}: must be MODULE:APP, for example packing:app")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except ConfigError as error:  # of a handler's signature, an option
        exit_with(USAGE, f"{target}: {error}")
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            exit_with(USAGE, f"{target}: there is no module {error.name} in {os.getcwd()} or on Python's path")
        raise
    found = getattr(module, attribute, None)
    if not isinstance(found, Worker):
        workers = [key for key, value in vars(module).items() if isinstance(value, Worker)]
        has = f"it has {', '.join(workers)}" if workers else "it has none"
        exit_with(USAGE, f"{target}: {attribute} is no shareq.worker.Worker of {name}; {has}")
    return found
