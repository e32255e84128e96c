"""A call that was made to try a tool: its result in every form, each with what it costs a model."""

import json
from typing import NotRequired

from typing_extensions import TypedDict

from pegboard.core.call import Call, Demanded, NeedsInput, Returned, ToolFailed
from pegboard.core.tokens import tokens
from pegboard.gateway.caller import Ended

from .override_shapes import RenderedShape


class Weighed(TypedDict):
    text: str
    tokens: int


class Trial(TypedDict):
    trial: bool
    callId: str
    raw: NotRequired[Weighed]
    asModel: Weighed
    renderedTokens: NotRequired[int]


def trial_shape(ended: Ended, call: Call, rendered: RenderedShape | None) -> Trial:
    """`raw` is what the provider answered, where it did; `asModel` the text that a model in a chat would be given, of
    refusals too; the cost of what is rendered is that of its configuration, without the page of an artifact."""
    # Only here, because it loads all there is of prompts.
    from pegboard.gateway.chat.results import told
    from pegboard.prompts.feeding import shortened

    answer: Trial = {"trial": True, "callId": call.id, "asModel": _weighed(shortened(told(ended, call.name, None)))}
    if isinstance(ended, Returned | ToolFailed | NeedsInput):
        answer["raw"] = _weighed(ended.body.decode("utf-8", "replace"))
    elif isinstance(ended, Demanded):
        answer["raw"] = _weighed(ended.error.decode("utf-8", "replace"))
    if rendered is not None:
        config = rendered["config"]
        if "artifact" in config:
            config = {name: value for name, value in config.items() if name != "content"}
        answer["renderedTokens"] = tokens(
            json.dumps({**rendered, "config": config}, ensure_ascii=False, separators=(",", ":"), default=str)
        )
    return answer


def _weighed(text: str) -> Weighed:
    return {"text": text, "tokens": tokens(text)}
