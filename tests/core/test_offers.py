"""Which prompts and resources a view is given: never more than the rules for tools let through."""

from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import (
    DEV_FILES,
    DOCS_FILES,
    FILE,
    GITHUB,
    ME,
    NOW,
    OFF,
    SERVERS,
    Board,
    board,
    boards,
    selections,
    server,
    tool,
    views,
)

from pegboard.core.decision.status import OwnerOff, ProviderUnavailable, ServerInQuarantine
from pegboard.core.decision.visibility import HiddenByNarrowerView
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import (
    Catalogue,
    PromptEntry,
    ProviderDown,
    ProviderResources,
    ResourceEntry,
    ResourceTemplate,
    is_same_resources,
)
from pegboard.core.model.ids import ToolsetId, WireName
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.server import Trust
from pegboard.core.policy.policy import Denial
from pegboard.core.resources.requests import (
    NotVisible,
    ResourceMethod,
    ResourceRequest,
    RoutedRequest,
    route_request,
    source_for_uri,
)
from pegboard.core.resources.visibility import (
    ResourcesOutOfView,
    ResourcesVisible,
    ResourcesWithheld,
    ResourceView,
    UnreviewedServer,
    explain_not_visible,
    resolve_resources,
    resource_visibility,
)


def stocked(made: Board) -> Board:
    """Each source with a prompt, a resource and a template of its own, and some that all have."""
    listings = {
        source: replace(
            listing,
            resources=ProviderResources(
                (PromptEntry("summary"), PromptEntry(f"of {source}")),
                (ResourceEntry("shared://one"), ResourceEntry(f"own://{source}")),
                (ResourceTemplate(f"own://{source}/{{id}}"),),
            ),
        )
        for source, listing in made.catalogue.listings.items()
    }
    return replace(made, catalogue=Catalogue(listings))


def open_board(trust: Trust = Trust.OPEN) -> Board:
    return stocked(board([tool(key, "read") for key in SERVERS], trust=trust))


def of(made: Board, view: View | None = None) -> ResourceView:
    return resolve_resources(made.catalogue, made.policy, view or View())


def prefix(template: str, uri: str) -> bool:
    return uri.startswith(template.partition("{")[0])


def everything(found: ResourceView) -> set[tuple[str, str]]:
    return {
        *((str(source), prompt.name) for source, prompt in found.prompts.values()),
        *((str(source), resource.uri) for source, resource in found.resources.values() if "own" in resource.uri),
        *((str(source), template.pattern) for source, template in found.templates.values()),
    }


@pytest.mark.behaviour("offers.same_policy")
@given(boards(), views, selections())
def test_a_narrowing_gives_nothing_that_was_not_given_before(made: Board, view: View, more: Selection) -> None:
    made = stocked(made)
    assert everything(of(made, view.narrow(more))) <= everything(of(made, view))


@pytest.mark.behaviour("offers.same_policy")
@given(boards(), selections(), selections())
def test_narrowings_commute(made: Board, one: Selection, other: Selection) -> None:
    made = stocked(made)
    assert everything(of(made, View().narrow(one).narrow(other))) == everything(
        of(made, View().narrow(other).narrow(one))
    )


@pytest.mark.behaviour("offers.same_policy")
@given(boards(), views)
def test_only_sources_that_are_given_appear_and_in_one_order(made: Board, view: View) -> None:
    made = stocked(made)
    opened = resource_visibility(made.catalogue, made.policy, view)
    found = of(made, view)
    sources = [source for source, _ in (*found.prompts.values(), *found.resources.values(), *found.templates.values())]
    assert all(isinstance(opened[source], ResourcesVisible) for source in sources)
    turned = Catalogue(dict(made.catalogue.listings))
    assert list(resolve_resources(turned, made.policy, view).prompts) == list(found.prompts)


