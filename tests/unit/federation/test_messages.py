"""Requests are the hub's, for one site, timely; answers are to one request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from discreet.errors import ParameterError
from discreet.federation.messages import (
    WINDOW,
    Message,
    answer,
    is_answer,
    is_site_statement,
    request,
    why_not,
)
from discreet.release.signature import Signer

HUB, SITE, OTHER = Signer.throwaway(), Signer.throwaway(), Signer.throwaway()
NOW = 1_800_000_000.0


def asked(**changed: Any) -> Message:
    return request(HUB, "d" * 64, "aland", "figures", {"class": "sex"}, NOW)


def reason(
    message: Message, now: float = NOW, site: str = "aland", document: str = "d" * 64
) -> str:
    return why_not(message, HUB.public, document, site, now)


def test_a_request_of_the_hub_is_taken() -> None:
    assert reason(Message.unpack(asked().pack())) == ""


def test_two_requests_for_the_same_have_different_nonces() -> None:
    assert asked().statement["nonce"] != asked().statement["nonce"]


def test_a_request_signed_by_another_is_not_the_hubs() -> None:
    forged = request(OTHER, "d" * 64, "aland", "figures", {}, NOW)
    assert reason(forged) == "not signed by the hub"
    assert reason(replace(asked(), proof={**forged.proof, "key": HUB.public.hex()})) != ""


@pytest.mark.parametrize("name", ["body", "kind", "nonce", "time", "site", "document"])
def test_a_changed_request_is_not_the_hubs(name: str) -> None:
    proof = asked().proof
    changed = {**proof, "statement": {**proof["statement"], name: "another"}}
    assert reason(Message(changed)) == "not signed by the hub"


def test_bytes_behind_a_request_are_refused() -> None:
    assert reason(replace(asked(), payload=b"more")) == "not signed by the hub"


def test_a_request_is_for_one_site_and_one_document() -> None:
    assert reason(asked(), site="borg") == "for another site"
    assert reason(asked(), document="e" * 64) == "another document"


@pytest.mark.parametrize("late", [-WINDOW, WINDOW])
def test_the_window_of_time_has_an_edge(late: int) -> None:
    assert reason(asked(), NOW + late) == ""
    assert reason(asked(), NOW + late + (1 if late > 0 else -1)) == "too old or too new"


def test_an_answer_is_to_one_request_and_of_one_site() -> None:
    one, other = asked(), asked()
    told = Message.unpack(answer(SITE, one, "figures", {"cells": 2}, b"figures").pack())
    assert is_answer(told, SITE.public, one)
    assert not is_answer(told, SITE.public, other)
    assert not is_answer(told, OTHER.public, one)
    assert not is_answer(replace(told, payload=b"figureS"), SITE.public, one)
    assert not is_answer(answer(SITE, one, "masked", {}), SITE.public, one)


def test_a_request_is_no_answer() -> None:
    assert not is_site_statement(asked().proof, HUB.public)


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"\n", b'{"statement": 3}', b"\xff\n"])
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    with pytest.raises(ParameterError):
        Message.unpack(raw)
