"""The `DOCSPACE_*` variables: read as today's users know them, onto the same board."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.config.loading import settings
from tests.core.boards import NOW

from pegboard.config.docspace import BoardWithDocSpace, from_environment
from pegboard.config.docspace_toolsets import TOOLSETS
from pegboard.core.decision.resolve import OpenTool, resolve
from pegboard.core.model.catalogue import Catalogue, Listing, ProviderUp, build_catalogue
from pegboard.core.model.ids import ToolId, ToolsetKey
from pegboard.core.model.selection import Selection, View
from pegboard.core.model.settings import PresentationMode
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.web_api import CallerCredentialRules, WebApi
from pegboard.core.policy.policy import DeclaredSettings, Policy

GOOD = {"DOCSPACE_BASE_URL": "http://127.0.0.1:18931/", "DOCSPACE_API_KEY": "sk-test"}
RECORDED = json.loads((Path(__file__).parents[1] / "core" / "recorded_selections.json").read_text("utf-8"))
WRONG = "Parsing environment variables\n\t\t"


def hung(environ: Mapping[str, str], board: DeclaredSettings | None = None) -> BoardWithDocSpace:
    return from_environment(board or DeclaredSettings(), environ)


def reached(environ: Mapping[str, str], board: DeclaredSettings | None = None) -> WebApi:
    found = Policy(hung(environ, board).board).web_api
    assert found is not None
    return found


def listed() -> Catalogue:
    return build_catalogue(
        Listing(key, ProviderUp(NOW), tuple(Tool(ToolId(key, name), ToolSpec(name)) for name in names))
        for id, names in TOOLSETS.items()
        for key in (ToolsetKey(id),)
    )


def opened(board: DeclaredSettings) -> list[str]:
    resolution = resolve(listed(), Policy(board), View())
    assert resolution.unknown_in_selection == ()
    return sorted(id.name for id, verdict in resolution.verdicts.items() if isinstance(verdict, OpenTool))


def variables(given: Mapping[str, str]) -> dict[str, str]:
    names = {"toolsets": "TOOLSETS", "enabled": "ENABLED_TOOLS", "disabled": "DISABLED_TOOLS"}
    return GOOD | {f"DOCSPACE_{names[name]}": value for name, value in given.items()}


def test_without_any_of_them_there_is_no_docspace() -> None:
    assert hung({"PATH": "/bin", "DOCSPACE_": "x", "MY_DOCSPACE_API_KEY": "x"}) == BoardWithDocSpace(DeclaredSettings())


@pytest.mark.behaviour("docspace.environment")
def test_they_are_one_docspace_whose_secrets_stay_in_the_environment() -> None:
    environ = {**GOOD, "DOCSPACE_API_KEY": " sk-test ", "DOCSPACE_USER_AGENT": " me ", "DOCSPACE_PASSWORD": ""}
    assert reached(environ) == WebApi(
        "docspace",
        "DocSpace",
        base_url="http://127.0.0.1:18931/",
        api_key="${DOCSPACE_API_KEY}",
        user_agent="me",
    )
    loaded = settings("", environ).declared
    assert Policy(loaded).web_api == reached(environ)
    assert {str(server.origin) for server in loaded.servers.values()} == {"the environment (DOCSPACE_*)"}


@pytest.mark.behaviour("docspace.environment", "selection.recorded_cases")
@pytest.mark.parametrize(
    "case", [case for case in RECORDED["cases"] if "request" not in case], ids=lambda case: str(case["name"])
)
def test_their_selection_is_the_recorded_one(case: Mapping[str, Any]) -> None:
    environ = variables(case["global"])
    ((kind, expected),) = case["recorded"].items()
    match kind:
        case "tools":
            assert opened(hung(environ).board) == expected
        case "unknown":
            lines = reached(environ).problem.split("\n\t\t")
            assert [line.partition("Unknown value: ")[2].strip() for line in lines[1:]] == expected
        case _:
            assert reached(environ).problem == "No tools left"
            assert len(opened(hung(environ).board)) == 23, "what is misconfigured is shown whole, with the reason"


@pytest.mark.behaviour("docspace.environment")
def test_their_selection_takes_nothing_away_from_others() -> None:
    board = hung({**GOOD, "DOCSPACE_TOOLSETS": "people"}).board
    other = Tool(ToolId(ToolsetKey(next(iter(TOOLSETS))), "of_another_provider"), ToolSpec("of_another_provider"))
    with_other = build_catalogue((*listed().listings.values(), Listing(other.id.source, ProviderUp(NOW), (other,))))
    resolution = resolve(with_other, Policy(board), View())
    assert [id.name for id in resolution.open_ids] == ["of_another_provider", "get_all_people"]


@pytest.mark.behaviour("docspace.environment")
@pytest.mark.parametrize(
    ("more", "issues"),
    [
        (
            {"TOOLSETS": "Foo, bar ,foo"},
            ["TOOLSETS: custom Unknown value: Foo", "TOOLSETS: custom Unknown value:  bar "],
        ),
        ({"ENABLED_TOOLS": "all"}, ["ENABLED_TOOLS: custom Unknown value: all"]),
        ({"DISABLED_TOOLS": "list_tools"}, ["DISABLED_TOOLS: custom Unknown value: list_tools"]),
        (
            {"REQUEST_HEADER_PREFIX": "X-Foo-"},
            ["REQUEST_HEADER_PREFIX: custom Expected x-mcp- or nothing, but got x-foo-"],
        ),
        ({"BASE_URL": "not a url"}, ["BASE_URL: custom Expected a valid URL, but got not a url"]),
        (
            {"BASE_URL": "http://h/?a=1#x"},
            [
                "BASE_URL: custom Expected a URL without search parameters, but got http://h/?a=1#x",
                "BASE_URL: custom Expected a URL without hash, but got http://h/?a=1#x",
            ],
        ),
        (
            {"BASE_URL": "localhost:8080"},
            ["BASE_URL: custom Expected a URL that begins with http:// or https://, but got localhost:8080"],
        ),
        (
            {"DYNAMIC": "x", "TOOLSETS": "q", "REQUEST_QUERY": "maybe"},
            [
                "DYNAMIC: custom Expected one of: yes, y, true, 1, no, n, false, 0, but got x",
                "TOOLSETS: custom Unknown value: q",
                "REQUEST_QUERY: custom Expected one of: yes, y, true, 1, no, n, false, 0, but got maybe",
            ],
        ),
    ],
)
def test_all_that_cannot_be_read_is_told_at_once_in_the_recorded_words(
    more: Mapping[str, str], issues: list[str]
) -> None:
    environ = GOOD | {f"DOCSPACE_{name}": value for name, value in more.items()}
    assert reached(environ).problem == WRONG + "\n\t\t".join(f"DOCSPACE_{issue}" for issue in issues)


@pytest.mark.behaviour("docspace.environment")
def test_dynamic_shows_the_meta_tools_unless_the_file_says_how_tools_are_shown() -> None:
    for word, presented in (("1", "meta"), (" YES ", "meta"), ("", "direct"), ("no", "direct")):
        environ = {**GOOD, "DOCSPACE_DYNAMIC": word}
        assert hung(environ).board.presentation.presentation is PresentationMode(presented)
    assert settings("presentation: search", {**GOOD, "DOCSPACE_DYNAMIC": "1"}).declared.presentation.presentation is (
        PresentationMode.SEARCH
    )


@pytest.mark.behaviour("docspace.request_credentials")
@pytest.mark.parametrize(
    ("said", "lends"),
    [
        ({}, None),
        ({"REQUEST_HEADER_PREFIX": "X-Mcp-"}, CallerCredentialRules()),
        ({"REQUEST_AUTHORIZATION_HEADER": "1"}, CallerCredentialRules()),
        ({"REQUEST_QUERY": "yes", "REQUEST_AUTHORIZATION_HEADER": "0"}, CallerCredentialRules(authorization=False)),
        ({"REQUEST_QUERY": "0"}, None),
        ({"REQUEST_HEADER_PREFIX": "x-foo-"}, None),
        ({"REQUEST_HEADER_PREFIX": "", "REQUEST_AUTHORIZATION_HEADER": "0", "REQUEST_QUERY": "1"}, None),
        ({"API_KEY": ""}, CallerCredentialRules(is_implied=True)),
        ({"API_KEY": "", "TRANSPORT": "streamable-http"}, CallerCredentialRules()),
        ({"API_KEY": "", "USERNAME": "ada"}, None),
        ({"API_KEY": "", "APIKEY": "sk"}, None),
        ({"API_KEY": "", "REQUEST_HEADER_PREFIX": "", "REQUEST_AUTHORIZATION_HEADER": "0"}, None),
    ],
)
def test_callers_bring_credentials_where_the_variables_say_so_or_could_mean_nothing_else(
    said: Mapping[str, str], lends: CallerCredentialRules | None
) -> None:
    assert reached(GOOD | {f"DOCSPACE_{name}": value for name, value in said.items()}).lends == lends


@pytest.mark.behaviour("docspace.request_credentials")
def test_a_gateway_with_tokens_is_shared_and_callers_bring_credentials_only_where_that_is_said() -> None:
    tokens = "principals: {ada: {token: '${TOKEN}'}}"
    environ = {"DOCSPACE_BASE_URL": "http://127.0.0.1:18931/", "TOKEN": "a-token-of-16-characters"}
    for said, lends in (({}, None), ({"DOCSPACE_REQUEST_QUERY": "1"}, CallerCredentialRules(authorization=False))):
        found = Policy(settings(tokens, environ | said).declared).web_api
        assert found is not None
        assert found.lends == lends


@pytest.mark.behaviour("docspace.environment")
def test_variables_that_mean_nothing_here_are_told_and_so_are_slips() -> None:
    environ = GOOD | {
        "DOCSPACE_TRANSPORT": "streamable-http",
        "DOCSPACE_PORT": "8080",
        "DOCSPACE_OAUTH_BASE_URL": "https://x",
        "DOCSPACE_SERVER_RATE_LIMITS_MCP_WINDOW": "1",
        "DOCSPACE_APIKEY": "sk",
        "DOCSPACE_THEME": "dark",
    }
    found = hung(environ)
    assert [str(warning) for warning in found.warnings] == [
        "the environment: DOCSPACE_APIKEY: nobody reads this. Did you mean DOCSPACE_API_KEY?",
        "the environment: DOCSPACE_OAUTH_BASE_URL: this is not read: Pegboard signs nobody in to DocSpace; use a key, "
        "a token, or a user name and password.",
        "the environment: DOCSPACE_PORT: this is not read: say where to listen with pegboard serve --host and --port.",
        "the environment: DOCSPACE_SERVER_RATE_LIMITS_MCP_WINDOW: this is not read: who may come in is said under "
        "gateway in pegboard.yaml.",
    ]
    assert found.board.selection == Selection()
    (told,) = hung({**GOOD, "DOCSPACE_TRANSPORT": "zz"}).warnings
    assert str(told) == (
        "the environment: DOCSPACE_TRANSPORT: expected one of: stdio, sse, streamable-http, http. Whether "
        "pegboard stdio or serve runs is what counts."
    )
