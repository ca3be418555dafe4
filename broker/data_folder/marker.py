"""`shareq.data`: the file that marks a folder as a broker's data folder, with its cluster and format. Pure.

    shareq data folder
    format 2
    cluster <22 letters of URL-safe base64>
    state new                               until metadata has been written down twice, then `state used`
    crc32c <8 hex digits>                   of everything above

Lines with other names, which a later release may add, are skipped. Formats:

    1   no such file, and no second record of metadata
    2   this file, and `metadata.journal` beside `meta.db`
"""

from __future__ import annotations

from typing import Final, NamedTuple

from shareq.broker.foundation.checked_text import content_of, lines_of, with_checksum
from shareq.broker.metadata.format_version import FORMAT_VERSION

MARKER_FILE: Final = "shareq.data"

_TITLE: Final = "shareq data folder"


class Marker(NamedTuple):
    """The content of the marker file. `used`: metadata was written, so that a folder without any has lost it."""

    cluster_id: str
    used: bool
    format_version: int = FORMAT_VERSION


def format_marker(marker: Marker) -> bytes:
    """Return the file's content."""
    state = "used" if marker.used else "new"
    text = f"{_TITLE}\nformat {marker.format_version}\ncluster {marker.cluster_id}\nstate {state}\n".encode()
    return with_checksum(text)


def parse_marker(data: bytes) -> Marker:
    """Return the content of a marker, which may be of a later format. Raise ValueError if it is damaged."""
    text = content_of(data)
    if text is None:
        raise ValueError("its checksum is missing")
    title, *lines = lines_of(text.decode("ascii"))
    fields = dict(line.partition(" ")[::2] for line in lines)
    if title != _TITLE or not {"format", "cluster", "state"} <= fields.keys():
        raise ValueError("it is no marker of a data folder")
    return Marker(fields["cluster"], fields["state"] == "used", int(fields["format"]))
