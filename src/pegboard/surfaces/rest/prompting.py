"""The answer that tells what a model would be sent. Loaded for the first who asks: it needs all there is of prompts."""

from itertools import islice
from typing import Final

from pegboard.core.ids import ToolId
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.prompting import Prompted, prompted
from pegboard.prompts.capability import Ruling
from pegboard.prompts.model import Model, model_facts
from pegboard.prompts.preview import as_python, by_toolset, struck
from pegboard.prompts.request import chat_request

from .prompt_shapes import ModelShape, PromptShape, RulingShape
from .prompts import FORMAT_NAMES, PromptQuery

MOST_STRUCK: Final = 200
"""Blocks that are not there, told one by one; of more it is said how many there are."""


async def told(gateway: Gateway, asked: PromptQuery, view: View, about: ToolId | None) -> PromptShape:
    usual = gateway.board.policy.declared.prompting
    model = model_facts(asked.model, None, asked.known(usual))
    made = await prompted(gateway, view, model, asked.query, settings=asked.settings(usual), launch=asked.launch())
    said = [{"role": "user", "content": asked.query}] if asked.query else []
    prompt = made.prompt
    answer: PromptShape = {
        "model": _model_shape(model),
        "primary": made.prompt.capabilities.primary,
        "builtins": [_ruling_shape(each) for each in made.prompt.capabilities.about_builtins],
        "formats": [_ruling_shape(each) for each in made.prompt.capabilities.about_formats],
        "search": [str(decision) for decision in made.automatic.decisions],
        "parts": [
            {
                "kind": part.kind,
                "tokens": part.tokens,
                "why": part.why,
                "beside": part.beside,
                "text": part.text,
            }
            for part in prompt.parts
        ],
        "tools": [
            {
                "name": each.shape.name,
                "id": None if each.id is None else str(each.id),
                "tokens": each.tokens,
                "why": "" if each.id is None else prompt.ruling(each.id).why,
            }
            for each in prompt.offered
        ],
        "leftOut": [_ruling_shape(each) for each in prompt.left_out],
        "tokens": prompt.tokens,
        "budget": prompt.budget,
        "system": prompt.system,
        "request": chat_request(made.prompt, said),
        "struck": [_ruling_shape(each) for each in islice(struck(prompt), MOST_STRUCK)],
        "struckCount": sum(1 for _ in struck(prompt)),
        "byToolset": [
            {"toolset": share.toolset, "tools": share.tools, "tokens": share.tokens} for share in by_toolset(prompt)
        ],
        "asPython": as_python(asked.model, asked.query, prompt.capabilities.primary, asked.budget),
        "formatNames": [*FORMAT_NAMES],
        "policyVersion": prompt.capabilities.resolution.policy_version,
    }
    if about is not None:
        answer["why"] = _ruling_shape(_ruled(made, about))
    return answer


def _ruled(made: Prompted, about: ToolId) -> Ruling:
    return made.prompt.ruling(about)


def _model_shape(model: Model) -> ModelShape:
    return {
        "name": model.name,
        "billions": model.billions,
        "toolCalling": model.tool_calling,
        "family": model.family,
        "format": model.format,
        "thinking": model.thinking,
        "mostFound": model.most_found,
        "whence": [*model.whence],
    }


def _ruling_shape(ruling: Ruling) -> RulingShape:
    return {"subject": ruling.subject, "place": ruling.place.value, "why": ruling.why}
