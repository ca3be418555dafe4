"""RemoveRaftVoterRequest 0 and RemoveRaftVoterResponse 0.

Generated from schemas/rpc/RemoveRaftVoterRequest.json and schemas/rpc/RemoveRaftVoterResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    ZERO_UUID,
    Message,
    Tags,
    bad_uuid,
    put_compact_string,
    read_string_length,
    read_tags,
    tag_buffer,
)

_unpack_iuB = Struct(">i16sB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_iu = Struct(">i16s").pack
_pack_ih = Struct(">ih").pack


def _read_remove_raft_voter_request_0(data: bytes, pos: int) -> tuple[RemoveRaftVoterRequest, int]:
    # RemoveRaftVoterRequest, version 0
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    voter_id, voter_directory_id, n = _unpack_iuB(data, pos)
    pos += 21
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return RemoveRaftVoterRequest(cluster_id, voter_id, voter_directory_id, unknown_tags), pos


def _write_remove_raft_voter_request_0(out: bytearray, item: RemoveRaftVoterRequest) -> None:
    # RemoveRaftVoterRequest, version 0
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    if len(item.voter_directory_id) != 16:
        raise bad_uuid(item.voter_directory_id)
    out += _pack_iu(item.voter_id, item.voter_directory_id)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class RemoveRaftVoterRequest(Message):
    """Takes a controller out of the metadata quorum."""

    API_KEY = 81
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_remove_raft_voter_request_0}
    ENCODERS = {0: _write_remove_raft_voter_request_0}

    FIELDS = ("cluster_id", "voter_id", "voter_directory_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        unknown_tags: Tags = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.unknown_tags = unknown_tags


def _read_remove_raft_voter_response_0(data: bytes, pos: int) -> tuple[RemoveRaftVoterResponse, int]:
    # RemoveRaftVoterResponse, version 0
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    error_message: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        error_message = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return RemoveRaftVoterResponse(throttle_time_ms, error_code, error_message, unknown_tags), pos


def _write_remove_raft_voter_response_0(out: bytearray, item: RemoveRaftVoterResponse) -> None:
    # RemoveRaftVoterResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class RemoveRaftVoterResponse(Message):
    """Whether the voter was removed.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 81
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_remove_raft_voter_response_0}
    ENCODERS = {0: _write_remove_raft_voter_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags
