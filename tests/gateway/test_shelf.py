"""Who answers for a URI when several servers have it: whoever was first, however the others are called."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.core.boards import NOW, key
from tests.support.doubles import UP

from pegboard.core.model.catalogue import (
    Listing,
    ProviderDown,
    ProviderResources,
    ResourceEntry,
    ResourceTemplate,
    build_catalogue,
)
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ServerKey
from pegboard.core.model.selection import View
from pegboard.core.model.server import DeclaredAt, InstalledBy, Origin, Server, Stdio, Trust
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.core.resources.requests import TemplateOverlap, source_for_uri, template_overlaps
from pegboard.core.resources.visibility import resolve_resources
from pegboard.gateway.board import MAX_RETIRED_NAMES, MAX_RETIRED_SOURCES, BoardState, NameHistory
from pegboard.gateway.doctor import diagnose
from pegboard.gateway.resources import fits_template

IO, AAA = key("io~io"), key("aaa~aaa")
FILE = DeclaredAt("pegboard.yaml", 1)


def policy(servers: Mapping[ServerKey, Origin]) -> Policy:
    return Policy(
        DeclaredSettings(
            servers={
                source: Server(source, Stdio("true"), origin, trust=Trust.OPEN) for source, origin in servers.items()
            },
            toolsets={source.toolset: Toolset(source.toolset, FILE) for source in servers},
        )
    )


def listing(source: ServerKey, *keys: str) -> Listing:
    resources = tuple(ResourceEntry(key) for key in keys if "{" not in key)
    return Listing(
        source,
        UP,
        resources=ProviderResources((), resources, tuple(ResourceTemplate(key) for key in keys if "{" in key)),
    )


def board(*listings: Listing) -> BoardState:
    made = BoardState(policy({IO: FILE, AAA: FILE}))
    for each in listings:
        made.publish(each)
    return made


def answering(made: BoardState, uri: str) -> object:
    return source_for_uri(uri, made.resource_view(View()), made.policy, fits_template)


@pytest.mark.behaviour("offers.doubles")
def test_a_server_that_comes_later_takes_no_uri_and_no_template_from_another() -> None:
    made = board(listing(IO, "res://a", "res://t/{id}"))
    assert answering(made, "res://a") == answering(made, "res://t/5") == IO
    made.publish(listing(AAA, "res://a", "res://b", "{+any}", "res://t/{id}"))
    assert [answering(made, uri) for uri in ("res://a", "res://t/5", "res://b", "other://x")] == [IO, IO, AAA, AAA]
    assert list(made.resource_view(View()).resources.items()) == [
        ("res://b", (AAA, ResourceEntry("res://b"))),
        ("res://a", (IO, ResourceEntry("res://a"))),
    ]


@pytest.mark.behaviour("offers.doubles")
def test_a_server_that_lists_a_uri_later_takes_it_from_nobody_though_it_was_there_before() -> None:
    made = board(listing(AAA, "res://own"), listing(IO, "res://a"))
    assert answering(made, "res://a") == IO
    made.publish(listing(AAA, "res://own", "res://a"))
    assert answering(made, "res://a") == IO


@pytest.mark.behaviour("offers.doubles")
def test_who_was_first_has_its_uri_back_when_it_comes_back() -> None:
    made = board(listing(IO, "res://a"))
    assert answering(made, "res://a") == IO
    made.publish(listing(AAA, "res://a"))
    made.publish(replace(listing(IO, "res://a"), health=ProviderDown(NOW, "it fell")))
    assert answering(made, "res://a") == AAA
    made.publish(listing(IO))
    assert answering(made, "res://a") == AAA
    made.publish(listing(IO, "res://a"))
    assert answering(made, "res://a") == IO


@pytest.mark.behaviour("offers.doubles")
def test_a_uri_that_any_server_lists_goes_before_every_template() -> None:
    made = board(listing(AAA, "{+any}"))
    assert answering(made, "res://a") == AAA
    made.publish(listing(IO, "res://a"))
    assert answering(made, "res://a") == IO


@pytest.mark.behaviour("offers.doubles")
def test_after_a_restart_what_was_declared_first_goes_before_what_was_installed() -> None:
    listings = (listing(AAA, "res://a", "{+any}"), listing(IO, "res://a", "res://{id}"))
    late, soon = DeclaredAt("pegboard.yaml", 9), DeclaredAt("pegboard.yaml", 3)
    person = InstalledBy(LOCAL_PRINCIPAL, NOW)
    cases: tuple[tuple[Mapping[ServerKey, Origin], ServerKey], ...] = (
        ({IO: soon, AAA: late}, IO),
        ({IO: late, AAA: soon}, AAA),
        ({IO: late, AAA: person}, IO),
        ({IO: InstalledBy(LOCAL_PRINCIPAL, NOW.replace(year=2025)), AAA: person}, IO),
    )
    for origins, first in cases:
        made = policy(origins)
        found = resolve_resources(build_catalogue(listings), made, View())
        assert found.resources["res://a"][0] == first
        assert source_for_uri("res://7", found, made, fits_template) == first


@pytest.mark.behaviour("offers.doubles")
def test_the_doctor_tells_of_shared_uris_and_of_templates_that_fit_what_others_have() -> None:
    made = board(listing(IO, "res://a", "res://t/{id}"))
    made.resource_view(View())
    made.publish(listing(AAA, "res://a", "{+any}"))
    assert list(template_overlaps(made.resource_view(View()), fits_template)) == [
        TemplateOverlap("{+any}", AAA, "res://t/1", IO, IO)
    ]
    told = {finding.subject: finding.message for finding in diagnose(made) if finding.severity == "warning"}
    assert told == {
        "res://a": "io~io and aaa~aaa offer the resource 'res://a'; io~io answers for it.",
        "{+any}": (
            "The template '{+any}' of aaa~aaa also fits what io~io has, such as 'res://t/1'; io~io answers for that."
        ),
    }
    alone = board(listing(IO, "res://a", "res://{id}"))
    assert list(template_overlaps(alone.resource_view(View()), fits_template)) == []


def test_places_of_what_is_gone_are_kept_within_bounds() -> None:
    arrivals = NameHistory()
    for number in range(MAX_RETIRED_NAMES + 5):
        since = arrivals.since([listing(IO, f"res://{number}")])
    assert len(since[IO]) == MAX_RETIRED_NAMES + 1
    for number in range(MAX_RETIRED_SOURCES + 5):
        since = arrivals.since([listing(key(f"t~s{number}"), "res://a")])
    assert len(since) == MAX_RETIRED_SOURCES + 1