@pytest.mark.behaviour("offers.same_policy", "offers.strict_withholds")
def test_what_locks_a_server_withholds_what_it_offers_and_says_why() -> None:
    made = open_board()
    assert set(resource_visibility(made.catalogue, made.policy, View()).values()) == {ResourcesVisible()}
    off = made.deciding(switches={GITHUB: OFF})
    assert resource_visibility(off.catalogue, off.policy, View())[GITHUB] == ResourcesWithheld(OwnerOff(GITHUB, OFF))
    quarantined = made.with_server(server(GITHUB, trust=Trust.OPEN, quarantined=True))
    assert resource_visibility(quarantined.catalogue, quarantined.policy, View())[GITHUB] == ResourcesWithheld(
        ServerInQuarantine(GITHUB)
    )
    down = made.with_health(GITHUB, ProviderDown(NOW, "it fell"))
    assert resource_visibility(down.catalogue, down.policy, View())[GITHUB] == ResourcesWithheld(
        ProviderUnavailable(GITHUB, ProviderDown(NOW, "it fell"))
    )
    strict = made.deciding(trust={GITHUB: Trust.STRICT})
    withheld = resource_visibility(strict.catalogue, strict.policy, View())[GITHUB]
    assert withheld == ResourcesWithheld(UnreviewedServer(GITHUB))
    assert explain_not_visible(GITHUB, withheld) == (
        "The prompts and resources of dev~github are withheld: its trust is strict, and nobody reviews them one by "
        "one. Set its trust to baseline or open to have them."
    )
    for closed in (off, quarantined, down, strict):
        assert "dev~github" not in {source for source, _ in everything(of(closed))}


@pytest.mark.behaviour("offers.same_policy")
@pytest.mark.parametrize(
    ("narrowing", "sources"),
    [
        (Selection(TheseToolsets(("dev",))), {DEV_FILES, GITHUB}),
        (Selection(TheseToolsets((" DEV ",))), {DEV_FILES, GITHUB}),
        (Selection(TheseToolsets(()), enabled=("mcp:dev~github:read",)), set()),
        (Selection(TheseToolsets(()), enabled=("mcp:dev~github",)), {GITHUB}),
        (Selection(TheseToolsets(()), enabled=("toolset:docs",)), {DOCS_FILES}),
        (Selection(TheseToolsets(()), enabled=("files:*",)), {DEV_FILES, DOCS_FILES}),
        (Selection(disabled=("mcp:dev~github:read",)), set(SERVERS)),
        (Selection(disabled=("toolset:dev",)), {DOCS_FILES}),
        (Selection(disabled=("github:*",)), {DEV_FILES, DOCS_FILES}),
    ],
)
def test_a_narrowing_chooses_whole_sources(narrowing: Selection, sources: set[object]) -> None:
    made = open_board()
    opened = resource_visibility(made.catalogue, made.policy, View().narrow(narrowing))
    assert {source for source, opening in opened.items() if isinstance(opening, ResourcesVisible)} == sources
    rest = [opening for opening in opened.values() if not isinstance(opening, ResourcesVisible)]
    assert rest == [ResourcesOutOfView(HiddenByNarrowerView(narrowing))] * (3 - len(sources))


@pytest.mark.behaviour("offers.same_policy")
def test_a_deny_pattern_fits_prompts_by_name_and_resources_by_uri() -> None:
    made = open_board().declaring(
        denials=(Denial(Pattern("*", "summary"), FILE), Denial(Pattern("github", "own:*"), FILE))
    )
    found = of(made)
    assert [prompt.name for _, prompt in found.prompts.values() if prompt.name == "summary"] == []
    assert "own://dev~github" not in found.resources
    assert source_for_uri("own://dev~github/7", found, made.policy, prefix) is None
    assert source_for_uri("own://dev~files/7", found, made.policy, prefix) == DEV_FILES


@pytest.mark.behaviour("offers.prompts", "offers.doubles")
def test_prompts_of_one_name_are_told_apart_and_a_lock_renames_none() -> None:
    made = open_board()
    found = of(made)
    assert [name for name, (_, prompt) in found.prompts.items() if prompt.name == "summary"] == [
        "dev__files__summary",
        "dev__github__summary",
        "docs__summary",
    ]
    assert found.prompts[WireName("of dev~github")] == (GITHUB, PromptEntry("of dev~github"))
    assert found.duplicates == {"shared://one": (DEV_FILES, GITHUB, DOCS_FILES)}
    off = made.deciding(switches={DEV_FILES: OFF})
    assert list(of(off).prompts) == [name for name, (source, _) in found.prompts.items() if source != DEV_FILES]
    assert of(off).resources["shared://one"][0] == GITHUB


