"""The dialogue on one connection, byte by byte: versions, login, and the request of each answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shareq.client.errors import AuthenticationFailed, BrokerError, UnsupportedApi
from shareq.client.protocol import ConnectionProtocol, Setup
from shareq.client.security.config import SaslConfig
from shareq.client.security.sasl import sasl_client
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.generated.api_versions import ApiVersion, ApiVersionsResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeResponse
from shareq.protocol.headers import decode_request_header, response_header
from shareq.protocol.primitives import Message, UnencodableMessage

KAFKA_4 = {ApiKey.METADATA: (0, 13), ApiKey.API_VERSIONS: (0, 4), ApiKey.SASL_AUTHENTICATE: (0, 2)}
KAFKA_4[ApiKey.SASL_HANDSHAKE] = (0, 1)


def protocol(mechanism: str = "", user: str = "carol", password: str = "looking-glass") -> ConnectionProtocol:
    config = SaslConfig(mechanism, user, password)
    return ConnectionProtocol(
        "broker 1 at one:9092", "me", (lambda: sasl_client(config, "n")) if mechanism else None, mechanism
    )


def answer(request: bytes, message: Message, version: int | None = None, correlation_id: int | None = None) -> bytes:
    header = decode_request_header(request)
    version = header.api_version if version is None else version
    number = header.correlation_id if correlation_id is None else correlation_id
    return response_header(header.api_key, version, number) + message.encode(version)


def api_versions(offered: dict[ApiKey, tuple[int, int]], error: ErrorCode = ErrorCode.NONE) -> ApiVersionsResponse:
    return ApiVersionsResponse(error, [ApiVersion(key, lowest, highest) for key, (lowest, highest) in offered.items()])


def negotiated(offered: dict[ApiKey, tuple[int, int]]) -> ConnectionProtocol:
    dialogue = protocol()
    setup = dialogue.setup()
    with pytest.raises(StopIteration):
        setup.send(answer(next(setup), api_versions(offered)))
    return dialogue


def test_the_first_request_asks_for_versions_in_the_newest_version() -> None:
    frame = next(protocol().setup())
    header = decode_request_header(frame)
    assert (header.api_key, header.api_version, header.client_id) == (ApiKey.API_VERSIONS, 5, "me")


def test_an_old_broker_says_in_version_0_what_it_knows() -> None:
    """The client asks again in the version that the old broker returns in version 0 (KIP-511)."""
    dialogue = protocol()
    setup = dialogue.setup()
    refusal = api_versions({ApiKey.API_VERSIONS: (0, 2)}, ErrorCode.UNSUPPORTED_VERSION)
    second = setup.send(answer(next(setup), refusal, version=0))
    assert decode_request_header(second).api_version == 2
    with pytest.raises(StopIteration):
        setup.send(answer(second, api_versions(KAFKA_4)))
    assert dialogue.version(ApiKey.METADATA) == 13


def test_a_broker_that_knows_no_version_at_all() -> None:
    setup = protocol().setup()
    request = next(setup)
    refusal = api_versions({}, ErrorCode.UNSUPPORTED_VERSION)
    request = setup.send(answer(request, refusal, version=0))
    assert decode_request_header(request).api_version == 0
    with pytest.raises(BrokerError, match="UNSUPPORTED_VERSION"):
        setup.send(answer(request, refusal, version=0))


def test_a_broker_that_fails_to_answer() -> None:
    setup = protocol().setup()
    with pytest.raises(BrokerError, match=r"^broker 1 at one:9092: ApiVersions: UNKNOWN_SERVER_ERROR"):
        setup.send(answer(next(setup), api_versions({}, ErrorCode.UNKNOWN_SERVER_ERROR)))


@pytest.mark.parametrize(("offered", "picked"), [((0, 5), 5), ((3, 99), 13), ((13, 99), 13)])
def test_the_highest_version_both_know(offered: tuple[int, int], picked: int) -> None:
    assert negotiated({ApiKey.METADATA: offered}).version(ApiKey.METADATA) == picked


def test_a_broker_without_share_groups_is_named_with_what_has_them() -> None:
    with pytest.raises(UnsupportedApi) as caught:
        negotiated(KAFKA_4).version(ApiKey.SHARE_FETCH)
    assert str(caught.value) == (
        "broker 1 at one:9092 does not offer ShareFetch; version 1 or later is needed: share groups need Apache Kafka"
        " 4.1 or later, with the feature share.version at 1"
    )


def test_a_broker_without_renewals_is_named_with_what_has_them() -> None:
    with pytest.raises(UnsupportedApi) as caught:
        negotiated({ApiKey.SHARE_ACKNOWLEDGE: (1, 1)}).version(ApiKey.SHARE_ACKNOWLEDGE, 2)
    assert str(caught.value) == (
        "broker 1 at one:9092 offers ShareAcknowledge in versions 1-1 only; version 2 or later is needed: renewing"
        " acquisition locks needs Apache Kafka 4.2 or later"
    )


def test_a_broker_that_is_too_new() -> None:
    with pytest.raises(UnsupportedApi, match="offers Metadata in versions 14-20 only"):
        negotiated({ApiKey.METADATA: (14, 20)}).version(ApiKey.METADATA)


def test_answers_belong_to_the_requests_in_their_order() -> None:
    dialogue = negotiated(KAFKA_4)
    requests = [dialogue.request(MetadataRequest([])) for _ in range(2)]
    assert dialogue.in_flight == 2
    for number, request in enumerate(requests):
        got = dialogue.answer(answer(request, MetadataResponse(controller_id=number)))
        assert isinstance(got, MetadataResponse)
        assert got.controller_id == number


def test_an_answer_to_another_request_is_not_taken() -> None:
    dialogue = negotiated(KAFKA_4)
    request = dialogue.request(MetadataRequest([]))
    with pytest.raises(MalformedMessage, match="answer to request 99"):
        dialogue.answer(answer(request, MetadataResponse(), correlation_id=99))


def test_an_answer_that_was_not_requested() -> None:
    with pytest.raises(MalformedMessage, match="4 bytes that were not requested"):
        negotiated(KAFKA_4).answer(b"1234")


@pytest.mark.parametrize("size", [0, 3, 5])
def test_answers_cut_short(size: int) -> None:
    setup = protocol().setup()
    frame = answer(next(setup), api_versions(KAFKA_4))[:size]
    with pytest.raises(MalformedMessage):
        setup.send(frame)


def login(mechanism: str, first: Callable[[bytes], Message]) -> tuple[ConnectionProtocol, Setup, bytes]:
    """Log in after ApiVersions, with `first` answering the handshake. Return the next frame, too."""
    dialogue = protocol(mechanism)
    setup = dialogue.setup()
    handshake = setup.send(answer(next(setup), api_versions(KAFKA_4)))
    assert decode_request_header(handshake).api_key == ApiKey.SASL_HANDSHAKE
    return dialogue, setup, setup.send(answer(handshake, first(handshake)))


def test_plain_login() -> None:
    dialogue, setup, frame = login("PLAIN", lambda _: SaslHandshakeResponse(0, ["PLAIN"]))
    header = decode_request_header(frame)
    token = SaslAuthenticateRequest.decode(frame, header.api_version, header.body_offset)[0]
    assert bytes(token.auth_bytes) == b"\0carol\0looking-glass"
    with pytest.raises(StopIteration):
        setup.send(answer(frame, SaslAuthenticateResponse(error_message=None, session_lifetime_ms=9000)))
    assert dialogue.session_lifetime_ms == 9000


def test_a_mechanism_the_listener_does_not_have() -> None:
    refusal = SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["SCRAM-SHA-256", "SCRAM-SHA-512"])
    with pytest.raises(AuthenticationFailed) as caught:
        login("PLAIN", lambda _: refusal)
    assert str(caught.value) == (
        "broker 1 at one:9092 has no PLAIN on this listener; it has SCRAM-SHA-256, SCRAM-SHA-512"
    )


def test_a_wrong_password_is_said_in_the_brokers_words_without_the_password() -> None:
    _, setup, frame = login("PLAIN", lambda _: SaslHandshakeResponse(0, ["PLAIN"]))
    refusal = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "Invalid username or password")
    with pytest.raises(AuthenticationFailed) as caught:
        setup.send(answer(frame, refusal))
    assert str(caught.value) == "broker 1 at one:9092: PLAIN: Invalid username or password"


def test_a_broker_that_cannot_do_scram_is_named() -> None:
    _, setup, frame = login("SCRAM-SHA-256", lambda _: SaslHandshakeResponse(0, ["SCRAM-SHA-256"]))
    with pytest.raises(AuthenticationFailed, match=r"^broker 1 at one:9092: SCRAM-SHA-256: .* not valid"):
        setup.send(answer(frame, SaslAuthenticateResponse(error_message=None, auth_bytes=b"nonsense")))


def test_the_login_again_on_a_connection_in_use() -> None:
    dialogue, setup, frame = login("PLAIN", lambda _: SaslHandshakeResponse(0, ["PLAIN"]))
    done = SaslAuthenticateResponse(error_message=None, session_lifetime_ms=5)
    with pytest.raises(StopIteration):
        setup.send(answer(frame, done))
    again = dialogue.log_in()
    token = again.send(answer(next(again), SaslHandshakeResponse(0, ["PLAIN"])))
    with pytest.raises(StopIteration):
        again.send(answer(token, done))
    assert dialogue.in_flight == 0


def test_a_version_that_cannot_say_what_is_asked_is_one_that_is_too_old() -> None:
    dialogue = negotiated({**KAFKA_4, ApiKey.METADATA: (0, 0)})
    with pytest.raises(UnsupportedApi, match=r"broker 1 at one:9092 offers too old a version: .*auto_topic_creation"):
        dialogue.request(MetadataRequest([], allow_auto_topic_creation=False))


def test_a_request_that_no_version_can_say_is_the_callers_fault() -> None:
    dialogue = negotiated({**KAFKA_4, ApiKey.METADATA: (0, 9)})
    with pytest.raises(UnencodableMessage):
        dialogue.request(MetadataRequest([MetadataRequestTopic(name=7)]))  # type: ignore[arg-type]
