"""A call that was made to try a tool: its result in every form, each with what it costs a model."""

import json
from typing import NotRequired

from typing_extensions import TypedDict

from pegboard.core.call import NeedsInput, ProtocolErrorReply, ToolCall, ToolFailure, ToolSuccess
from pegboard.core.tokens import estimate_tokens
from pegboard.gateway.caller import CallOutcome

from .override_shapes import RenderedInfo


class TextCostInfo(TypedDict):
    text: str
    tokens: int


class CallTrialInfo(TypedDict):
    trial: bool
    callId: str
    raw: NotRequired[TextCostInfo]
    asModel: TextCostInfo
    renderedTokens: NotRequired[int]


def call_trial_info(ended: CallOutcome, call: ToolCall, rendered: RenderedInfo | None) -> CallTrialInfo:
    """`raw` is what the provider answered, where it did; `asModel` the text that a model in a chat would be given, of
    refusals too; the cost of what is rendered is that of its configuration, without the page of an artifact."""
    # Only here, because it loads all there is of prompts.
    from pegboard.gateway.chat.results import describe_outcome
    from pegboard.prompts.feeding import shorten_result

    answer: CallTrialInfo = {
        "trial": True,
        "callId": call.id,
        "asModel": _text_cost_info(shorten_result(describe_outcome(ended, call.name, None))),
    }
    if isinstance(ended, ToolSuccess | ToolFailure | NeedsInput):
        answer["raw"] = _text_cost_info(ended.body.decode("utf-8", "replace"))
    elif isinstance(ended, ProtocolErrorReply):
        answer["raw"] = _text_cost_info(ended.error.decode("utf-8", "replace"))
    if rendered is not None:
        config = rendered["config"]
        if "artifact" in config:
            config = {name: value for name, value in config.items() if name != "content"}
        answer["renderedTokens"] = estimate_tokens(
            json.dumps({**rendered, "config": config}, ensure_ascii=False, separators=(",", ":"), default=str)
        )
    return answer


def _text_cost_info(text: str) -> TextCostInfo:
    return {"text": text, "tokens": estimate_tokens(text)}
