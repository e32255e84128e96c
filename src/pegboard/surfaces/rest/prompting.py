"""The answer that tells what a model would be sent. Loaded for the first who asks: it needs all there is of prompts."""

from itertools import islice
from typing import Final

from pegboard.core.ids import ToolId
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.prompting import BoardPrompt, board_prompt
from pegboard.prompts.capability import CapabilityDecision
from pegboard.prompts.model import Model, model_facts
from pegboard.prompts.preview import excluded_decisions, python_example, toolset_costs
from pegboard.prompts.request import chat_request

from .prompt_shapes import PromptModelInfo, PromptResponse, PromptRulingInfo
from .prompts import FORMAT_NAMES, PromptQuery

MAX_STRUCK: Final = 200
"""Blocks that are not there, told one by one; of more it is said how many there are."""


async def prompt_response(gateway: Gateway, asked: PromptQuery, view: View, about: ToolId | None) -> PromptResponse:
    usual = gateway.board.policy.declared.prompts
    model = model_facts(asked.model, None, asked.known_models(usual))
    made = await board_prompt(gateway, view, model, asked.query, settings=asked.settings(usual), launch=asked.launch())
    said = [{"role": "user", "content": asked.query}] if asked.query else []
    prompt = made.prompt
    answer: PromptResponse = {
        "model": _model_info(model),
        "primary": made.prompt.capabilities.primary,
        "builtins": [_ruling_info(each) for each in made.prompt.capabilities.builtin_decisions],
        "formats": [_ruling_info(each) for each in made.prompt.capabilities.format_decisions],
        "search": [str(decision) for decision in made.automatic.decisions],
        "parts": [
            {
                "kind": part.kind,
                "tokens": part.tokens,
                "why": part.why,
                "beside": part.in_tools_array,
                "text": part.text,
            }
            for part in prompt.parts
        ],
        "tools": [
            {
                "name": each.shape.name,
                "id": None if each.id is None else str(each.id),
                "tokens": each.tokens,
                "why": "" if each.id is None else prompt.decision(each.id).why,
            }
            for each in prompt.offered_tools
        ],
        "leftOut": [_ruling_info(each) for each in prompt.left_out],
        "tokens": prompt.tokens,
        "budget": prompt.budget,
        "system": prompt.system,
        "request": chat_request(made.prompt, said),
        "struck": [_ruling_info(each) for each in islice(excluded_decisions(prompt), MAX_STRUCK)],
        "struckCount": sum(1 for _ in excluded_decisions(prompt)),
        "byToolset": [
            {"toolset": share.toolset, "tools": share.tools, "tokens": share.tokens} for share in toolset_costs(prompt)
        ],
        "asPython": python_example(asked.model, asked.query, prompt.capabilities.primary, asked.budget),
        "formatNames": [*FORMAT_NAMES],
        "policyVersion": prompt.capabilities.resolution.policy_version,
    }
    if about is not None:
        answer["why"] = _ruling_info(_ruling_of(made, about))
    return answer


def _ruling_of(made: BoardPrompt, about: ToolId) -> CapabilityDecision:
    return made.prompt.decision(about)


def _model_info(model: Model) -> PromptModelInfo:
    return {
        "name": model.name,
        "billions": model.billions,
        "toolCalling": model.tool_calling,
        "family": model.family,
        "format": model.format,
        "thinking": model.thinking,
        "mostFound": model.max_found_tools,
        "whence": [*model.fact_sources],
    }


def _ruling_info(ruling: CapabilityDecision) -> PromptRulingInfo:
    return {"subject": ruling.subject, "place": ruling.availability.value, "why": ruling.why}
