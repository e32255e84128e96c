"""The tool calls of a program, each decided like any other call."""

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Final, TypeAlias, assert_never, cast
from uuid import uuid4

import anyio
import anyio.to_thread
import msgspec

from pegboard.core.calls.call import (
    BadArguments,
    CallCancellation,
    CallConfirmation,
    ConfirmationRefusal,
    LockedToolRefusal,
    MissingConfirmation,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    Refusal,
    ToolCall,
    ToolFailure,
    ToolSuccess,
    UnknownTool,
    refusal_text,
)
from pegboard.core.calls.programs import PROGRAM_META
from pegboard.core.calls.tickets import TICKET_ID, Ticket, TicketState, refuse_question, ticket_tool_answer
from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import BuiltinKey, CallId, ToolId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID
from pegboard.core.model.text import truncate
from pegboard.core.model.tool import JsonSchema, ToolSpec
from pegboard.core.model.wire_names import long_names
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.confirmation import CONTINUATION_FIELDS, STORE_TIMEOUT_S, Confirmation
from pegboard.gateway.programs.clock import ClockPausingPeer, RunActivity, RunClock, Slot
from pegboard.gateway.result_text import describe_outcome
from pegboard.gateway.ticket_tool import ExecuteCall as NestedExecuteCall
from pegboard.gateway.ticket_tool import new_call_id
from pegboard.ports.providers import ClientPeer, Clock, PeerRequestError, Progress
from pegboard.ports.sandbox import (
    CallAnswer,
    CallFailure,
    HostReply,
    PendingDecision,
    Program,
    SandboxFunction,
    SandboxLimits,
    is_small,
)
from pegboard.ports.stores import TicketsUnavailable
from pegboard.prompts.stubs.names import ProgramNames
from pegboard.prompts.stubs.programs import stubs_for, visible_spec
from pegboard.prompts.stubs.render import HEADER
from pegboard.prompts.stubs.types import SchemaTypeReader
from pegboard.prompts.stubs.values import UnreadableAnswer, program_answer, to_program_names, to_tool_names

# The functions of one program: of the tools that are open to its caller, those that it mentions.

OFF_LOOP_FUNCTIONS: Final = 20
"""Functions from which on their stubs are written beside the event loop."""
MAX_CACHED_VIEWS: Final = 16
MAX_FUNCTIONS: Final = 1_000
"""Functions of one program: what says more names than that is no program that anybody wrote."""


@dataclass(frozen=True)
class BoundProgram:
    """A program with its functions, and whose each is."""

    program: Program
    tools: dict[str, ToolId]
    unknown_names: tuple[str, ...]
    """What it calls in vain, in words."""
    modules: Collection[str] = ()
    """All that its caller could name."""


class ProgramFunctions:
    """Names for each caller, worked out once for each state of the board."""

    def __init__(self) -> None:
        self._cached: OrderedDict[View, tuple[Resolution, ProgramNames]] = OrderedDict()

    async def bind(self, code: str, resolution: Resolution, policy: Policy) -> BoundProgram:
        """Nothing of a tool that is not open comes near a program: no function, no stub, no word.

        What runs programs has no name there, open or not.
        """
        names = self._names(resolution)
        mentioned = [*names.mentioned_functions(code)][:MAX_FUNCTIONS]
        if len(mentioned) > OFF_LOOP_FUNCTIONS:
            stubs = await anyio.to_thread.run_sync(stubs_for, mentioned, resolution, policy, abandon_on_cancel=True)
        else:
            stubs = stubs_for(mentioned, resolution, policy)
        functions = [
            SandboxFunction(
                stub.function.module,
                stub.function.function,
                stub.text,
                input_schema=_input_schema(visible_spec(stub.function.id, resolution, None)),
            )
            for stub in stubs
        ]
        tools = {str(named): named.id for named in mentioned}
        program = Program(code, tuple(functions), HEADER, names.modules_in(code))
        return BoundProgram(program, tools, names.missing_functions(code), names.by_module.keys())

    def _names(self, resolution: Resolution) -> ProgramNames:
        known = self._cached.get(resolution.view)
        if known is None or known[0] is not resolution:
            # Locked tools rename no open one, so these are the names that a search tells.
            known = self._cached[resolution.view] = resolution, ProgramNames.of(resolution.open_ids)
            while len(self._cached) > MAX_CACHED_VIEWS:
                self._cached.popitem(last=False)
        self._cached.move_to_end(resolution.view)
        return known[1]


