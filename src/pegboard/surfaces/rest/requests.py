"""Request bodies as Pydantic models, and their core values."""

from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StrictBool, model_validator

from pegboard.core.model.characters import first_hidden
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.selection import AllToolsets, Selection, View, parse_toolsets
from pegboard.core.model.settings import PresentationMode
from pegboard.core.policy.policy import MAX_CONSENT_DAYS, Lifetime, NoExpiry
from pegboard.surfaces.rest.responses import MAX_PAGE_SIZE, AfterField, LimitField

Name = Annotated[str, Field(max_length=512)]


def _check_readable(note: str) -> str:
    """People and models read it within a sentence, which it must not turn round or hide."""
    if (odd := first_hidden(note)) is not None:
        raise ValueError(f"this has a character that nobody sees or that turns text round ({odd}). Leave it out.")
    return note


Note = Annotated[str, Field(max_length=500), AfterValidator(_check_readable)]


class _RequestBody(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class TimeoutsBody(_RequestBody):
    start: float | str | None = None
    call: float | str | None = None
    stop: float | str | None = None


class OAuthBody(_RequestBody):
    client_id: str | None = None
    client_secret: str | None = None
    client_metadata_url: str | None = None
    scopes: list[str] | None = None


class ServerSourceBody(_RequestBody):
    """A server that stands in a text or in another client's list: named, so that what is secret in it stays there."""

    text: Annotated[str | None, Field(max_length=1_000_000, description="As it was pasted.")] = None
    client: Annotated[str | None, Field(max_length=4096, description="The path of a list of GET /clients.")] = None
    server: Annotated[
        str | None, Field(max_length=512, description="Its name there; needed when there are several.")
    ] = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.text is None) == (self.client is None):
            raise ValueError("name the text or the client's list that it is read from, one of both")
        return self


class ServerBody(_RequestBody):
    """The keys of a server in pegboard.yaml, with the same meaning, and its id. With `from`, what stands there, and on
    top of it what is said here."""

    id: Annotated[
        str, Field(max_length=512, description="The server's id. With `from` its name there, by default.")
    ] = ""
    read_from: Annotated[ServerSourceBody | None, Field(alias="from")] = None
    baseline: Annotated[
        str | None,
        Field(
            pattern="^[0-9a-f]{64}$",
            description="The `baseline` of a trial: with trust baseline, exactly what it listed counts as seen.",
        ),
    ] = None
    folder: Annotated[
        str | None, Field(description="What relative paths are taken from. By default the gateway's own folder.")
    ] = None
    toolset: str | None = None
    command: str | None = None
    args: list[str] | None = None
    env: dict[str, str] | None = None
    cwd: str | None = None
    url: str | None = None
    transport: Literal["http", "sse"] | None = None
    headers: dict[str, str] | None = None
    oauth: OAuthBody | Literal[False] | None = None
    enabled: bool | None = None
    trust: Literal["open", "baseline", "strict"] | None = None
    enabled_tools: list[str] | None = None
    disabled_tools: list[str] | None = None
    timeouts: TimeoutsBody | None = None
    start: Literal["always", "on_demand"] | None = None
    idle_stop: float | str | None = None
    protocol: Literal["latest", "handshake"] | None = None
    quarantine: Annotated[
        bool, Field(description="Keep it from starting until a person has reviewed and released it.")
    ] = False

    def as_entry(self) -> dict[str, Any]:
        """As it would stand in the file: what was not said is left out."""
        return self.model_dump(exclude={"id", "folder", "quarantine", "read_from", "baseline"}, exclude_none=True)


class PasteBody(_RequestBody):
    """An address, a command line, or a piece of any client's list of servers."""

    text: Annotated[str, Field(max_length=1_000_000)]


class TrustBody(_RequestBody):
    trust: Literal["open", "baseline", "strict"]


class SwitchBody(_RequestBody):
    enabled: StrictBool
    note: Note = ""


class ServerFingerprintBody(_RequestBody):
    fingerprint: Annotated[str, Field(max_length=100)] | None = None
    """The `fingerprint` of the server as it was read."""


class ToolSwitchBody(SwitchBody):
    tool: Name


class ToolSwitchesBody(SwitchBody):
    tools: Annotated[list[Name], Field(min_length=1, max_length=5_000, description="Ids of tools.")]


class ApproveBody(_RequestBody):
    """Names the fingerprint that was read, so that nothing is approved unseen."""

    tool: Name
    fingerprint: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class DenyBody(_RequestBody):
    note: Note = ""


class AllowBody(DenyBody):
    """`once` is this call alone. The others give a standing permission beside it, for this client or for any of its
    principal: it ends after so many days or at a moment, else as the board says."""

    scope: Literal["once", "client", "always"] = "once"
    expires_in_days: Annotated[float | None, Field(gt=0, le=MAX_CONSENT_DAYS, alias="expiresInDays")] = None
    expires_at: Annotated[
        AwareDatetime | Literal["never"] | None,
        Field(alias="expiresAt", description="`never` only where the board has consent_days: never."),
    ] = None
    confirm_destructive: Annotated[
        StrictBool,
        Field(
            alias="confirmDestructive",
            description="The second confirmation that a standing permission needs for a tool which claims to be "
            "destructive.",
        ),
    ] = False

    @model_validator(mode="after")
    def _has_one_end(self) -> Self:
        ends = (self.expires_in_days, self.expires_at)
        if None not in ends:
            raise ValueError("send expiresInDays or expiresAt, not both")
        if self.scope == "once" and ends != (None, None):
            raise ValueError("only a standing permission has an end: send scope client or always with it")
        return self

    def lifetime(self) -> Lifetime | None:
        if self.expires_in_days is not None:
            return timedelta(days=self.expires_in_days)
        return NoExpiry.NEVER if self.expires_at == "never" else self.expires_at


