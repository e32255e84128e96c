"""DocSpace on the board: its toolsets as the file declares them, or else as the environment does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from pegboard.core.docspace import (
    DESCRIPTIONS,
    TOOLSETS,
    Access,
    DocSpace,
    Lends,
    Misconfigured,
    Said,
    base_url,
    mends,
    settled,
    tool_ids,
    url_faults,
)
from pegboard.core.docspace.on_board import shares_text
from pegboard.core.ids import ProviderKey, ToolId, ToolsetKey
from pegboard.core.policy import Declared
from pegboard.core.presentations import Presented
from pegboard.core.reference import Directory
from pegboard.core.selection import Everything, Selection, select, toolsets
from pegboard.core.server import DeclaredAt, Http, Server, Trust
from pegboard.core.toolset import Toolset
from pegboard.ports import Expand, Unresolved

from . import docspace_keys as keys
from .declaring import Place
from .docspace_variables import PREFIX, WHERE, Variables, are_set, remarks, variables
from .presentation_keys import PRESENTATION
from .problem import Problem
from .references import Variable, asked_of_callers, expander, has_reference, parts
from .section import Key, Values
from .telling import Placed

IN_ENVIRONMENT: Final = DeclaredAt(f"{WHERE} ({PREFIX}*)", 0)
_NO_TOOLS: Final = "No tools left"
_TEXTS: Final = (*(keys.BASE_URL, keys.API_KEY, keys.AUTH_TOKEN, keys.USERNAME, keys.PASSWORD, keys.AUTHORIZATION),)


@dataclass(frozen=True)
class Hung:
    """A board with its DocSpace, if it has one, and what a person should know of how it was said."""

    board: Declared
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class _Wish:
    connection: DocSpace
    at: DeclaredAt
    selection: Selection = field(default_factory=Selection)
    trust: Trust = Trust.OPEN

    @cached_property
    def chosen(self) -> frozenset[ToolId]:
        return select(self.selection, Directory(tool_ids(), frozenset(TOOLSETS))).tools

    @cached_property
    def reached(self) -> DocSpace:
        """As it is reached, or why it cannot be."""
        nothing = not self.chosen and not self.connection.wrong
        return replace(self.connection, wrong=_NO_TOOLS) if nothing else self.connection


def with_docspace(board: Declared, values: Values, place: Place) -> Hung:
    """What the file says goes before the environment, all of it."""
    said = values.get(keys.DOCSPACE)
    if said is None:
        return from_environment(board, place.environ, presented=values.get(PRESENTATION) is not None)
    wish = _Wish(
        _connection(said.value, board),
        place.at(said),
        _selection(said.value),
        said.value.value(keys.TRUST, Trust.OPEN),
    )
    return Hung(_hung(board, wish), (*_warnings(said, wish.reached, place), *_shared(board)))


def from_environment(board: Declared, environ: Mapping[str, str], *, presented: bool = False) -> Hung:
    """`presented`: whether the operator has said already how tools are shown."""
    if not are_set(environ):
        return Hung(board)
    said = variables(environ)
    told = (*remarks(environ), *_shared(board))
    hung = _hung(board, _Wish(_from_variables(said, board), IN_ENVIRONMENT, said.selection))
    if said.dynamic and not presented:
        hung = replace(hung, presenting=replace(hung.presenting, presentation=Presented.META))
    return Hung(hung, told)


def operators(connection: DocSpace, expand: Expand) -> Access | Misconfigured | None:
    """As whom the operator asks DocSpace; `None` where callers are to say. References are followed now."""
    if connection.wrong:
        return Misconfigured(connection.wrong)
    found: dict[str, str] = {}
    for text in connection.texts:
        value = expand(text)
        if isinstance(value, Unresolved):
            return Misconfigured(_unset(value, is_secret=text not in (connection.base_url, connection.username)))
        found[text] = value
    said = Said(
        *(
            found.get(text, "")
            for text in (
                *(connection.base_url, connection.api_key, connection.auth_token),
                *(connection.username, connection.password, connection.authorization),
            )
        )
    )
    return settled(replace(said, base_url_written=connection.base_url), connection.lends)


def inside(connection: DocSpace, expand: Expand) -> tuple[str, ...]:
    """The base URLs that the operator names: callers may lead to them even where they are inside its own network."""
    own = expand(connection.base_url) if connection.base_url else ""
    places = () if connection.lends is None else connection.lends.places
    return tuple(url for url in (own, *places) if isinstance(url, str) and url and not url_faults(url.strip()))


def _hung(board: Declared, wish: _Wish) -> Declared:
    # What cannot be used is shown whole, with the reason: a person who looks for a tool must find it.
    left_out = () if wish.reached.wrong else tuple(str(id) for id in tool_ids() if id not in wish.chosen)
    servers: dict[ProviderKey, Server] = {
        ToolsetKey(id): Server(ToolsetKey(id), wish.reached, wish.at, trust=wish.trust) for id in TOOLSETS
    }
    sets = {id: _toolset(board.toolsets.get(id), wish.at, DESCRIPTIONS[id], Toolset(id, wish.at)) for id in TOOLSETS}
    selection = replace(board.selection, disabled=(*board.selection.disabled, *left_out))
    return replace(
        board,
        optional_names=board.optional_names | {*left_out},
        servers={**board.servers, **servers},
        toolsets={**board.toolsets, **sets},
        selection=selection,
    )


def _shared(board: Declared) -> Iterator[Problem]:
    """Servers of the file's own that get DocSpace's tools for neighbours: whoever was given one now has both."""
    for key, server in board.servers.items():
        if key.toolset in TOOLSETS and isinstance(server.origin, DeclaredAt):
            yield Problem(server.origin.file, server.origin.line, str(server.id), shares_text(key.toolset))


def _toolset(said: Toolset | None, at: DeclaredAt, description: str, new: Toolset) -> Toolset:
    """What the file says of the toolset stands; it may hold servers too."""
    if said is None:
        return replace(new, description=description, user_mcp=False)
    return replace(said, description=said.description or description, user_mcp=False)


def _connection(values: Values, board: Declared) -> DocSpace:
    usual = DocSpace()

    def text(key: Key[str]) -> str:
        return values.value(key, "")

    agent = values.get(keys.USER_AGENT)
    return DocSpace(
        base_url=text(keys.BASE_URL),
        api_key=text(keys.API_KEY),
        auth_token=text(keys.AUTH_TOKEN),
        username=text(keys.USERNAME),
        password=text(keys.PASSWORD),
        authorization=text(keys.AUTHORIZATION),
        lends=_lends(Lends(places=_places(values)), board) if values.value(keys.REQUEST_CREDENTIALS, False) else None,
        user_agent=None if agent is None else agent.value,
        deadline=values.value(keys.DEADLINE_KEY, usual.deadline),
        timeout=values.value(keys.TIMEOUT_KEY, usual.timeout),
    )


def _from_variables(said: Variables, board: Declared) -> DocSpace:
    """Callers bring credentials where the operator asks them to, or has none and so could mean nothing else. A gateway
    with tokens is shared: there it must be said, and so it must where somebody misspelt a name."""
    lends = _lends(said.lends, board)
    implied = not (said.set or said.slips or board.principals)
    may = (said.invites or implied) and (lends.headers or lends.authorization)
    return DocSpace(
        base_url=said.base_url,
        api_key=said.reference("API_KEY"),
        auth_token=said.reference("AUTH_TOKEN"),
        username=said.reference("USERNAME"),
        password=said.reference("PASSWORD"),
        authorization=said.reference("AUTHORIZATION"),
        lends=replace(lends, implied=not said.invites and not said.listens) if may else None,
        user_agent=said.user_agent,
        wrong=said.wrong,
    )


def _lends(said: Lends, board: Declared) -> Lends:
    """Authorization is not DocSpace's where it is the token for the gateway, or another server asks for it."""
    asked = {
        part.header.lower()
        for server in board.servers.values()
        if isinstance(server.connection, Http)
        for text in server.connection.headers.values()
        for part in asked_of_callers(text)
    }
    taken = bool(board.principals) or "authorization" in asked
    return replace(said, authorization=said.authorization and not taken)


