"""A call: admitted or refused; if admitted, one outcome; always one audit record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, assert_never

from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Resolution
from pegboard.core.decision.status import LockReason, UnusableOverride, explain_reason, remedy, status_of
from pegboard.core.json.values import Json
from pegboard.core.model.characters import remove_hidden
from pegboard.core.model.foreign_names import near_tools
from pegboard.core.model.ids import CallId, PrincipalId, ToolId, WireName
from pegboard.core.model.text import Audience, quote_name, truncate
from pegboard.core.model.tool import Fingerprint, Tool
from pegboard.core.overrides.schema import (
    OverriddenTool,
    PinnedValueMask,
    fill_arguments,
    maskable_texts,
    unknown_arguments,
)

Arguments: TypeAlias = Mapping[str, Json]
ArgumentValidator: TypeAlias = Callable[[Tool, Arguments], tuple[str, ...]]
"""Problems with these arguments, each naming the argument; empty when they fit."""

ArgumentFill: TypeAlias = Callable[[OverriddenTool, Arguments], Arguments | None]
"""The whole arguments, with what overrides put in; `None` when a value that must be put in is not to be had."""

_NO_EXTRA_MEMBERS: Final[Mapping[str, bytes]] = MappingProxyType({})
_NO_HEADERS: Final[Mapping[bytes, bytes]] = MappingProxyType({})
_MAX_NAME_CHARS: Final = 128
"""Of a name that means nothing, as much as any real name has."""
_MAX_PROBLEMS: Final = 10

OPERATOR_CLIENT: Final = "operator"
"""The client of calls through the operator's API; the name of who acts for somebody else may follow it."""
MAX_CLIENT_CHARACTERS: Final = 128


def claimed_client(text: str) -> str:
    """The name that a client gives itself: a claim, so never that of the operator's API, and cut to a decent length."""
    shown = "".join(letter for letter in remove_hidden(" ".join(text.split())) if letter.isprintable()).strip()
    if shown.partition(" ")[0] == OPERATOR_CLIENT:
        shown = f"client {shown}"
    return shown[:MAX_CLIENT_CHARACTERS]


@dataclass(frozen=True, init=False)
class ToolCall:
    id: CallId
    name: WireName
    arguments: Arguments
    principal: PrincipalId
    at: datetime
    raw: bytes | None = None
    """The arguments as JSON text, when a surface has them: a provider may pass them on unread."""
    client: str = ""
    parent: CallId | None = None
    beside: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """What the request says beside the name and the arguments, each member as JSON text: `_meta`, `inputResponses`,
    `requestState`, and whatever a later version of the protocol adds."""
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], repr=False, compare=False)
    """The caller's own HTTP headers, names in lower case. For connections made in the caller's name, and nothing else:
    they hold credentials, so they are neither recorded nor shown."""
    presentation: str = ""
    """How its caller is shown tools, where that is not each as itself."""
    kept_as: CallId | None = None
    """The program that makes it, where that is kept until a person has decided: its tickets are its own."""
    made_by: PrincipalId | None = None
    """Who makes it in the principal's name, where that is somebody else. What people allowed the principal for good is
    not for them."""
    audience: Audience = Audience.AGENT
    """Who reads what to do where it does not run."""

    def __init__(
        self,
        id: CallId,
        name: WireName,
        arguments: Arguments,
        principal: PrincipalId,
        at: datetime,
        raw: bytes | None = None,
        client: str = "",
        parent: CallId | None = None,
        beside: Mapping[str, bytes] = _NO_EXTRA_MEMBERS,
        headers: Mapping[bytes, bytes] = _NO_HEADERS,
        presentation: str = "",
        kept_as: CallId | None = None,
        made_by: PrincipalId | None = None,
        audience: Audience = Audience.AGENT,
    ) -> None:
        # All at once: a frozen class that sets fourteen fields one by one takes four times as long, at every call.
        fields = {
            "id": id,
            "name": name,
            "arguments": arguments,
            "principal": principal,
            "at": at,
            "raw": raw,
            "client": client,
            "parent": parent,
            "beside": beside,
            "headers": headers,
            "presentation": presentation,
            "kept_as": kept_as,
            "made_by": made_by,
            "audience": audience,
        }
        object.__setattr__(self, "__dict__", fields)


class CallConfirmation(NamedTuple):
    """A person said yes to one call of this tool, as it was then."""

    tool: ToolId
    fingerprint: Fingerprint
    ticket: str | None = None
    by_consent: bool = False
    """They said it before, to all calls of the tool, and have not seen this one."""
    overrides: str = ""
    """What overrides put into the call as it was confirmed: `OverriddenTool.tag`."""

    def applies_to(self, admitted: "AdmittedCall") -> bool:
        """A yes for another tool, for what the tool was, or for what other overrides put in, is none."""
        tool = admitted.tool
        return (self.tool, self.fingerprint, self.overrides) == (tool.id, tool.spec.fingerprint, admitted.overrides)


