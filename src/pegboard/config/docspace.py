"""DocSpace toolsets from pegboard.yaml or from the `DOCSPACE_*` environment variables."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Final

from pegboard.config.declare import FileContext
from pegboard.config.docspace_toolsets import DESCRIPTIONS, KIND, TITLE, TOOLSETS, misconfiguration_remedies, tool_ids
from pegboard.config.keys import sources as keys
from pegboard.config.keys.access import PRESENTATION
from pegboard.config.references import VariableReference, expander, has_reference, header_references, parse_references
from pegboard.config.schema.document import FileProblem, LocatedValue
from pegboard.config.schema.section import ConfigKey, ConfigValues
from pegboard.core.calls.caller_credentials import (
    AccessToken,
    ApiAccess,
    ApiKey,
    Credential,
    Password,
    RawAuthorization,
    explain_unsendable,
    shared_toolset_warning,
)
from pegboard.core.model.ids import ProviderKey, ToolId, ToolsetKey
from pegboard.core.model.references import ToolDirectory, closest_names
from pegboard.core.model.selection import AllToolsets, Selection, parse_toolsets, select_tools
from pegboard.core.model.server import DeclaredAt, Http, Server, Trust
from pegboard.core.model.settings import PresentationMode
from pegboard.core.model.toolset import Toolset
from pegboard.core.model.web_api import (
    ApiMisconfiguration,
    CallerCredentialRules,
    WebApi,
    base_url_problems,
    normalize_base_url,
)
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.ports.providers import Expand, UnresolvedReference

# The `DOCSPACE_*` environment variables, read as the server reads them that people come from, with its messages.

PREFIX: Final = "DOCSPACE_"
ENVIRONMENT_NAME: Final = "the environment"
HEADER_PREFIX: Final = "x-mcp-"
_TRUE_WORDS: Final = frozenset({"yes", "y", "true", "1"})
_FALSE_WORDS: Final = frozenset({"no", "n", "false", "0", ""})

SECRET_NAMES: Final = ("AUTHORIZATION", "API_KEY", "AUTH_TOKEN", "USERNAME", "PASSWORD")
_REQUEST_NAMES: Final = ("REQUEST_QUERY", "REQUEST_AUTHORIZATION_HEADER", "REQUEST_HEADER_PREFIX")
_KNOWN_NAMES: Final = (
    *("DYNAMIC", "TOOLSETS", "ENABLED_TOOLS", "DISABLED_TOOLS", "USER_AGENT", "BASE_URL", *SECRET_NAMES),
    *(*_REQUEST_NAMES, "TRANSPORT"),
)
_HTTP_TRANSPORTS: Final = ("sse", "streamable-http", "http")
_LISTEN_ADVICE: Final = "say where to listen with pegboard serve --host and --port"
_SESSION_ADVICE: Final = "sessions end half an hour after their last request"
_OAUTH_ADVICE: Final = "Pegboard signs nobody in to DocSpace; use a key, a token, or a user name and password"
_ACCESS_ADVICE: Final = "who may come in is said under gateway in pegboard.yaml"
_UNSUPPORTED: Final[Mapping[str, str]] = {
    "HOST": _LISTEN_ADVICE,
    "PORT": _LISTEN_ADVICE,
    "SESSION_": _SESSION_ADVICE,
    "OAUTH_": _OAUTH_ADVICE,
    "SERVER_": _ACCESS_ADVICE,
    "PROXY_HOPS": _ACCESS_ADVICE,
    "INTERNAL": "each caller brings its own credentials in headers; see the reference of DocSpace",
}


_credential_rules: Final = partial(CallerCredentialRules, api_title=TITLE)


@dataclass(frozen=True)
class DocSpaceVariables:
    """What they say. Secrets are left where they are: their names are enough to find them again."""

    base_url: str = ""
    secret_names: frozenset[str] = frozenset()
    """Which of the secrets are not blank, by their names without the prefix."""
    selection: Selection = field(default_factory=Selection)
    dynamic: bool = False
    user_agent: str | None = None
    caller_credentials: CallerCredentialRules = field(default_factory=_credential_rules)
    """What callers could bring, if they may."""
    asks_callers: bool = False
    """Whether callers are asked to bring credentials of their own, in so many words."""
    over_http: bool = False
    """Whether it is said that callers come over HTTP."""
    has_typos: bool = False
    """Whether a name that nobody reads looks like one of these."""
    issues: tuple[str, ...] = ()

    @property
    def error_message(self) -> str:
        return "\n\t\t".join(("Parsing environment variables", *self.issues)) if self.issues else ""

    def reference(self, name: str) -> str:
        return f"${{{PREFIX}{name}}}" if name in self.secret_names else ""


def are_any_set(environ: Mapping[str, str]) -> bool:
    return any(_is_known(name) for name in _names(environ))


def read_variables(environ: Mapping[str, str]) -> DocSpaceVariables:
    issues: list[str] = []

    def issue(name: str, message: str) -> None:
        issues.append(f"{PREFIX}{name}: custom {message}")

    def text(name: str) -> str | None:
        return environ.get(f"{PREFIX}{name}")

    dynamic = _parse_boolean("DYNAMIC", text("DYNAMIC"), False, issue)
    known = tuple(name for names in TOOLSETS.values() for name in names)
    chosen = _parse_list("TOOLSETS", "all" if (said := text("TOOLSETS")) is None else said, ("all", *TOOLSETS), issue)
    added = _parse_list("ENABLED_TOOLS", text("ENABLED_TOOLS") or "", known, issue)
    taken = _parse_list("DISABLED_TOOLS", text("DISABLED_TOOLS") or "", known, issue)
    place = (text("BASE_URL") or "").strip()
    faults = base_url_problems(place) if place else ()
    for fault in faults:
        issue("BASE_URL", fault)
    query = _parse_boolean("REQUEST_QUERY", text("REQUEST_QUERY"), True, issue)
    header = _parse_boolean("REQUEST_AUTHORIZATION_HEADER", text("REQUEST_AUTHORIZATION_HEADER"), True, issue)
    prefix = (
        (text("REQUEST_HEADER_PREFIX") or "").strip().lower() if text("REQUEST_HEADER_PREFIX") is not None else None
    )
    if prefix not in (None, "", HEADER_PREFIX):
        # Whoever sends another one would be answered as the operator, and believe to be answered as itself.
        issue("REQUEST_HEADER_PREFIX", f"Expected {HEADER_PREFIX} or nothing, but got {prefix}")
    agent = text("USER_AGENT")
    return DocSpaceVariables(
        base_url=normalize_base_url(place) if place and not faults else "",
        secret_names=frozenset(name for name in SECRET_NAMES if (text(name) or "").strip()),
        selection=Selection(parse_toolsets(chosen), added, taken),
        dynamic=dynamic,
        user_agent=None if agent is None else agent.strip(),
        caller_credentials=_credential_rules(
            authorization=header, headers=prefix in (None, HEADER_PREFIX), query=query
        ),
        asks_callers=any(_is_yes(name, text(name)) for name in _REQUEST_NAMES),
        over_http=(text("TRANSPORT") or "").strip().lower() in _HTTP_TRANSPORTS,
        has_typos=any(_is_typo(name) for name in _names(environ)),
        issues=tuple(issues),
    )


def variable_warnings(environ: Mapping[str, str]) -> Iterator[FileProblem]:
    """Those that mean nothing here, and those that nobody knows."""
    for name in _names(environ):
        if name in _KNOWN_NAMES:
            word = environ[PREFIX + name].strip().lower()
            if name == "TRANSPORT" and word not in ("", "stdio", *_HTTP_TRANSPORTS):
                known = ", ".join(("stdio", *_HTTP_TRANSPORTS))
                told = f"expected one of: {known}. Whether pegboard stdio or serve runs is what counts."
                yield FileProblem(ENVIRONMENT_NAME, 0, PREFIX + name, told)
            continue
        why = next((why for start, why in _UNSUPPORTED.items() if _matches_name(name, start)), None)
        if why is not None:
            yield FileProblem(ENVIRONMENT_NAME, 0, PREFIX + name, f"this is not read: {why}.")
        elif _is_typo(name):
            meant = " or ".join(PREFIX + one for one in closest_names(name, _KNOWN_NAMES))
            yield FileProblem(ENVIRONMENT_NAME, 0, PREFIX + name, f"nobody reads this. Did you mean {meant}?")


def _names(environ: Mapping[str, str]) -> list[str]:
    return sorted(name.removeprefix(PREFIX) for name in environ if name.startswith(PREFIX))


def _is_typo(name: str) -> bool:
    return not _is_known(name) and bool(closest_names(name, _KNOWN_NAMES))


def _is_yes(name: str, text: str | None) -> bool:
    word = (text or "").strip().lower()
    return word == HEADER_PREFIX if name == "REQUEST_HEADER_PREFIX" else word in _TRUE_WORDS


def _is_known(name: str) -> bool:
    return name in _KNOWN_NAMES or any(_matches_name(name, start) for start in _UNSUPPORTED)


def _matches_name(name: str, start: str) -> bool:
    return name.startswith(start) if start.endswith("_") else name == start


def _parse_boolean(name: str, text: str | None, default: bool, issue: Callable[[str, str], None]) -> bool:
    if text is None:
        return default
    word = text.strip().lower()
    if word not in _TRUE_WORDS and word not in _FALSE_WORDS:
        issue(name, f"Expected one of: yes, y, true, 1, no, n, false, 0, but got {text}")
    return word in _TRUE_WORDS


def _parse_list(name: str, text: str, known: tuple[str, ...], issue: Callable[[str, str], None]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for part in text.split(","):
        if word := part.strip().lower():
            found.setdefault(word, part)
    for word, written in found.items():
        if word not in known:
            issue(name, f"Unknown value: {written}")
    return tuple(word for word in found if word in known)


ENVIRONMENT_ORIGIN: Final = DeclaredAt(f"{ENVIRONMENT_NAME} ({PREFIX}*)", 0)
_NO_TOOLS_MESSAGE: Final = "No tools left"
_TEXT_KEYS: Final = (*(keys.BASE_URL, keys.API_KEY, keys.AUTH_TOKEN, keys.USERNAME, keys.PASSWORD, keys.AUTHORIZATION),)


@dataclass(frozen=True)
class BoardWithDocSpace:
    """A board with its DocSpace, if it has one, and what a person should know of how it was said."""

    board: DeclaredSettings
    warnings: tuple[FileProblem, ...] = ()


@dataclass(frozen=True)
class _DocSpaceDeclaration:
    connection: WebApi
    at: DeclaredAt
    selection: Selection = field(default_factory=Selection)
    trust: Trust = Trust.OPEN

    @cached_property
    def chosen_tools(self) -> frozenset[ToolId]:
        return select_tools(self.selection, ToolDirectory(tool_ids(), frozenset(TOOLSETS))).tools

    @cached_property
    def usable_connection(self) -> WebApi:
        """As it is reached, or why it cannot be."""
        nothing = not self.chosen_tools and not self.connection.problem
        return replace(self.connection, problem=_NO_TOOLS_MESSAGE) if nothing else self.connection


def with_docspace(board: DeclaredSettings, values: ConfigValues, place: FileContext) -> BoardWithDocSpace:
    """What the file says goes before the environment, all of it."""
    said = values.get(keys.DOCSPACE)
    if said is None:
        return from_environment(board, place.environ, presented=values.get(PRESENTATION) is not None)
    wish = _DocSpaceDeclaration(
        _connection(said.value, board),
        place.declared_at(said),
        _selection(said.value),
        said.value.value(keys.TRUST, Trust.OPEN),
    )
    return BoardWithDocSpace(
        _add_to_board(board, wish), (*_warnings(said, wish.usable_connection, place), *_sharing_warnings(board))
    )


def from_environment(
    board: DeclaredSettings, environ: Mapping[str, str], *, presented: bool = False
) -> BoardWithDocSpace:
    """`presented`: whether the operator has said already how tools are shown."""
    if not are_any_set(environ):
        return BoardWithDocSpace(board)
    said = read_variables(environ)
    told = (*variable_warnings(environ), *_sharing_warnings(board))
    hung = _add_to_board(board, _DocSpaceDeclaration(_from_variables(said, board), ENVIRONMENT_ORIGIN, said.selection))
    if said.dynamic and not presented:
        hung = replace(hung, presentation=replace(hung.presentation, presentation=PresentationMode.META))
    return BoardWithDocSpace(hung, told)


def operator_access(connection: WebApi, expand: Expand) -> ApiAccess | ApiMisconfiguration | None:
    """As whom the operator asks DocSpace; `None` where callers are to say. References are followed now."""
    if connection.problem:
        return ApiMisconfiguration(connection.problem)
    found: dict[str, str] = {}
    for text in connection.texts:
        value = expand(text)
        if isinstance(value, UnresolvedReference):
            return ApiMisconfiguration(
                _missing_reason(value, is_secret=text not in (connection.base_url, connection.username))
            )
        found[text] = value
    said = DocSpaceCredentialValues(
        *(
            found.get(text, "")
            for text in (
                *(connection.base_url, connection.api_key, connection.auth_token),
                *(connection.username, connection.password, connection.authorization),
            )
        )
    )
    return resolve_operator_access(replace(said, base_url_written=connection.base_url), connection.lends)


@dataclass(frozen=True, slots=True)
class DocSpaceCredentialValues:
    """Values as they are, around which white space means nothing, and where nothing is as good as not said."""

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    auth_token: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    authorization: str = field(default="", repr=False)
    base_url_written: str = ""
    """The base URL as the file says it, with its references. Messages quote this one: a value may be a secret."""


def resolve_operator_access(
    said: DocSpaceCredentialValues, lends: CallerCredentialRules | None
) -> ApiAccess | ApiMisconfiguration | None:
    """All that is wrong, at once. `None` where the operator has no credentials, and each caller is to lend its own."""
    place = said.base_url.strip()
    methods = tuple(_settled_methods(said))
    faults = base_url_problems(place, said.base_url_written) if place else ()
    if wrong := [*faults, *_problems(said, methods, lends)]:
        return ApiMisconfiguration("\n".join(wrong))
    return ApiAccess(normalize_base_url(place), methods[0]) if methods else None


def _settled_methods(said: DocSpaceCredentialValues) -> Iterator[Credential]:
    if value := said.authorization.strip():
        yield RawAuthorization(value)
    if value := said.api_key.strip():
        yield ApiKey(value)
    if value := said.auth_token.strip():
        yield AccessToken(value)
    if (name := said.username.strip()) and (value := said.password.strip()):
        yield Password(name, value)


def _problems(
    said: DocSpaceCredentialValues, methods: tuple[Credential, ...], lends: CallerCredentialRules | None
) -> Iterator[str]:
    username, password = said.username.strip(), said.password.strip()
    if username and not password:
        yield "No password"
    if password and not username:
        yield "No username"
    if methods and not said.base_url.strip():
        yield "No API base URL"
    lendable = lends is not None and (lends.headers or (lends.authorization and lends.query))
    if not methods and not username and not password and not lendable:
        yield "No authentication method"
    if len(methods) > 1:
        yield "Multiple authentication methods"
    yield from (told for method in methods if (told := explain_unsendable(method)) is not None)


def trusted_base_urls(connection: WebApi, expand: Expand) -> tuple[str, ...]:
    """The base URLs that the operator names: callers may lead to them even where they are inside its own network."""
    own = expand(connection.base_url) if connection.base_url else ""
    places = () if connection.lends is None else connection.lends.base_urls
    return tuple(url for url in (own, *places) if isinstance(url, str) and url and not base_url_problems(url.strip()))


def _add_to_board(board: DeclaredSettings, wish: _DocSpaceDeclaration) -> DeclaredSettings:
    # What cannot be used is shown whole, with the reason: a person who looks for a tool must find it.
    left_out = (
        () if wish.usable_connection.problem else tuple(str(id) for id in tool_ids() if id not in wish.chosen_tools)
    )
    servers: dict[ProviderKey, Server] = {
        ToolsetKey(id): Server(ToolsetKey(id), wish.usable_connection, wish.at, trust=wish.trust) for id in TOOLSETS
    }
    sets = {id: _toolset(board.toolsets.get(id), wish.at, DESCRIPTIONS[id], Toolset(id, wish.at)) for id in TOOLSETS}
    selection = replace(board.selection, disabled=(*board.selection.disabled, *left_out))
    return replace(
        board,
        optional_names=board.optional_names | {*left_out},
        chosen_elsewhere={str(id): TITLE for id in tool_ids()},
        servers={**board.servers, **servers},
        toolsets={**board.toolsets, **sets},
        selection=selection,
    )


def _sharing_warnings(board: DeclaredSettings) -> Iterator[FileProblem]:
    """Servers of the file's own that get DocSpace's tools for neighbours: whoever was given one now has both."""
    for key, server in board.servers.items():
        if key.toolset in TOOLSETS and isinstance(server.origin, DeclaredAt):
            yield FileProblem(
                server.origin.file, server.origin.line, str(server.id), shared_toolset_warning(key.toolset, TITLE)
            )


def _toolset(said: Toolset | None, at: DeclaredAt, description: str, new: Toolset) -> Toolset:
    """What the file says of the toolset stands; it may hold servers too."""
    if said is None:
        return replace(new, description=description, user_mcp=False)
    return replace(said, description=said.description or description, user_mcp=False)


def _connection(values: ConfigValues, board: DeclaredSettings) -> WebApi:
    usual = WebApi(KIND, TITLE)

    def text(key: ConfigKey[str]) -> str:
        return values.value(key, "")

    agent = values.get(keys.USER_AGENT)
    return WebApi(
        KIND,
        TITLE,
        base_url=text(keys.BASE_URL),
        api_key=text(keys.API_KEY),
        auth_token=text(keys.AUTH_TOKEN),
        username=text(keys.USERNAME),
        password=text(keys.PASSWORD),
        authorization=text(keys.AUTHORIZATION),
        lends=_caller_credentials(_credential_rules(base_urls=_places(values)), board)
        if values.value(keys.REQUEST_CREDENTIALS, False)
        else None,
        user_agent=None if agent is None else agent.value,
        deadline=values.value(keys.DEADLINE_KEY, usual.deadline),
        timeout=values.value(keys.TIMEOUT_KEY, usual.timeout),
    )


def _from_variables(said: DocSpaceVariables, board: DeclaredSettings) -> WebApi:
    """Callers bring credentials where the operator asks them to, or has none and so could mean nothing else. A gateway
    with tokens is shared: there it must be said, and so it must where somebody misspelt a name."""
    lends = _caller_credentials(said.caller_credentials, board)
    implied = not (said.secret_names or said.has_typos or board.principals)
    may = (said.asks_callers or implied) and (lends.headers or lends.authorization)
    return WebApi(
        KIND,
        TITLE,
        base_url=said.base_url,
        api_key=said.reference("API_KEY"),
        auth_token=said.reference("AUTH_TOKEN"),
        username=said.reference("USERNAME"),
        password=said.reference("PASSWORD"),
        authorization=said.reference("AUTHORIZATION"),
        lends=replace(lends, is_implied=not said.asks_callers and not said.over_http) if may else None,
        user_agent=said.user_agent,
        problem=said.error_message,
    )


def _caller_credentials(said: CallerCredentialRules, board: DeclaredSettings) -> CallerCredentialRules:
    """Authorization is not DocSpace's where it is the token for the gateway, or another server asks for it."""
    asked = {
        part.header.lower()
        for server in board.servers.values()
        if isinstance(server.connection, Http)
        for text in server.connection.headers.values()
        for part in header_references(text)
    }
    taken = bool(board.principals) or "authorization" in asked
    return replace(said, authorization=said.authorization and not taken)


