"""What went into one answer, and why: told to the client beside it, and nothing of what its caller may not know."""

from dataclasses import dataclass, field

from pegboard.core.ids import ToolId
from pegboard.core.tool import Json, JsonObject
from pegboard.prompts.building import Prompt

from .limits import Reached
from .offering import Offering


@dataclass(frozen=True, slots=True)
class Made:
    """One call, as it went."""

    id: str
    name: str
    tool: ToolId | None
    ended: str
    seconds: float
    ticket: str | None = None
    repairs: tuple[str, ...] = ()

    @property
    def shape(self) -> JsonObject:
        told: JsonObject = {"id": self.id, "name": self.name, "ended": self.ended, "ms": round(self.seconds * 1000)}
        if self.tool is not None:
            told["tool"] = str(self.tool)
        if self.ticket is not None:
            told["ticket"] = self.ticket
        return {**told, "repairs": [*self.repairs]} if self.repairs else told


@dataclass
class Report:
    server: str = ""
    model: str = ""
    format: str = ""
    reasons: list[str] = field(default_factory=list[str])
    """What is known of the model, and what was searched."""
    capabilities: list[str] = field(default_factory=list[str])
    """Which built-ins and formats are in, and why."""
    offering: Offering | None = None
    calls: list[Made] = field(default_factory=list[Made])
    turns: int = 0
    stopped: Reached | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    """Whether some of the tokens are counted by us, because the server did not tell."""
    search_seconds: float = 0.0
    model_seconds: float = 0.0
    tool_seconds: float = 0.0
    first_seconds: float | None = None
    total_seconds: float = 0.0

    def told(self, offering: Offering, refused: str | None) -> None:
        """What the model was told in this turn: of several, the last counts. `refused` is what its server said to
        tools."""
        self.offering = offering
        able = offering.prompt.capabilities
        self.format = able.primary or ""
        self.capabilities = [str(ruling) for ruling in (*able.about_builtins, *able.about_formats)]
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
    def shape(self) -> JsonObject:
        offering = self.offering
        told: JsonObject = {
            "server": self.server,
            "model": self.model,
            "format": self.format,
            "why": [*self.reasons, *self.capabilities],
            "prompt": [] if offering is None else _parts(offering.prompt),
            "tools": [] if offering is None else offering.shown,
            "left_out": [] if offering is None else [str(ruling) for ruling in offering.prompt.left_out],
            "clashes": [] if offering is None else [*offering.clashes],
            "calls": [made.shape for made in self.calls],
            "tickets": [*dict.fromkeys(made.ticket for made in self.calls if made.ticket is not None)],
            "turns": self.turns,
            "timing": self._timing,
        }
        if self.estimated:
            told["usage_estimated"] = True
        if self.stopped is not None:
            told["stopped"] = {"limit": self.stopped.limit.value, "why": self.stopped.why}
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


def _parts(prompt: Prompt) -> list[Json]:
    """Without their texts: the words that the operator gave the model are not the client's to read."""
    return [{"part": part.kind.value, "why": part.why, "tokens": part.tokens} for part in prompt.parts]
