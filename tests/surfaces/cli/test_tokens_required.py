"""`pegboard serve` on a board that required tokens and has none any more: it refuses, until it is told to be open."""

import json
from pathlib import Path

import httpx2
import pytest
from tests.surfaces.cli.terminal import Pegboard, board, serving

from pegboard.gateway.access.token_requirement import REFUSAL


@pytest.mark.behaviour("access.requirement_is_remembered", "access.never_reopens")
def test_neither_an_empty_store_nor_a_shorter_file_opens_a_gateway_that_required_tokens(
    pegboard: Pegboard, home: Path
) -> None:
    data = home / "data"
    config = board(home / "pegboard.yaml", {})
    made = pegboard("tokens", "make", "agent", "--scope", "call", "--data-dir", data)
    assert made.code == 0
    (data / "pegboard.db").rename(home / "old.db")
    refused = pegboard("serve", "--config", config, "--data-dir", data, "--port", "0")
    assert (refused.code, refused.err.splitlines()[-1]) == (5, f"pegboard: {REFUSAL}")
    with serving(home, config, data, "--open") as gateway:
        assert httpx2.post(str(gateway.told["endpoint"]), json={}).status_code != 401
    assert not (data / "tokens-required").exists()


@pytest.mark.behaviour("policy.import_needs_tokens")
def test_a_policy_of_a_board_with_tokens_is_refused_by_one_without(pegboard: Pegboard, home: Path) -> None:
    board(home / "pegboard.yaml", {})
    assert pegboard("tokens", "make", "agent", "--scope", "call").code == 0
    assert pegboard("policy", "export", "--to", "policy.json").code == 0
    assert json.loads((home / "policy.json").read_text())["tokens_required"] is True
    fresh = ("--data-dir", str(home / "fresh"))
    for said in ([], ["--yes"]):
        refused = pegboard("policy", "import", "policy.json", *said, *fresh)
        assert (refused.code, "comes from a board that requires tokens" in refused.err, refused.out) == (5, True, "")
    assert pegboard("policy", "diff", "policy.json", *fresh).code == 0, "to look at it needs no token"
    assert pegboard("policy", "import", "policy.json", "--open", *fresh).out.endswith("Do it: --yes\n")
    assert pegboard("policy", "import", "policy.json", "--yes", "--open", *fresh).code == 0
