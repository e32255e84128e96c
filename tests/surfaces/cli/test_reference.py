"""The pages of the reference say what the program, the core and the API do: no more, no less, in the same words."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from tests.core.boards import key, tool
from tests.surfaces.rest.desk import at_desk

from pegboard.bootstrap.launcher import CommandLauncher
from pegboard.config.keys.root import OAUTH_SECTION, SERVER
from pegboard.core.decision.status import (
    ChangedSinceApproval,
    DeniedByPattern,
    LockStatus,
    OwnerOff,
    ProviderUnavailable,
    ServerInQuarantine,
    SwitchedOff,
    UndeterminedState,
    explain_reason,
    status_of,
    status_remedy,
)
from pegboard.core.model.catalogue import ProviderDown
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.text import Audience
from pegboard.core.policy.policy import Switch
from pegboard.surfaces.cli.main import command_tree
from pegboard.surfaces.cli.output import Exit
from pegboard.surfaces.mcp.view import OPTION_BY_HEADER

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
SHARED = {"--config", "--data-dir", "--json", "--help"}


def sections(page: str) -> Mapping[str, str]:
    parts = re.split(r"^## (.+)$", (REFERENCE / page).read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text: str) -> list[list[str]]:
    """The rows of the tables in a text, without their heads."""
    found: list[list[str]] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        is_head = number + 1 < len(lines) and lines[number + 1].startswith("|---")
        if line.startswith("|") and not line.startswith("|---") and not is_head:
            found.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def leaves(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for each in command.list_commands(context):
        inner = command.get_command(context, each)
        assert inner is not None
        if not inner.hidden:
            yield from leaves(inner, f"{name} {each}")


COMMANDS = dict(leaves(command_tree(CommandLauncher), "pegboard"))


def options(command: click.Command) -> set[str]:
    return {
        max(option.opts, key=len)
        for option in command.get_params(click.Context(command))
        if isinstance(option, click.Option) and not option.hidden
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_told_and_no_other(name: str) -> None:
    section = sections("cli.md")[name]
    named = {word for word in re.findall(r"`(--[a-z-]+)", section) if word not in SHARED}
    assert named == options(COMMANDS[name]) - SHARED


def test_every_command_has_its_section_and_nothing_else_has() -> None:
    assert {head for head in sections("cli.md") if head.startswith("pegboard ")} == {*COMMANDS}


@pytest.mark.behaviour("cli.servers_add_takes_every_key")
def test_every_key_of_a_server_in_the_file_has_an_option_of_servers_add() -> None:
    said_otherwise = {
        "command": {"COMMAND"},
        "args": {"COMMAND"},
        "headers": {"--header"},
        "enabled": {"--disabled"},
        "timeouts": {"--start-timeout", "--call-timeout", "--stop-timeout"},
        "oauth": {"--no-oauth", *(f"--{key.name.replace('_', '-')}" for key in OAUTH_SECTION.keys)},
    }
    wanted = {
        option
        for key in SERVER.keys
        for option in said_otherwise.get(key.name, {f"--{key.name.replace('_', '-')}"})
        if option != "COMMAND"
    }
    of_no_file = {"--quarantine"}
    assert options(COMMANDS["pegboard servers add"]) - SHARED == wanted | of_no_file


@pytest.mark.behaviour("cli.json_everywhere")
def test_every_command_takes_what_every_command_has() -> None:
    lacking = {name: SHARED - options(command) for name, command in COMMANDS.items() if SHARED - options(command)}
    assert lacking == {
        "pegboard stdio": {"--json"},
        "pegboard version": {"--config", "--data-dir"},
        "pegboard search setup": {"--config"},
        "pegboard toolset new": {"--config", "--data-dir"},
        "pegboard toolset check": {"--config", "--data-dir"},
    }
    told = {
        word for row in rows(sections("cli.md")["What every command has"]) for word in re.findall(r"--[a-z-]+", row[0])
    }
    assert told == SHARED


def test_every_option_says_what_it_is_for() -> None:
    silent = [
        f"{name} {option.opts[0]}"
        for name, command in COMMANDS.items()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert silent == []
    assert [name for name, command in COMMANDS.items() if not command.help] == []


@pytest.mark.behaviour("cli.exit_codes")
def test_every_exit_code_is_documented() -> None:
    assert [int(row[0]) for row in rows(sections("cli.md")["Exit codes"])] == [int(code) for code in Exit]


NOW = datetime(2026, 1, 2, tzinfo=UTC)
DESK = key("desk~desk")
READ, MOVE = ToolId(DESK, "read_note"), ToolId(DESK, "move_note")
SPEC = tool(DESK, "read_note").spec
EXAMPLES = (
    OwnerOff(DESK, Switch(False, LOCAL_PRINCIPAL, NOW, "too loud")),
    ServerInQuarantine(DESK),
    DeniedByPattern(MOVE, Pattern("*", "move_*"), DeclaredAt("pegboard.yaml", 38)),
    SwitchedOff(READ, Switch(False, LOCAL_PRINCIPAL, NOW)),
    ChangedSinceApproval(READ, SPEC, SPEC),
    ProviderUnavailable(DESK, ProviderDown(NOW, "exited with code 3")),
    UndeterminedState(READ, "nothing is known of desk~desk"),
)


def test_the_statuses_are_told_in_their_order_with_their_own_sentences_and_remedies() -> None:
    page = (REFERENCE / "statuses.md").read_text("utf-8")
    told = [(row[0], row[2], row[3]) for row in rows(page)]
    assert told == [
        (f"`{status_of(reason).value}`", explain_reason(reason), status_remedy(status_of(reason), Audience.AGENT))
        for reason in EXAMPLES
    ]
    assert [status_of(reason) for reason in EXAMPLES] == [*LockStatus]


@pytest.mark.anyio
async def test_every_request_of_the_api_is_told() -> None:
    async with at_desk() as desk:
        described: Any = await desk.get("/openapi.json")
    requests = {f"`{method.upper()} {path}`" for path, methods in described["paths"].items() for method in methods}
    assert {row[0] for row in rows(sections("http.md")["The operator's API"])} == requests


def test_every_narrowing_header_is_told_with_its_parameter() -> None:
    named = [row for row in rows(sections("http.md")["The MCP endpoint"]) if row[0].startswith("`X-")]
    told = {(row[0].strip("`").lower(), row[1].strip("`")) for row in named}
    assert told == {*OPTION_BY_HEADER.items()}


@pytest.mark.behaviour("mcp.out.versions_are_told")
def test_every_protocol_version_is_told_and_no_other() -> None:
    (told,) = re.findall(
        r"with the protocol versions (.+?), which open a session.+?and (.+?), which has no sessions",
        " ".join(sections("http.md")["The MCP endpoint"].split()),
    )
    dates = [tuple(re.findall(r"\d{4}-\d{2}-\d{2}", each)) for each in told]
    assert dates == [HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS]


def test_every_link_of_these_pages_leads_somewhere() -> None:
    for page in ("cli.md", "statuses.md", "http.md"):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (REFERENCE / page).read_text("utf-8")):
            assert (REFERENCE / target).exists(), f"{page} links to {target}"