@pytest.mark.behaviour("offers.read", "offers.completions", "offers.withheld_is_unknown")
def test_a_question_goes_to_its_source_in_its_sources_words() -> None:
    made = open_board()
    found = of(made)

    def asked(method: ResourceMethod, **params: object) -> RoutedRequest | NotVisible:
        return route_request(ResourceRequest(method, params), found, made.policy, prefix)  # type: ignore[arg-type]  # JSON of the test

    assert asked(ResourceMethod.READ, uri="own://dev~github") == RoutedRequest(
        GITHUB, ResourceMethod.READ, {"uri": "own://dev~github"}
    )
    assert asked(ResourceMethod.READ, uri="own://docs~files/9", x=1) == RoutedRequest(
        DOCS_FILES, ResourceMethod.READ, {"uri": "own://docs~files/9", "x": 1}
    )
    assert asked(ResourceMethod.GET, name="docs__summary") == RoutedRequest(
        DOCS_FILES, ResourceMethod.GET, {"name": "summary"}
    )
    assert asked(ResourceMethod.COMPLETE, ref={"type": "ref/prompt", "name": "docs__summary"}) == RoutedRequest(
        DOCS_FILES, ResourceMethod.COMPLETE, {"ref": {"type": "ref/prompt", "name": "summary"}}
    )
    template: Json = {"type": "ref/resource", "uri": "own://dev~github/{id}"}
    assert asked(ResourceMethod.COMPLETE, ref=template) == RoutedRequest(
        GITHUB, ResourceMethod.COMPLETE, {"ref": template}
    )
    for method, params, key in (
        (ResourceMethod.READ, {"uri": "nowhere://"}, "nowhere://"),
        (ResourceMethod.READ, {}, ""),
        (ResourceMethod.GET, {"name": "summary"}, "summary"),
        (ResourceMethod.COMPLETE, {"ref": 7}, ""),
        (ResourceMethod.COMPLETE, {"ref": {"type": "ref/prompt", "name": "x"}}, "x"),
    ):
        assert route_request(ResourceRequest(method, dict(params)), found, made.policy, prefix) == NotVisible(key)  # type: ignore[arg-type]


@pytest.mark.behaviour("offers.same_policy")
def test_a_principal_gets_what_its_toolsets_offer() -> None:
    made = open_board().deciding(grants=MappingProxyType({ME: frozenset({ToolsetId("docs")})}))
    assert {source for source, _ in everything(of(made, View(ME)))} == {"docs~files"}
    assert {source for source, _ in everything(of(made))} == {"dev~files", "dev~github", "docs~files"}


@given(st.sampled_from([1, 1.0, True, "1", None]), st.sampled_from([1, 1.0, True, "1", None]))
def test_offers_are_the_same_when_their_texts_are(one: object, other: object) -> None:
    def holding(value: object) -> ProviderResources:
        return ProviderResources((PromptEntry("p", {"x": value}),))  # type: ignore[dict-item]  # JSON of the test

    assert is_same_resources(holding(one), holding(other)) == (repr(one) == repr(other))


@pytest.mark.behaviour("offers.same_policy")
@pytest.mark.parametrize(
    "uri",
    [
        "file:///secret/k",
        "file:///pub/../secret/k",
        "file:///./secret//k",
        "file:///%73ecret/k",
        "file:///%2573ecret/k",
        "file:///secret%2fk",
        "file:///pub/%2e%2e/secret/k",
        "FILE:///secret/k",
        "file:///pub\\..\\secret\\k",
    ],
)
def test_no_way_of_writing_a_uri_leads_past_a_denial(uri: str) -> None:
    made = open_board()
    listing = replace(
        made.catalogue.listings[GITHUB], resources=ProviderResources((), (), (ResourceTemplate("file:///{+path}"),))
    )
    made = replace(made, catalogue=Catalogue({GITHUB: listing}))
    given = resolve_resources(made.catalogue, made.policy, View())
    secret = (Denial(Pattern("github", "file:///secret/*"), FILE),)
    denying = replace(made.policy, declared=replace(made.policy.declared, denials=secret))
    assert source_for_uri(uri, given, made.policy, lambda *_: True) == GITHUB
    assert source_for_uri(uri, given, denying, lambda *_: True) is None
    assert source_for_uri("file:///pub/k", given, denying, lambda *_: True) == GITHUB
