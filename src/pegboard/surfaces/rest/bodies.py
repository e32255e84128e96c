"""What a client may send: Pydantic models at the rim, turned into core values by one function each."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pegboard.core.ids import BadId, PrincipalId, ServerKey, server_id, toolset_id
from pegboard.core.selection import Everything, Selection, toolsets
from pegboard.core.server import (
    AllButTools,
    EveryTool,
    Http,
    InstalledBy,
    OnlyTools,
    Server,
    Stdio,
    ToolLimit,
    Transport,
    Trust,
)
from pegboard.core.toolset import Toolset
from pegboard.core.view import View

Name = Annotated[str, Field(max_length=512)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class ServerBody(_Body):
    id: Name
    toolset: Name | None = None
    command: str | None = None
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    transport: Literal["http", "sse"] = "http"
    headers: dict[str, str] = Field(default_factory=dict)
    on: bool = Field(default=True, alias="enabled")
    trust: Trust = Trust.BASELINE
    only: list[str] | None = Field(default=None, alias="enabled_tools")
    all_but: list[str] | None = Field(default=None, alias="disabled_tools")

    @model_validator(mode="after")
    def one_way_in(self) -> "ServerBody":
        if (self.command is None) == (self.url is None):
            raise ValueError("give either command (a program to start) or url (a server to reach)")
        if self.only is not None and self.all_but is not None:
            raise ValueError("give enabled_tools or disabled_tools, not both")
        if self.url is not None and not self.url.startswith(("http://", "https://", "${")):
            raise ValueError(f"url {self.url!r} must start with http:// or https://")
        return self

    def server(self, by: PrincipalId, at: datetime) -> tuple[Server, Toolset] | BadId:
        server, toolset = server_id(self.id), toolset_id(self.toolset or self.id)
        if isinstance(server, BadId):
            return server
        if isinstance(toolset, BadId):
            return toolset
        origin = InstalledBy(by, at)
        connection = (
            Stdio(self.command, tuple(self.args), self.env, self.cwd)
            if self.command is not None
            else Http(self.url or "", Transport(self.transport), self.headers)
        )
        return (
            Server(ServerKey(toolset, server), connection, origin, self.on, self.trust, self._limit()),
            Toolset(toolset, origin, name=toolset, user_mcp=str(toolset) == str(server)),
        )

    def _limit(self) -> ToolLimit:
        if self.only is not None:
            return OnlyTools(tuple(self.only))
        if self.all_but is not None:
            return AllButTools(tuple(self.all_but))
        return EveryTool()


class SwitchBody(_Body):
    on: bool
    note: Annotated[str, Field(max_length=500)] = ""


class ViewQuery(_Body):
    """Whose view, and how narrow. Absent `toolsets` means all of them; given but empty means none."""

    toolsets: list[Name] | None = None
    enabled_tools: list[Name] = Field(default_factory=list)
    disabled_tools: list[Name] = Field(default_factory=list)
    principal: Name = Field(default="local", alias="as")

    def view(self) -> View:
        plain = View(PrincipalId(self.principal))
        narrowing = Selection(
            Everything() if self.toolsets is None else toolsets(self.toolsets),
            tuple(self.enabled_tools),
            tuple(self.disabled_tools),
        )
        return plain if narrowing == Selection() else plain.narrowed(narrowing)


class ToolQuery(ViewQuery):
    tool: Name


class CallBody(ToolQuery):
    arguments: dict[str, Any] = Field(default_factory=dict)


class OtherConfig(_Body):
    """A configuration to hold against the one that is loaded: its text, and the file it stands for."""

    file: str
    text: Annotated[str, Field(max_length=5_000_000)]
    principal: Name = Field(default="local", alias="as")