def _places(values: ConfigValues) -> tuple[str, ...]:
    """In their one spelling; what no request could name either stays as it was written."""
    written = (placed.value for placed in values.value(keys.REQUEST_BASE_URLS, ()))
    return tuple(text if base_url_problems(text) else normalize_base_url(text) for text in written)


def _selection(values: ConfigValues) -> Selection:
    named = values.get(keys.TOOLSETS)
    return Selection(
        toolsets=AllToolsets() if named is None else parse_toolsets(name.value for name in named.value),
        enabled=tuple(name.value for name in values.value(keys.ENABLED_TOOLS, ())),
        disabled=tuple(name.value for name in values.value(keys.DISABLED_TOOLS, ())),
    )


def _warnings(said: LocatedValue[ConfigValues], connection: WebApi, place: FileContext) -> Iterator[FileProblem]:
    if not place.resolves_references and any(map(has_reference, connection.texts)):
        return
    expand = expander(place.environ, place.folder)
    missing = False
    for key in _TEXT_KEYS:
        text = said.value.get(key)
        if text is not None and isinstance(value := expand(text.value), UnresolvedReference):
            missing = True
            why = _missing_reason(value, is_secret=key not in (keys.BASE_URL, keys.USERNAME))
            yield FileProblem(place.file, text.line, text.key, f"{why}.", depends_on_environment=True)
    wrong = None if missing else operator_access(connection, expand)
    if isinstance(wrong, ApiMisconfiguration):
        told = "; ".join(wrong.why.splitlines())
        yield FileProblem(
            place.file,
            said.line,
            said.key,
            " ".join((f"{told}.", *misconfiguration_remedies(wrong))),
            depends_on_environment=True,
        )
    named = {part.name for text in connection.texts for part in _parts(text) if isinstance(part, VariableReference)}
    if unread := sorted(name for name in place.environ if name.startswith(PREFIX) and name not in named):
        told = f"{', '.join(unread)} of the environment: not read, because this stands here. Keep one of the two."
        yield FileProblem(place.file, said.line, said.key, told, depends_on_environment=True)


def _missing_reason(unresolved: UnresolvedReference, *, is_secret: bool) -> str:
    """Without advice that would be refused: the default of a secret would stand in the file."""
    why = unresolved.why.partition(", or write ${")[0] if is_secret else unresolved.why
    return why.rstrip(".")


def _parts(text: str) -> tuple[object, ...]:
    found = parse_references(text)
    return found if isinstance(found, tuple) else ()
