"""Tools and a prompt that need an answer of the client before they can finish."""

import json
from typing import Final

from mcp_types import (
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    GetPromptResult,
    InputRequest,
    ListRootsResult,
    PromptMessage,
    TextContent,
)
from pydantic import BaseModel

from .plain import Fixture, fixture, said, takes
from .turn import Turn, elicitation, roots, sampling

TEXT: Final = {"type": "string"}
WHO: Final = elicitation("What is your name?", {"name": TEXT}, ("name",))
CONFIRM: Final = elicitation("Please confirm", {"ok": {"type": "boolean"}}, ("ok",))


def told(answer: BaseModel) -> str:
    match answer:
        case ElicitResult(action=action, content=content):
            return f"action={action}, content={json.dumps(content or {}, sort_keys=True)}"
        case CreateMessageResult(content=TextContent(text=text)):
            return text
        case ListRootsResult(roots=found):
            return f"{len(found)} roots: {', '.join(str(root.uri) for root in found)}"
        case _:
            return answer.model_dump_json(by_alias=True, exclude_none=True)


def given(answer: BaseModel, name: str) -> str:
    """One field of a filled-in form; who declined it has given nothing."""
    content = answer.content if isinstance(answer, ElicitResult) and answer.action == "accept" else None
    return str((content or {}).get(name, ""))


async def _samples(turn: Turn) -> CallToolResult:
    answers = await turn.ask({"reply": sampling(turn.arguments["prompt"])})
    return said(f"LLM response: {told(answers['reply'])}")


async def _elicits(turn: Turn) -> CallToolResult:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answers = await turn.ask({"form": elicitation(turn.arguments["message"], fields, tuple(fields))})
    return said(f"User response: <{told(answers['form'])}>")


async def _elicits_with_defaults(turn: Turn) -> CallToolResult:
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    answers = await turn.ask({"form": elicitation("Review these values", fields)})
    return said(f"Elicitation completed: {told(answers['form'])}")


def _titled(values: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in values]


async def _elicits_choices(turn: Turn) -> CallToolResult:
    three = ["option1", "option2", "option3"]
    options = (("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option"))
    choices = (("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice"))
    fields = {
        "untitledSingle": {"type": "string", "enum": three},
        "titledSingle": {"type": "string", "oneOf": _titled(options)},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": three}},
        "titledMulti": {"type": "array", "items": {"anyOf": _titled(choices)}},
    }
    answers = await turn.ask({"form": elicitation("Choose", fields)})
    return said(f"Elicitation completed: {told(answers['form'])}")


async def _greets(turn: Turn) -> CallToolResult:
    answers = await turn.ask({"user_name": WHO})
    return said(f"Hello, {given(answers['user_name'], 'name')}!")


async def _asks_for_a_capital(turn: Turn) -> CallToolResult:
    answers = await turn.ask({"capital_question": sampling("What is the capital of France?")})
    return said(told(answers["capital_question"]))


async def _lists_roots(turn: Turn) -> CallToolResult:
    answers = await turn.ask({"client_roots": roots()})
    return said(told(answers["client_roots"]))


async def _keeps_state(turn: Turn) -> CallToolResult:
    """The server opens the state before this runs and refuses one it did not seal itself."""
    answers = await turn.ask({"confirm": CONFIRM}, stateful=True)
    return said(f"state-ok: {told(answers['confirm'])}")


async def _asks_three_things(turn: Turn) -> CallToolResult:
    questions: dict[str, InputRequest] = {
        "user_name": WHO,
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": roots(),
    }
    answers = await turn.ask(questions, stateful=True)
    return said("\n".join(told(answers[key]) for key in questions))


async def _asks_twice(turn: Turn) -> CallToolResult:
    first = await turn.ask(
        {"step1": elicitation("Step 1: What is your name?", {"name": TEXT}, ("name",))}, stateful=True
    )
    question = elicitation("Step 2: What is your favorite color?", {"color": TEXT}, ("color",))
    second = await turn.ask({"step2": question}, stateful=True)
    return said(f"{given(first['step1'], 'name')} likes {given(second['step2'], 'color')}.")


async def _asks_what_it_may(turn: Turn) -> CallToolResult:
    questions = {
        capability: question
        for capability, question in (("elicitation", WHO), ("sampling", sampling("Say hello", 50)), ("roots", roots()))
        if turn.can(capability)
    }
    answers = await turn.ask(questions)
    return said(
        "\n".join(f"{capability}: {told(answer)}" for capability, answer in answers.items()) or "Nothing to ask."
    )


async def _needs_sampling(turn: Turn) -> CallToolResult:
    turn.need("sampling")
    return said("The client can sample.")


async def prompt_in_context(turn: Turn) -> GetPromptResult:
    question = elicitation("What context should the prompt use?", {"context": TEXT}, ("context",))
    answers = await turn.ask({"user_context": question})
    text = f"Answer in this context: {given(answers['user_context'], 'context')}"
    return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(text=text))])


_ROUND: Final = "test_input_required_result_"
ASKING: Final[tuple[Fixture, ...]] = (
    fixture("test_sampling", "Asks the client's model.", _samples, takes(prompt="what to ask the model")),
    fixture("test_elicitation", "Asks the user for a name and an address.", _elicits, takes(message="what to say")),
    fixture("test_elicitation_sep1034_defaults", "Asks with a default in every field.", _elicits_with_defaults),
    fixture("test_elicitation_sep1330_enums", "Asks with every kind of choice.", _elicits_choices),
    fixture("test_streaming_elicitation", "Asks the user for a name.", _greets),
    fixture("test_missing_capability", "Refuses a client that cannot sample.", _needs_sampling),
    fixture(_ROUND + "elicitation", "Asks the user for a name.", _greets),
    fixture(_ROUND + "sampling", "Asks the client's model for a capital.", _asks_for_a_capital),
    fixture(_ROUND + "list_roots", "Asks for the client's roots.", _lists_roots),
    fixture(_ROUND + "request_state", "Asks, and knows its own state again.", _keeps_state),
    fixture(_ROUND + "tampered_state", "Asks, and refuses a state that is not its own.", _keeps_state),
    fixture(_ROUND + "multiple_inputs", "Asks three things at once.", _asks_three_things),
    fixture(_ROUND + "multi_round", "Asks twice, one thing after the other.", _asks_twice),
    fixture(_ROUND + "capabilities", "Asks for what the client says it can do.", _asks_what_it_may),
)