class AdmittedCall(NamedTuple):
    """A call that passed the gate. Providers take only this, and only `admit` makes it."""

    call: ToolCall
    tool: Tool
    confirm: bool = False
    """A person must say yes first."""
    pin_mask: PinnedValueMask | None = None
    """What the server must not tell the caller, where overrides pin any of the arguments."""
    overridden_tool: OverriddenTool | None = None
    """What overrides put into the call."""

    @property
    def overrides(self) -> str:
        return "" if self.overridden_tool is None else self.overridden_tool.digest

    def lacks_confirmation(self, yes: CallConfirmation | None) -> bool:
        """Whether it must not run with this yes."""
        return self.confirm and (yes is None or not yes.applies_to(self))


@dataclass(frozen=True)
class UnknownTool:
    name: str
    suggestions: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class LockedToolRefusal:
    tool: ToolId
    reason: LockReason


@dataclass(frozen=True)
class BadArguments:
    tool: ToolId
    problems: tuple[str, ...]


class MissingConfirmation(Enum):
    """Why there is no yes, by the audit's word."""

    WAITING = "confirmation_required"
    DENIED = "confirmation_denied"
    UNANSWERED = "confirmation_unanswered"
    UNASKED = "confirmation_unavailable"


@dataclass(frozen=True)
class ConfirmationRefusal:
    """A person must say yes to this call first, and has not. It did not run."""

    tool: ToolId
    reason: MissingConfirmation
    text: str
    ticket: str | None = None
    """By which the person decides, where nobody could be asked."""


Refusal: TypeAlias = UnknownTool | LockedToolRefusal | BadArguments | ConfirmationRefusal


class ResultFacts(NamedTuple):
    """What a provider saw of a result when it read it, so that nobody need read it again: that it is UTF-8, JSON of a
    depth that every client can read, and a complete result of the protocol."""

    has_kind: bool
    """Whether it says its kind."""
    meta: bytes | None
    """Its `_meta`, as JSON text."""


@dataclass(frozen=True)
class ToolSuccess:
    """The tool ran. The body is the protocol's result object, as JSON text, to be passed on as it is."""

    body: bytes
    facts: ResultFacts | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class AnnotatedSuccess(ToolSuccess):
    """The same from a tool of the gateway's own, which has a word for the record: how many rows, say, and of what."""

    note: str = ""


@dataclass(frozen=True)
class ToolFailure:
    """The tool ran and says it failed: the model should read this and adapt."""

    body: bytes
    facts: ResultFacts | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class ProviderFailure:
    """The provider broke off, timed out or answered nonsense."""

    why: str
    may_have_run: bool
    error: bytes | None = None
    """The server's own error of the protocol, as JSON text, where it answered with one: for the client's program."""


@dataclass(frozen=True)
class NeedsInput:
    """The tool goes on when the caller calls again with what the body asks for: a result of the kind `input_required`,
    as JSON text, to be passed on as it is."""

    body: bytes


@dataclass(frozen=True)
class ProtocolErrorReply:
    """The server asks something of the client itself before it runs the tool: an error of the protocol, as JSON text,
    that a client must see as it is, because its code and data say what to do."""

    error: bytes


@dataclass(frozen=True)
class CallCancellation:
    """The caller gave up before there was an answer."""


Outcome: TypeAlias = ToolSuccess | ToolFailure | NeedsInput | ProtocolErrorReply | ProviderFailure | CallCancellation


class CallRecord(NamedTuple):
    """What the audit keeps of one call. A refused call took no time at any provider."""

    call: ToolCall
    tool: ToolId | None
    outcome: Refusal | Outcome
    duration: timedelta
    policy_version: int = 0
    gate_us: int | None = None
    """Microseconds of `took` until it was admitted; `None` where that was not measured by itself."""
    recorded_arguments: bytes | None = None
    """Of the arguments, as JSON text, what is recorded in any case: of a statement, say, all but its values."""