def _places(values: Values) -> tuple[str, ...]:
    """In their one spelling; what no request could name either stays as it was written."""
    written = (placed.value for placed in values.value(keys.REQUEST_BASE_URLS, ()))
    return tuple(text if url_faults(text) else base_url(text) for text in written)


def _selection(values: Values) -> Selection:
    named = values.get(keys.TOOLSETS)
    return Selection(
        toolsets=Everything() if named is None else toolsets(name.value for name in named.value),
        enabled=tuple(name.value for name in values.value(keys.ENABLED_TOOLS, ())),
        disabled=tuple(name.value for name in values.value(keys.DISABLED_TOOLS, ())),
    )


def _warnings(said: Placed[Values], connection: DocSpace, place: Place) -> Iterator[Problem]:
    if not place.resolves_references and any(map(has_reference, connection.texts)):
        return
    expand = expander(place.environ, place.folder)
    missing = False
    for key in _TEXTS:
        text = said.value.get(key)
        if text is not None and isinstance(value := expand(text.value), Unresolved):
            missing = True
            why = _unset(value, is_secret=key not in (keys.BASE_URL, keys.USERNAME))
            yield Problem(place.file, text.line, text.at, f"{why}.", here=True)
    wrong = None if missing else operators(connection, expand)
    if isinstance(wrong, Misconfigured):
        told = "; ".join(wrong.why.splitlines())
        yield Problem(place.file, said.line, said.at, " ".join((f"{told}.", *mends(wrong))), here=True)
    named = {part.name for text in connection.texts for part in _parts(text) if isinstance(part, Variable)}
    if unread := sorted(name for name in place.environ if name.startswith(PREFIX) and name not in named):
        told = f"{', '.join(unread)} of the environment: not read, because this stands here. Keep one of the two."
        yield Problem(place.file, said.line, said.at, told, here=True)


def _unset(unresolved: Unresolved, *, is_secret: bool) -> str:
    """Without advice that would be refused: the default of a secret would stand in the file."""
    why = unresolved.why.partition(", or write ${")[0] if is_secret else unresolved.why
    return why.rstrip(".")


def _parts(text: str) -> tuple[object, ...]:
    found = parts(text)
    return found if isinstance(found, tuple) else ()