class ReadToolBody(ApproveBody):
    """One of several that are approved at once."""


class ApprovalsBody(_RequestBody):
    """Tools that were read, each by its fingerprint; or all that wait of one server, by the one of its list."""

    tools: Annotated[list[ReadToolBody], Field(max_length=20_000)] = Field(default_factory=list[ReadToolBody])
    server: Name | None = None
    fingerprint: Annotated[str | None, Field(pattern="^[0-9a-f]{64}$")] = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        whole = self.server is not None and self.fingerprint is not None and not self.tools
        named = bool(self.tools) and self.server is None and self.fingerprint is None
        if not whole and not named:
            raise ValueError(
                "name the tools, each with its fingerprint, or one server with the fingerprint of its list"
            )
        return self


class ImportBody(_RequestBody):
    """A toolset that lies on the gateway's own machine."""

    path: Annotated[str, Field(max_length=4096, description="A folder, a ZIP or a toolset.yaml: an absolute path.")]
    display_path: Annotated[
        str | None, Field(max_length=4096, alias="displayPath", description="The path as a person wrote it.")
    ] = None
    link: Annotated[StrictBool, Field(description="Run it from the folder itself, and follow changes there.")] = False
    approve: Annotated[list[ReadToolBody] | Literal["all"], Field(description="Tools that were read, or all.")] = Field(
        default_factory=list[ReadToolBody]
    )


class SecretBody(_RequestBody):
    value: Annotated[str, Field(min_length=1, max_length=65_536)]


class BlockBody(_RequestBody):
    tool: Name
    note: Note = ""


class _ViewBody(_RequestBody):
    toolsets: list[Name] | None = None
    enabled_tools: list[Name] = Field(default_factory=list)
    disabled_tools: list[Name] = Field(default_factory=list)

    def view_of(self, principal: PrincipalId) -> View:
        plain = View(principal)
        narrowing = Selection(
            AllToolsets() if self.toolsets is None else parse_toolsets(self.toolsets),
            tuple(self.enabled_tools),
            tuple(self.disabled_tools),
        )
        return plain if narrowing == Selection() else plain.narrow(narrowing)


class ViewQuery(_ViewBody):
    """Whose view, and how narrow. Absent `toolsets` means all of them; given but empty means none."""

    principal: Name = Field(default="local", alias="as")

    def view(self) -> View:
        return self.view_of(PrincipalId(self.principal))


class ActingBody(_ViewBody):
    """In whose name tools are called, and with how narrow a view."""

    principal: Annotated[
        Name | None,
        Field(
            alias="as",
            description="The principal of your token, by default. Another one needs the scope admin; its standing "
            "permissions do not count then, and the activity names you beside it.",
        ),
    ] = None


class ToolsQuery(ViewQuery):
    limit: LimitField = MAX_PAGE_SIZE
    after: AfterField = None


class ToolQuery(ViewQuery):
    tool: Name


class WhyQuery(ToolQuery):
    presentation: Annotated[
        Literal["direct", "meta", "search", "deferred", "code"] | None,
        Field(description="Say whether the tool is listed at the endpoint of this presentation."),
    ] = None

    @property
    def asked_presentation(self) -> PresentationMode | None:
        return None if self.presentation is None else PresentationMode(self.presentation)


class CallBody(ActingBody):
    tool: Name
    arguments: dict[str, Any] = Field(default_factory=dict)
    trial: Annotated[StrictBool, Field(description="Mark it as a trial, and tell its result in every form.")] = False


class OtherConfigBody(_RequestBody):
    """A configuration to hold against the one that is loaded: its text, and the file it stands for."""

    file: str
    text: Annotated[str, Field(max_length=5_000_000)]
    principal: Name = Field(default="local", alias="as")


class PolicyBody(_RequestBody):
    """A policy as `GET /policy/export` gives it: its text."""

    text: Annotated[str, Field(max_length=50_000_000)]


class PolicyComparisonBody(PolicyBody):
    open: Annotated[
        bool,
        Field(
            description="false refuses what an import without open refuses: a policy of a board that requires tokens."
        ),
    ] = True


class PolicyImportBody(PolicyBody):
    version: Annotated[
        int | None, Field(ge=0, description="The policy version you looked at, as If-Match would say it.")
    ] = None
    open: Annotated[
        bool, Field(description="Import it though it comes from a board that requires tokens, and this one does not.")
    ] = False


class DeleteRowsBody(_RequestBody):
    rows: Annotated[list[Name], Field(min_length=1, max_length=10_000, description="Ids of GET /store/unreadable.")]
    version: Annotated[int | None, Field(ge=0, description="The policy version you looked at.")] = None


class OverridesQuery(_RequestBody):
    toolset: Name | None = None
    limit: LimitField = MAX_PAGE_SIZE
    after: AfterField = None


class OverrideEditBody(_RequestBody):
    """`set` has the keys of an override in pegboard.yaml, with the same meaning; `clear` names fields to unsay."""

    target: Name
    toolset: Name | None = None
    set: dict[str, Any] = Field(default_factory=dict)
    clear: list[Name] | Literal["all"] = Field(default_factory=list)


class ToolChoiceBody(_RequestBody):
    """Tools by id, or patterns such as read_* and github:delete_*: each in one of both."""

    includes: Annotated[list[Name], Field(max_length=500)] = Field(default_factory=list)
    excludes: Annotated[list[Name], Field(max_length=500)] = Field(default_factory=list)


class RenderBody(ToolQuery):
    """A call that was made: its arguments, and the result as the tool gave it."""

    arguments: dict[str, Any] = Field(default_factory=dict)
    result: dict[str, Any] = Field(default_factory=dict)
    chat_id: str | None = None
    workspace: str | None = None