def admit(
    call: ToolCall, resolution: Resolution, validate: ArgumentValidator, *, fill: ArgumentFill = fill_arguments
) -> AdmittedCall | Refusal:
    """The gate. What is outside the caller's view is unknown to it, by the same words as what does not exist.

    The admitted call has the whole arguments, which are the server's to know and nobody else's: what is recorded and
    shown is the call as it was made.
    """
    id = resolution.by_name.get(call.name)
    if id is None and (id := resolution.find_tool(call.name)) is None:
        return _unknown_tool(call.name, resolution)
    verdict = resolution.verdicts[id]
    match verdict:
        case OpenTool(tool, confirm, shape):
            if broken := [name for name in call.arguments if "\0" in name]:
                # A server that reads names up to a NUL would take it for another argument, which may be pinned.
                told = (
                    f"{name[:_MAX_NAME_CHARS]!r}: no argument's name can hold a NUL; leave it out" for name in broken
                )
                return BadArguments(id, tuple(islice(told, _MAX_PROBLEMS)))
            echo = None
            if shape is not None:
                whole = _complete_arguments(call.arguments, tool, shape, validate, fill)
                if isinstance(whole, BadArguments | LockedToolRefusal):
                    return whole
                if whole is not call.arguments:
                    call = replace(call, arguments=whole, raw=None)
                if shape.pins and (texts := maskable_texts(whole[name] for name in shape.pins)):
                    echo = PinnedValueMask(texts)
            elif problems := validate(tool, call.arguments):
                return BadArguments(id, problems)
            return AdmittedCall(call, tool, confirm, echo, shape)
        case LockedTool(_, reason):
            return LockedToolRefusal(id, reason)
        case HiddenTool():
            return _unknown_tool(call.name, resolution)
        case _:
            assert_never(verdict)


def find_open_tool(name: str, resolution: Resolution) -> OpenTool | UnknownTool | LockedToolRefusal:
    """The tool that a caller asks about, or the words in which a call of it would be refused."""
    id = resolution.find_tool(name)
    verdict = None if id is None else resolution.verdicts[id]
    match verdict:
        case OpenTool():
            return verdict
        case LockedTool(tool, reason):
            return LockedToolRefusal(tool.id, reason)
        case _:
            return _unknown_tool(name, resolution)


def _unknown_tool(name: str, resolution: Resolution) -> UnknownTool:
    meant = resolution.candidates(name)
    if len(meant) > 1:
        return UnknownTool(name, tuple(map(str, meant)), f"{len(meant)} tools may be meant.")
    return UnknownTool(name, *near_tools(name, resolution.by_name))


def _complete_arguments(
    sent: Arguments, tool: Tool, shape: OverriddenTool, validate: ArgumentValidator, fill: ArgumentFill
) -> Arguments | BadArguments | LockedToolRefusal:
    """Judged twice: as callers see the tool, and as its server does. What is put in for callers is never told to them,
    nor what is wrong with it."""
    if unknown := unknown_arguments(tool, shape, sent):
        told = (
            f"{name[:_MAX_NAME_CHARS]}: there is no such argument; leave it out" for name in unknown[:_MAX_PROBLEMS]
        )
        return BadArguments(tool.id, tuple(told))
    if problems := validate(shape.tool, sent):
        return BadArguments(tool.id, problems)
    whole = sent if shape.fills_nothing else fill(shape, sent)
    if whole is None:
        return LockedToolRefusal(tool.id, UnusableOverride(tool.id, shape.is_operators, shape.at))
    problems = validate(tool, whole)
    if not problems:
        return whole
    own = problems if not shape.pins else tuple(problem for problem in problems if _names_sent_argument(problem, sent))
    return (
        BadArguments(tool.id, own)
        if own
        else LockedToolRefusal(tool.id, UnusableOverride(tool.id, shape.is_operators, shape.at))
    )


def _names_sent_argument(problem: str, sent: Arguments) -> bool:
    """Whether a problem names an argument that the caller sent itself: `name: …`, `name.inner: …`, `name[0]: …`."""
    return any(problem.startswith((f"{name}:", f"{name}.", f"{name}[")) for name in sent if name.isidentifier())


def refusal_text(refusal: Refusal, found_by: str | None = None, audience: Audience = Audience.AGENT) -> str:
    """What was refused, why, and what to do: one text for every surface.

    `found_by` is the tool that names others, where the list of tools does not.
    """
    match refusal:
        case UnknownTool(name, near, why):
            meant = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
            names = (
                f"Names are found with {found_by}."
                if found_by is not None
                else ("" if near else "List the tools to see what there is.")
            )
            shown = truncate(name, _MAX_NAME_CHARS)
            return " ".join(filter(None, (f"There is no tool {shown!r} here.", why, meant, names)))
        case LockedToolRefusal(_, reason):
            return f"{status_of(reason).value}: {explain_reason(reason)} {remedy(reason, audience)}"
        case BadArguments(tool, problems):
            listed = "\n".join(f"- {problem}" for problem in problems)
            return f"The arguments do not fit {quote_name(tool)}:\n{listed}\nCorrect them and call again."
        case ConfirmationRefusal(_, how, text):
            return f"{how.value}: {text}"
        case _:
            assert_never(refusal)
