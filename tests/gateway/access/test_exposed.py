"""A gateway that other machines reach has no user of its own machine who could confirm calls in a client by default."""

import socket
from types import SimpleNamespace
from typing import cast

import pytest

from pegboard.bootstrap.application import Application
from pegboard.bootstrap.serve import mark_exposed
from pegboard.config.settings import Settings, load_settings_text
from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState


@pytest.mark.behaviour("confirmation.interactive")
@pytest.mark.parametrize(
    ("host", "file", "interactive"),
    [
        ("127.0.0.1", "", True),
        ("0.0.0.0", "", False),
        ("127.0.0.1", "gateway: {url: 'https://board.example.org'}", False),
        ("127.0.0.1", "gateway: {trusted_proxies: [127.0.0.1]}", False),
        ("127.0.0.1", "gateway: {allowed_hosts: ['board.example.org:*']}", False),
        ("127.0.0.1", "gateway: {allowed_hosts: ['localhost:8460', '[::1]:*', 127.0.0.2]}", True),
        ("127.0.0.1", "gateway: {allowed_origins: ['https://app.example.org']}", False),
        ("127.0.0.1", "gateway: {allowed_origins: ['http://localhost:*', 'http://[::1]:3000']}", True),
    ],
)
def test_only_a_gateway_that_nobody_else_reaches_has_an_interactive_local(
    host: str, file: str, interactive: bool
) -> None:
    board = BoardState(Policy())
    settings = load_settings_text(file, "pegboard.yaml")
    assert isinstance(settings, Settings)
    house = cast(Application, SimpleNamespace(gateway=SimpleNamespace(board=board), settings=settings))
    with socket.socket() as listener:
        listener.bind((host, 0))
        mark_exposed(house, listener)
    assert board.policy.interactive_mark(LOCAL_PRINCIPAL).is_marked is interactive