def _input_schema(spec: ToolSpec | None) -> JsonSchema | None:
    return None if spec is None else to_program_names(spec.input_schema)


# A call of a program whose tool asks its caller something first: the client is asked, and the call goes on.

MAX_ROUNDS: Final = 10
RETRY_PAUSE_S: Final = 0.1
"""Seconds before a tool is called again that asked for nothing else."""

CallOutcome: TypeAlias = Outcome | Refusal
ExecuteCall: TypeAlias = Callable[[ToolCall], Awaitable[CallOutcome]]


@dataclass(frozen=True)
class _InputRound:
    questions: Mapping[str, tuple[str, JsonObject]]
    """Method and parameters of each question, by its key."""
    state: str | None


async def resolve_input_requests(
    ended: CallOutcome, call: ToolCall, carry: ExecuteCall, peer: ClientPeer | None
) -> CallOutcome:
    """The call's end, after as many rounds as its tool needs. Where its client cannot be asked, it stays as it is."""
    for _ in range(MAX_ROUNDS):
        if not isinstance(ended, NeedsInput) or peer is None:
            return ended
        needed = _parse_input_round(ended.body)
        if needed is None or any(
            refuse_question(peer.capabilities, *question) is not None for question in needed.questions.values()
        ):
            return ended
        said = {name: text for name, text in call.beside.items() if name not in CONTINUATION_FIELDS}
        if needed.questions:
            try:
                answers = {key: dict(await peer.request(*question)) for key, question in needed.questions.items()}
            except PeerRequestError:
                return ended
            said["inputResponses"] = json.dumps(answers).encode()
        else:
            await anyio.sleep(RETRY_PAUSE_S)
        if needed.state is not None:
            said["requestState"] = json.dumps(needed.state).encode()
        ended = await carry(replace(call, id=new_call_id(), beside=said))
    return ended


def _parse_input_round(body: bytes) -> _InputRound | None:
    """`None` for what cannot be read."""
    try:
        result: Json = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(result, dict):
        return None
    requests, state = result.get("inputRequests") or {}, result.get("requestState")
    if not isinstance(requests, dict) or not isinstance(state, str | None) or (not requests and state is None):
        return None
    asked: dict[str, tuple[str, JsonObject]] = {}
    for key, request in requests.items():
        method, params = (request.get("method"), request.get("params", {})) if isinstance(request, dict) else (None, {})
        if not isinstance(method, str) or not isinstance(params, dict):
            return None
        asked[key] = method, params
    return _InputRound(asked, state)


# What of a call's end crosses into the program that made it: plain JSON, or an exception in words known elsewhere.

_ENCODER: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_DECODER: Final = json.JSONDecoder()
OFF_LOOP_BYTES: Final = 262_144
"""Bytes of an answer from which on it is read beside the event loop."""


async def to_program_value(
    ended: Outcome | Refusal, name: str, described: bool, beside: anyio.CapacityLimiter
) -> CallAnswer:
    """`name` is that of the function, `described` whether its stub tells what it gives back. A refusal has the words
    that it has for every other caller. `beside` bounds the threads that read what is large."""
    match ended:
        case ToolSuccess(body) if len(body) > OFF_LOOP_BYTES:
            return await anyio.to_thread.run_sync(
                _decode_value, body, name, described, abandon_on_cancel=True, limiter=beside
            )
        case ToolSuccess(body):
            return _decode_value(body, name, described)
        case ToolFailure():
            return CallFailure(
                "RuntimeError", describe_outcome(ended, name, None) or f"{name} failed, and does not say why."
            )
        case NeedsInput() | ProtocolErrorReply():
            return CallFailure(
                "RuntimeError",
                f"{name} asks something of the user before it goes on, and a program cannot answer that. It did not "
                "finish. Call it by itself, outside of a program.",
            )
        case ProviderFailure() | CallCancellation():
            return CallFailure("OSError", describe_outcome(ended, name, None))
        case UnknownTool():
            return CallFailure("LookupError", refusal_text(ended))
        case LockedToolRefusal() | ConfirmationRefusal():
            return CallFailure("PermissionError", refusal_text(ended))
        case BadArguments():
            return CallFailure("ValueError", refusal_text(ended))
        case _:
            assert_never(ended)


