"""A command's access to a broker's records API: options, the environment, a profile; the first wins."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from shareq.ops.cli.shared.command import Session
from shareq.ops.cli.shared.exits import USAGE, exit_with, warn_of_readers
from shareq.ops.cli.shared.profile import profile_settings
from shareq.ops.records_api import RecordsApi

GIVE_API: Final = "--api URL --api-token-file FILE, of shareq serve --records-api or --console"


def api_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options `api` and `api_token_file` to a command."""
    url = click.option("--api", metavar="URL", help="The records API of shareq to use, if any [SHAREQ_API_URL].")
    token = click.option(
        "--api-token-file",
        metavar="FILE",
        help="The file with the records API's token [SHAREQ_API_TOKEN_FILE, SHAREQ_API_TOKEN].",
    )
    return url(token(function))


def records_api(
    session: Session, url: str | None, token_file: str | None, environment: Mapping[str, str] = os.environ
) -> RecordsApi | None:
    """Return the API of these options; None if they name none. Ends the command if they are invalid."""
    profile = profile_settings(session.profile, environment)
    url = url or environment.get("SHAREQ_API_URL") or profile.get("api.url")
    if not url:
        if token_file is not None:
            exit_with(USAGE, "--api-token-file: give --api, too")
        return None
    token_file = token_file or environment.get("SHAREQ_API_TOKEN_FILE")
    token = None if token_file else environment.get("SHAREQ_API_TOKEN")
    if token is None and token_file is None:
        token_file, token = profile.get("api.token.file"), profile.get("api.token")
    if token_file is not None:
        token = _read(token_file)
        warn_of_readers("--api-token-file", token_file)
    if not token:
        exit_with(
            USAGE, "--api: it needs a token: --api-token-file FILE, SHAREQ_API_TOKEN, or api.token.file of a profile"
        )
    return RecordsApi(
        url, token.strip(), tls=session.config.tls, timeout_s=session.config.default_api_timeout_ms / 1000
    )


def _read(path: str) -> str:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no UTF-8"
        exit_with(USAGE, f"--api-token-file {path}: {reason}")
