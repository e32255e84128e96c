"""The everything-server: all fixtures behind one server of the official SDK, for both eras at once."""

import warnings
from collections.abc import Mapping
from typing import Any, Final

from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.subscriptions import PromptsListChanged, ResourceUpdated, ToolsListChanged
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    Prompt,
    ReadResourceRequestParams,
    ReadResourceResult,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from .asking import ASKING, prompt_in_context
from .news import News
from .offers import IN_CONTEXT, PROMPTS, RESOURCES, TEMPLATES, WATCHED, Watched, complete, prompt, read
from .plain import PLAIN, STEP, Fixture, Logging, fixture, logging_tool, said
from .turn import Context, NotYet, Turn

NAME: Final = "everything"
HINT: Final = CacheHint(0, "private")


class _Announced(Server[Any]):
    """Says in every handshake that its lists can change; the SDK's HTTP sessions leave no other place."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = NotificationOptions(prompts_changed=True, tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


class Everything:
    def __init__(self) -> None:
        self._news = News()
        self._logging = Logging()
        self._watched = Watched()
        self._come_and_gone_tool = fixture("test_comes_and_goes", "Is there every other time.", _is_there)
        self._come_and_gone_prompt = Prompt(name="test_comes_and_goes", description="Is there every other time.")
        self._fixtures: dict[str, Fixture] = {
            each.tool.name: each
            for each in (
                *PLAIN,
                logging_tool("test_tool_with_logging", self._logging, _session_of, STEP),
                logging_tool("test_logging_tool", self._logging, _session_of, 0),
                *ASKING,
                fixture("test_trigger_tool_change", "Adds a tool, or takes it away again.", self._change_tools),
                fixture("test_trigger_prompt_change", "Adds a prompt, or takes it away again.", self._change_prompts),
                fixture("test_trigger_resource_change", "Changes the watched resource.", self._change_resource),
            )
        }
        self._prompts: dict[str, Prompt] = {each.name: each for each in PROMPTS}
        with warnings.catch_warnings():
            # `logging/setLevel` is part of the older era, and this server speaks both.
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            self.server: Final = _Announced(
                NAME,
                version="1.0.0",
                cache_hints={
                    "server/discover": HINT,
                    "tools/list": HINT,
                    "prompts/list": HINT,
                    "resources/list": HINT,
                    "resources/templates/list": HINT,
                    "resources/read": HINT,
                },
                get_tool_input_schema=self._input_schema,
                on_list_tools=self._list_tools,
                on_call_tool=self._call_tool,
                on_list_resources=self._list_resources,
                on_list_resource_templates=self._list_templates,
                on_read_resource=self._read_resource,
                on_subscribe_resource=self._subscribe,
                on_unsubscribe_resource=self._unsubscribe,
                on_subscriptions_listen=self._news.listen,
                on_list_prompts=self._list_prompts,
                on_get_prompt=self._get_prompt,
                on_completion=self._complete,
                on_set_logging_level=self._set_level,
            )
        self.server.add_notification_handler("notifications/initialized", NotificationParams, self._opened)
        self.server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        return self._fixtures[name].tool.input_schema if name in self._fixtures else None

    async def _opened(self, ctx: Context, params: NotificationParams) -> None:
        self._news.opened(_session(ctx), ctx.session)

    async def _list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[each.tool for each in self._fixtures.values()])

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        chosen = self._fixtures.get(params.name)
        if chosen is None:
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}.")
        try:
            return await chosen.run(Turn(ctx, params.arguments, params.input_responses, params.request_state))
        except NotYet as questions:
            return questions.result

    async def _list_resources(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=list(RESOURCES))

    async def _list_templates(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def _read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return read(params.uri, self._watched, stateless=Turn(ctx, None, None, None).stateless)

    async def _subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        self._news.watch(_session(ctx), params.uri)
        return EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        self._news.unwatch(_session(ctx), params.uri)
        return EmptyResult()

    async def _list_prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=list(self._prompts.values()))

    async def _get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        if params.name != IN_CONTEXT:
            return prompt(params.name, params.arguments or {})
        try:
            return await prompt_in_context(Turn(ctx, params.arguments, params.input_responses, params.request_state))
        except NotYet as questions:
            return questions.result

    async def _complete(self, ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        return complete(params.argument.name, params.argument.value)

    async def _set_level(self, ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
        self._logging.set_level(_session(ctx), params.level)
        return EmptyResult()

    async def _change_tools(self, turn: Turn) -> CallToolResult:
        extra = self._come_and_gone_tool
        if self._fixtures.pop(extra.tool.name, None) is None:
            self._fixtures[extra.tool.name] = extra
        await self._news.tell(ToolsListChanged())
        return said(f"There are {len(self._fixtures)} tools now.")

    async def _change_prompts(self, turn: Turn) -> CallToolResult:
        extra = self._come_and_gone_prompt
        if self._prompts.pop(extra.name, None) is None:
            self._prompts[extra.name] = extra
        await self._news.tell(PromptsListChanged())
        return said(f"There are {len(self._prompts)} prompts now.")

    async def _change_resource(self, turn: Turn) -> CallToolResult:
        self._watched.version += 1
        await self._news.tell(ResourceUpdated(WATCHED))
        return said(f"The watched resource is at version {self._watched.version}.")


async def _is_there(turn: Turn) -> CallToolResult:
    return said("This time it is there.")


def _session(ctx: Context) -> str:
    """What tells one session of the older era from another; over stdio there is one."""
    return "" if ctx.request is None else str(ctx.request.headers.get("mcp-session-id", ""))


def _session_of(turn: Turn) -> str:
    return _session(turn.ctx)
