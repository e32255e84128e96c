"""What went into an answer and why, for the client; without anything that its caller may not know."""

from dataclasses import dataclass, field

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.gateway.chat.calls import ToolOffer
from pegboard.gateway.chat.request import LimitHit
from pegboard.prompts.system_prompt import BuiltPrompt


@dataclass(frozen=True, slots=True)
class ChatCallReport:
    """One call, as it went."""

    id: str
    name: str
    tool: ToolId | None
    outcome: str
    seconds: float
    ticket: str | None = None
    repairs: tuple[str, ...] = ()

    @property
    def as_json(self) -> JsonObject:
        told: JsonObject = {
            "id": self.id,
            "name": self.name,
            "outcome": self.outcome,
            "duration_ms": round(self.seconds * 1000),
        }
        if self.tool is not None:
            told["tool"] = str(self.tool)
        if self.ticket is not None:
            told["ticket"] = self.ticket
        return {**told, "repairs": [*self.repairs]} if self.repairs else told


@dataclass
class ChatReport:
    server: str = ""
    model: str = ""
    format: str = ""
    reasons: list[str] = field(default_factory=list[str])
    """What is known of the model, and what was searched."""
    capabilities: list[str] = field(default_factory=list[str])
    """Which built-ins and formats are in, and why."""
    offer: ToolOffer | None = None
    calls: list[ChatCallReport] = field(default_factory=list[ChatCallReport])
    turns: int = 0
    limit_hit: LimitHit | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_estimated: bool = False
    """Whether some of the tokens are counted by us, because the server did not tell."""
    search_seconds: float = 0.0
    model_seconds: float = 0.0
    tool_seconds: float = 0.0
    first_seconds: float | None = None
    total_seconds: float = 0.0

    def record_turn(self, offering: ToolOffer, refused: str | None) -> None:
        """What the model was told in this turn: of several, the last counts. `refused` is what its server said to
        tools."""
        self.offer = offering
        able = offering.prompt.capabilities
        self.format = able.primary or ""
        self.capabilities = [str(ruling) for ruling in (*able.builtin_decisions, *able.format_decisions)]
        if refused is not None:
            self.capabilities.append(f"The model server takes no tools for this model: {refused}")

    @property
    def usage(self) -> JsonObject:
        total = self.prompt_tokens + self.completion_tokens
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": total,
        }

    @property
    def as_json(self) -> JsonObject:
        offering = self.offer
        told: JsonObject = {
            "server": self.server,
            "model": self.model,
            "format": self.format,
            "reasons": [*self.reasons, *self.capabilities],
            "prompt": [] if offering is None else _prompt_parts(offering.prompt),
            "tools": [] if offering is None else offering.tool_schemas,
            "omitted": [] if offering is None else [str(ruling) for ruling in offering.prompt.left_out],
            "name_conflicts": [] if offering is None else [*offering.name_clashes],
            "calls": [made.as_json for made in self.calls],
            "tickets": [*dict.fromkeys(made.ticket for made in self.calls if made.ticket is not None)],
            "turns": self.turns,
            "timing": self._timing,
        }
        if self.is_estimated:
            told["usage_estimated"] = True
        if self.limit_hit is not None:
            told["stopped"] = {"limit": self.limit_hit.limit.value, "reason": self.limit_hit.why}
        return told

    @property
    def _timing(self) -> JsonObject:
        seconds = {
            "total_ms": self.total_seconds,
            "search_ms": self.search_seconds,
            "model_ms": self.model_seconds,
            "tools_ms": self.tool_seconds,
        }
        told: dict[str, Json] = {name: round(value * 1000) for name, value in seconds.items()}
        return told if self.first_seconds is None else {**told, "first_ms": round(self.first_seconds * 1000)}


def _prompt_parts(prompt: BuiltPrompt) -> list[Json]:
    """Without their texts: the words that the operator gave the model are not the client's to read."""
    return [{"part": part.kind.value, "reason": part.why, "tokens": part.tokens} for part in prompt.parts]
