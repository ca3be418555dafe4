"""Certificates for tests, made by the openssl command: an authority, and those it has signed. Valid for two days."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

KEY_PASSWORD = "key to the key"


def why_unavailable() -> str | None:
    """Return the reason why no certificates can be made, or None."""
    return None if shutil.which("openssl") else "openssl is not on the PATH"


@dataclass(frozen=True, slots=True)
class Signed:
    """PEM files: a certificate, its key, the key under KEY_PASSWORD, and certificate and key in one."""

    certificate: Path
    key: Path
    locked_key: Path
    both: Path


class Authority:
    """A certificate authority of its own, in a folder."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = folder / f"{name}.key"
        self.certificate = folder / f"{name}.pem"
        _openssl("req", "-x509", *_NEW_KEY, "-keyout", self._key, "-out", self.certificate, "-subj", f"/CN={name}")

    def sign(self, name: str, *alternatives: str, subject: str | None = None, days: int = 2) -> Signed:
        """Sign a certificate that is valid for `days` from now; -1: it expired yesterday.

        `alternatives`: as in `DNS:localhost` and `IP:127.0.0.1`; none for a client. `subject`: in openssl's format, if
        it is more than the common name.
        """
        file = {part: self._folder / f"{name}.{part}" for part in ("key", "csr", "pem", "ext", "locked", "both")}
        _openssl("req", *_NEW_KEY, "-keyout", file["key"], "-out", file["csr"], "-subj", subject or f"/CN={name}")
        file["ext"].write_text(f"subjectAltName={','.join(alternatives)}\n" if alternatives else "")
        authority = ("-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial", "-days", days)
        _openssl("x509", "-req", "-in", file["csr"], *authority, "-extfile", file["ext"], "-out", file["pem"])
        _openssl("pkcs8", "-topk8", "-in", file["key"], "-out", file["locked"], "-passout", f"pass:{KEY_PASSWORD}")
        file["both"].write_text(file["key"].read_text() + file["pem"].read_text())
        return Signed(file["pem"], file["key"], file["locked"], file["both"])

    def server_context(self, signed: Signed, *, ask_clients: bool = False) -> ssl.SSLContext:
        """Return a server's context with this certificate; `ask_clients` requires one from this authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(signed.certificate, signed.key)
        if ask_clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.certificate)
        return context


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256")


def _openssl(*arguments: object) -> None:
    command = ["openssl", *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