def _decode_value(body: bytes, name: str, described: bool) -> CallAnswer:
    try:
        result = json.loads(body)
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        return CallFailure("OSError", f"The answer of {name} cannot be read. It may have run.")
    value = program_answer(result, described=described)
    return CallFailure("OSError", f"{name}: {value.why}") if isinstance(value, UnreadableAnswer) else value


async def to_plain_json(
    arguments: Mapping[str, Json], beside: anyio.CapacityLimiter
) -> tuple[JsonObject, bytes] | CallFailure:
    """The arguments as JSON has them, and their text. What JSON cannot say is told to the program."""
    if is_small(arguments):
        return _to_plain_json(arguments)
    return await anyio.to_thread.run_sync(_to_plain_json, arguments, abandon_on_cancel=True, limiter=beside)


def _to_plain_json(arguments: Mapping[str, Json]) -> tuple[JsonObject, bytes] | CallFailure:
    sent = dict(arguments)
    with suppress(TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        # A tenth of the time, in which nobody else runs. It writes more than JSON has, and then reads something else.
        quick = msgspec.json.encode(sent)
        if (read := msgspec.json.decode(quick, type=dict[str, object])) == sent:
            return cast("JsonObject", read), quick
    try:
        text = _ENCODER.encode(sent)
        same = _DECODER.decode(text)
    except (TypeError, ValueError, RecursionError) as error:
        return CallFailure("TypeError", f"Only plain JSON can be an argument of a tool: {error}")
    assert isinstance(same, dict)
    return same, text.encode()


# The calls that a program has made, as its answer tells them.

MAX_ERROR_LENGTH: Final = 300
"""Characters of an error in the list of calls: the program itself got all of it."""


@dataclass(frozen=True, slots=True)
class CallSummary:
    name: str
    ms: int
    error: str = ""

    def to_json(self) -> JsonObject:
        said: dict[str, Json] = {"name": self.name, "ok": not self.error, "ms": self.ms}
        if self.error:
            said["error"] = self.error
        return said


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return truncate(line, MAX_ERROR_LENGTH)


FORBIDDEN_TOOLS: Final = frozenset({PYTHON_ID, TICKET_ID})
"""A program starts no other, and waits for nobody by a call of its own."""

ABANDONED: Final = "it was given up and has not run: the program ended before anybody decided about ticket {}"


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that a person must decide about first."""

    ordinal: int
    ticket: str
    name: str
    """Of the function, with its module."""
    tool: ToolId
    arguments: JsonObject


@dataclass(frozen=True)
class CallRoutes:
    """What a call of a program goes by."""

    execute_call: NestedExecuteCall
    board: BoardState
    confirmation: Confirmation
    clock: Clock
    off_loop_limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    """Of threads for what is large, over all programs: each of them takes its share of the event loop's time."""


@dataclass(frozen=True)
class CallOrigin:
    """Whoever runs a program now, and the call that started it."""

    run: CallId
    call: ToolCall
    view: View
    progress: Progress | None = None
    peer: ClientPeer | None = None


@dataclass
class NestedCalls:
    """The host of one program."""

    routes: CallRoutes
    origin: CallOrigin
    functions: Mapping[str, ToolId]
    """What it may call, by module and name. Whether a tool is open is asked at each call."""
    limits: SandboxLimits
    clock: RunClock
    can_wait: bool = True
    """Whether it can be kept until a person has decided."""
    call_summaries: dict[int, CallSummary] = field(default_factory=dict[int, CallSummary])
    """By the ordinals of the calls."""
    waiting_calls: dict[int, WaitingCall] = field(default_factory=dict[int, WaitingCall])
    stdout: str = ""
    digest: str = ""
    """Of the program's text."""
    slot: Slot | None = None
    _events: int = 0
    _running: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    def __post_init__(self) -> None:
        self._turns = anyio.Semaphore(self.limits.concurrency, fast_acquire=True)
        self._course = RunActivity(self.clock, self.slot)

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        name = f"{function.module}.{function.name}" if function.module else function.name
        tool = self.functions.get(name)
        if tool is None or tool in FORBIDDEN_TOOLS:
            return CallFailure("LookupError", f"There is no function {name} here.")
        if len(self.call_summaries) >= self.limits.calls:
            return CallFailure(
                "RuntimeError",
                f"This program has made {self.limits.calls} calls, and may make no more. Return what it has found.",
            )
        with self._time_call(ordinal, name):
            async with self._course.track_call(ordinal):
                given = await to_plain_json(self._with_tool_keys(tool, arguments), self.routes.off_loop_limiter)
                if isinstance(given, CallFailure):
                    self._record(ordinal, name, 0.0, given)
                    return given
                return await self._make_call(ordinal, name, tool, *given)

    def on_output(self, text: str) -> None:
        self.stdout += text[: max(0, self.limits.stdout - len(self.stdout))]

    def set_idle(self, is_so: bool) -> None:
        self._course.set_idle(is_so)

    def close(self) -> None:
        """The program is over. What still runs for it is cancelled, and so are the calls upstream."""
        for scope in tuple(self._running):
            scope.cancel()

    async def withdraw_waiting_calls(self) -> None:
        """The program is over though calls of it wait: nobody is asked about them any more."""
        if not self.waiting_calls:
            return
        for ordinal, wait in self.waiting_calls.items():
            self.call_summaries[ordinal] = replace(self.call_summaries[ordinal], error=ABANDONED.format(wait.ticket))
        tickets = [wait.ticket for wait in self.waiting_calls.values()]
        self.waiting_calls.clear()
        await self.routes.confirmation.withdraw(tickets)

    async def resume_call(self, wait: WaitingCall, ticket: Ticket | None) -> HostReply:
        """What comes of a call that waited, now that somebody may have decided about its ticket."""
        async with self._course.track_call(wait.ordinal, moves=False):
            return await self._resume_call(wait, ticket)

    async def _resume_call(self, wait: WaitingCall, ticket: Ticket | None) -> HostReply:
        now = self.routes.clock()
        state = None if ticket is None else ticket.state_at(now)
        if ticket is not None and state is TicketState.WAITING:
            return PendingDecision(ticket.id)
        if (
            ticket is not None
            and self.routes.confirmation.credential_identity(ticket.tool, self.origin.call) != ticket.identity
        ):
            return PendingDecision(ticket.id)
        if ticket is not None and state in (TicketState.DENIED, TicketState.EXPIRED):
            reply = CallFailure("PermissionError", ticket_tool_answer(ticket, now, self.origin.call.presentation))
            del self.waiting_calls[wait.ordinal]
            self._record(wait.ordinal, wait.name, 0.0, reply)
            return reply
        if ticket is not None and state is TicketState.ALLOWED:
            id = new_call_id()
            try:
                with anyio.fail_after(STORE_TIMEOUT_S):
                    begun = await self.routes.confirmation.tickets.begin(ticket, id, now)
            except (TicketsUnavailable, TimeoutError):
                return PendingDecision(ticket.id)
            if begun is not None:
                with self._time_call(wait.ordinal, wait.name):
                    return await self._run_confirmed(wait, ticket, id, begun.arguments)
        # Somebody else has used the yes, so there is none for this call: it is asked about anew.
        with self._time_call(wait.ordinal, wait.name):
            return await self._make_call(wait.ordinal, wait.name, wait.tool, wait.arguments, None)

    @contextmanager
    def _time_call(self, ordinal: int, name: str) -> Iterator[None]:
        """Unless something else becomes of the call it is one that was given up, after as long as it ran."""
        started = perf_counter()
        given_up = self.call_summaries[ordinal] = CallSummary(name, 0, "it was given up")
        try:
            yield
        finally:
            if self.call_summaries[ordinal] is given_up:
                self.call_summaries[ordinal] = replace(given_up, ms=int((perf_counter() - started) * 1000))

    async def _run_confirmed(
        self, wait: WaitingCall, ticket: Ticket, id: CallId, arguments: Mapping[str, Json]
    ) -> HostReply:
        ended: Outcome | Refusal = CallCancellation()
        started = perf_counter()
        try:
            ended = await self._execute(wait.ordinal, self._call(id, wait.tool, arguments, None), ticket.confirmation)
        finally:
            await self.routes.confirmation.end_ticket(ticket.id, id, ended)
        return await self._reply(wait.ordinal, wait.name, wait.tool, wait.arguments, ended, perf_counter() - started)

    async def _make_call(
        self, ordinal: int, name: str, tool: ToolId, arguments: JsonObject, text: bytes | None
    ) -> HostReply:
        started = perf_counter()
        ended = await self._execute(ordinal, self._call(CallId(uuid4().hex), tool, arguments, text), None)
        return await self._reply(ordinal, name, tool, arguments, ended, perf_counter() - started)

    async def _execute(self, ordinal: int, call: ToolCall, yes: CallConfirmation | None) -> Outcome | Refusal:
        roads, view, client = self.routes, self.origin.view, self.origin.peer
        peer = None if client is None else ClockPausingPeer(client, self._course, ordinal)
        ended: Outcome | Refusal = CallCancellation()

        async def carry(call: ToolCall) -> Outcome | Refusal:
            return await roads.execute_call(call, view, None, peer, yes)

        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                async with self._turns:
                    ended = await carry(call)
                    if isinstance(ended, NeedsInput):
                        ended = await resolve_input_requests(ended, call, carry, peer)
            finally:
                self._running.discard(scope)
        return ended

    async def _reply(
        self, ordinal: int, name: str, tool: ToolId, arguments: JsonObject, ended: Outcome | Refusal, took: float
    ) -> HostReply:
        reply: HostReply
        self.waiting_calls.pop(ordinal, None)
        if (
            isinstance(ended, ConfirmationRefusal)
            and ended.reason is MissingConfirmation.WAITING
            and ended.ticket
            and self.can_wait
        ):
            self.waiting_calls[ordinal] = WaitingCall(ordinal, ended.ticket, name, tool, arguments)
            reply = PendingDecision(ended.ticket)
        else:
            spec = self._spec(tool)
            described = spec is not None and spec.output_schema is not None
            reply = await to_program_value(ended, name, described, self.routes.off_loop_limiter)
        self._record(ordinal, name, took, reply)
        return reply

    def _spec(self, tool: ToolId) -> ToolSpec | None:
        """As its stub tells it, while it is open."""
        verdict = self.routes.board.resolution(self.origin.view).verdicts.get(tool)
        return verdict.visible_tool.spec if isinstance(verdict, OpenTool) else None

    def _with_tool_keys(self, tool: ToolId, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        """A key that Python has no name for has another in programs."""
        spec = self._spec(tool)
        own = None if spec is None else spec.input_schema.get("properties")
        if spec is None or (isinstance(own, Mapping) and all(name in own for name in arguments)):
            return arguments
        members, _ = SchemaTypeReader(spec.input_schema).parameters()
        return to_tool_names(arguments, (member.key for member in members))

    def _call(self, id: CallId, tool: ToolId, arguments: Mapping[str, Json], text: bytes | None) -> ToolCall:
        call, view = self.origin.call, self.origin.view
        # Where this caller knows of it no more, by what means no other tool. The id of a built-in is a bare name.
        alone = long_names(tool)[0] if isinstance(tool.source, BuiltinKey) else str(tool)
        name = self.routes.board.resolution(view).names.get(tool) or WireName(alone)
        return ToolCall(
            id,
            name,
            arguments,
            call.principal,
            self.routes.clock(),
            raw=text,
            client=call.client,
            parent=self.origin.run,
            beside=PROGRAM_META,
            headers=call.headers,
            presentation=call.presentation,
            kept_as=self.origin.run if self.can_wait else None,
            made_by=call.made_by,
        )

    def _record(self, ordinal: int, name: str, took: float, reply: HostReply) -> None:
        match reply:
            case CallFailure(_, message):
                error, word = shorten(message) or "it failed", "failed"
            case PendingDecision(ticket):
                error, word = f"it waits for a person's decision as ticket {ticket}", "waits for a person"
            case _:
                error, word = "", "ok"
        self.call_summaries[ordinal] = CallSummary(name, int(took * 1000), error)
        self._events += 1
        if self.origin.progress is not None:
            self.origin.progress(float(self._events), None, f"{name}: {word}")
