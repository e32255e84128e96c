"""Who answers for a URI when several servers have it: whoever was first, however the others are called."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.core.boards import NOW, key
from tests.support.doubles import UP

from pegboard.core.ask import source_of
from pegboard.core.catalogue import Down, Listing, catalogue
from pegboard.core.ids import LOCAL, ServerKey
from pegboard.core.offer import Offers, Resource, Template
from pegboard.core.offers import offered
from pegboard.core.overlap import Overlap, overlaps
from pegboard.core.policy import Declared, Policy
from pegboard.core.server import DeclaredAt, InstalledBy, Origin, Server, Stdio, Trust
from pegboard.core.toolset import Toolset
from pegboard.core.view import View
from pegboard.gateway.board import Board
from pegboard.gateway.doctor import diagnose
from pegboard.gateway.held import RETIRED_NAMES, RETIRED_SOURCES, Arrivals
from pegboard.gateway.templates import fits

IO, AAA = key("io~io"), key("aaa~aaa")
FILE = DeclaredAt("pegboard.yaml", 1)


def policy(servers: Mapping[ServerKey, Origin]) -> Policy:
    return Policy(
        Declared(
            servers={
                source: Server(source, Stdio("true"), origin, trust=Trust.OPEN) for source, origin in servers.items()
            },
            toolsets={source.toolset: Toolset(source.toolset, FILE) for source in servers},
        )
    )


def listing(source: ServerKey, *keys: str) -> Listing:
    resources = tuple(Resource(key) for key in keys if "{" not in key)
    return Listing(source, UP, offers=Offers((), resources, tuple(Template(key) for key in keys if "{" in key)))


def board(*listings: Listing) -> Board:
    made = Board(policy({IO: FILE, AAA: FILE}))
    for each in listings:
        made.hang(each)
    return made


def answering(made: Board, uri: str) -> object:
    return source_of(uri, made.offered(View()), made.policy, fits)


@pytest.mark.behaviour("offers.doubles")
def test_a_server_that_comes_later_takes_no_uri_and_no_template_from_another() -> None:
    made = board(listing(IO, "res://a", "res://t/{id}"))
    assert answering(made, "res://a") == answering(made, "res://t/5") == IO
    made.hang(listing(AAA, "res://a", "res://b", "{+any}", "res://t/{id}"))
    assert [answering(made, uri) for uri in ("res://a", "res://t/5", "res://b", "other://x")] == [IO, IO, AAA, AAA]
    assert list(made.offered(View()).resources.items()) == [
        ("res://b", (AAA, Resource("res://b"))),
        ("res://a", (IO, Resource("res://a"))),
    ]


@pytest.mark.behaviour("offers.doubles")
def test_a_server_that_lists_a_uri_later_takes_it_from_nobody_though_it_was_there_before() -> None:
    made = board(listing(AAA, "res://own"), listing(IO, "res://a"))
    assert answering(made, "res://a") == IO
    made.hang(listing(AAA, "res://own", "res://a"))
    assert answering(made, "res://a") == IO


@pytest.mark.behaviour("offers.doubles")
def test_who_was_first_has_its_uri_back_when_it_comes_back() -> None:
    made = board(listing(IO, "res://a"))
    assert answering(made, "res://a") == IO
    made.hang(listing(AAA, "res://a"))
    made.hang(replace(listing(IO, "res://a"), health=Down(NOW, "it fell")))
    assert answering(made, "res://a") == AAA
    made.hang(listing(IO))
    assert answering(made, "res://a") == AAA
    made.hang(listing(IO, "res://a"))
    assert answering(made, "res://a") == IO


@pytest.mark.behaviour("offers.doubles")
def test_a_uri_that_any_server_lists_goes_before_every_template() -> None:
    made = board(listing(AAA, "{+any}"))
    assert answering(made, "res://a") == AAA
    made.hang(listing(IO, "res://a"))
    assert answering(made, "res://a") == IO


@pytest.mark.behaviour("offers.doubles")
def test_after_a_restart_what_was_declared_first_goes_before_what_was_installed() -> None:
    listings = (listing(AAA, "res://a", "{+any}"), listing(IO, "res://a", "res://{id}"))
    late, soon = DeclaredAt("pegboard.yaml", 9), DeclaredAt("pegboard.yaml", 3)
    person = InstalledBy(LOCAL, NOW)
    cases: tuple[tuple[Mapping[ServerKey, Origin], ServerKey], ...] = (
        ({IO: soon, AAA: late}, IO),
        ({IO: late, AAA: soon}, AAA),
        ({IO: late, AAA: person}, IO),
        ({IO: InstalledBy(LOCAL, NOW.replace(year=2025)), AAA: person}, IO),
    )
    for origins, first in cases:
        made = policy(origins)
        found = offered(catalogue(listings), made, View())
        assert found.resources["res://a"][0] == first
        assert source_of("res://7", found, made, fits) == first


@pytest.mark.behaviour("offers.doubles")
def test_the_doctor_tells_of_shared_uris_and_of_templates_that_fit_what_others_have() -> None:
    made = board(listing(IO, "res://a", "res://t/{id}"))
    made.offered(View())
    made.hang(listing(AAA, "res://a", "{+any}"))
    assert list(overlaps(made.offered(View()), fits)) == [Overlap("{+any}", AAA, "res://t/1", IO, IO)]
    told = {finding.subject: finding.what for finding in diagnose(made) if not finding.grave}
    assert told == {
        "res://a": "io~io and aaa~aaa offer the resource 'res://a'; io~io answers for it.",
        "{+any}": (
            "The template '{+any}' of aaa~aaa also fits what io~io has, such as 'res://t/1'; io~io answers for that."
        ),
    }
    alone = board(listing(IO, "res://a", "res://{id}"))
    assert list(overlaps(alone.offered(View()), fits)) == []


def test_places_of_what_is_gone_are_kept_within_bounds() -> None:
    arrivals = Arrivals()
    for number in range(RETIRED_NAMES + 5):
        since = arrivals.since([listing(IO, f"res://{number}")])
    assert len(since[IO]) == RETIRED_NAMES + 1
    for number in range(RETIRED_SOURCES + 5):
        since = arrivals.since([listing(key(f"t~s{number}"), "res://a")])
    assert len(since) == RETIRED_SOURCES + 1
