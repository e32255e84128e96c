"""Resources, templates, prompts and completions: what a server offers beside its tools."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    CompleteResult,
    Completion,
    ContentBlock,
    GetPromptResult,
    ImageContent,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from .plain import PIXEL, embedded

NOT_FOUND_BEFORE_2026: Final = -32002
WATCHED: Final = "test://watched-resource"
TEMPLATE: Final = "test://template/{id}/data"
RESOURCES: Final = (
    Resource(uri="test://static-text", name="static-text", description="A text.", mime_type="text/plain"),
    Resource(uri="test://static-binary", name="static-binary", description="An image.", mime_type="image/png"),
    Resource(uri=WATCHED, name="watched-resource", description="A text that changes.", mime_type="text/plain"),
)
TEMPLATES: Final = (
    ResourceTemplate(
        uri_template=TEMPLATE, name="template", description="Made for each id.", mime_type="application/json"
    ),
)
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "arg1": ("paris", "park", "party", "test", "testing"),
    "arg2": ("blue", "green"),
    "id": ("123", "124", "200"),
}
_FROM_TEMPLATE: Final = re.compile(r"test://template/([^/]+)/data")


@dataclass
class Watched:
    """How often the resource that changes has changed."""

    version: int = 1


def read(uri: str, watched: Watched, *, stateless: bool) -> ReadResourceResult:
    made = _FROM_TEMPLATE.fullmatch(uri)
    if uri == "test://static-binary":
        return ReadResourceResult(contents=[BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)])
    if uri == "test://static-text":
        text, mime_type = "This is the content of the static text resource.", "text/plain"
    elif uri == WATCHED:
        text, mime_type = f"This is version {watched.version} of the watched resource.", "text/plain"
    elif made is not None:
        told = {"id": made.group(1), "templateTest": True, "data": f"Data for ID: {made.group(1)}"}
        text, mime_type = json.dumps(told), "application/json"
    else:
        code = INVALID_PARAMS if stateless else NOT_FOUND_BEFORE_2026
        raise MCPError(code, f"Resource not found: {uri}", {"uri": uri})
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=mime_type, text=text)])


def _argument(name: str) -> PromptArgument:
    return PromptArgument(name=name, description=f"{name} of the prompt", required=True)


IN_CONTEXT: Final = "test_input_required_result_prompt"
PROMPTS: Final = (
    Prompt(name="test_simple_prompt", description="A text."),
    Prompt(
        name="test_prompt_with_arguments",
        description="A text with two arguments in it.",
        arguments=[_argument("arg1"), _argument("arg2")],
    ),
    Prompt(
        name="test_prompt_with_embedded_resource",
        description="A text with a resource.",
        arguments=[_argument("resourceUri")],
    ),
    Prompt(name="test_prompt_with_image", description="A text with an image."),
    Prompt(name=IN_CONTEXT, description="A text for which the user is asked first."),
)


def prompt(name: str, arguments: Mapping[str, str]) -> GetPromptResult:
    """A prompt that needs no answer of the client."""
    known = next((prompt for prompt in PROMPTS if prompt.name == name), None)
    if known is None:
        raise MCPError(INVALID_PARAMS, f"There is no prompt {name!r}.")
    missing = [argument.name for argument in known.arguments or () if argument.name not in arguments]
    if missing:
        raise MCPError(INVALID_PARAMS, f"Prompt {name!r} needs {', '.join(missing)}.")
    match name:
        case "test_prompt_with_arguments":
            text = f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
            return _messages(TextContent(text=text))
        case "test_prompt_with_embedded_resource":
            resource = embedded(arguments["resourceUri"], "text/plain", "Embedded resource content for testing.")
            return _messages(resource, TextContent(text="Please process the embedded resource above."))
        case "test_prompt_with_image":
            image = ImageContent(data=PIXEL, mime_type="image/png")
            return _messages(image, TextContent(text="Please analyze the image above."))
        case _:
            return _messages(TextContent(text="This is a simple prompt for testing."))


def _messages(*blocks: ContentBlock) -> GetPromptResult:
    return GetPromptResult(messages=[PromptMessage(role="user", content=block) for block in blocks])


def complete(argument: str, begun: str) -> CompleteResult:
    fitting = [word for word in WORDS.get(argument, ()) if word.startswith(begun)]
    return CompleteResult(completion=Completion(values=fitting, total=len(fitting), has_more=False))
