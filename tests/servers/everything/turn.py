"""One turn of a tool or prompt: what the client sent, and how the server asks it something in either era.

A question is written once. In the handshake era it goes out as a request of the server's own while the call waits;
since 2026-07-28 the call ends with what is asked, and the client calls again with the answers.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

Context = ServerRequestContext[Any, Any]
Answers = Mapping[str, BaseModel]
ANSWER_TO: Final[Mapping[str, type[BaseModel]]] = {
    "elicitation/create": ElicitResult,
    "sampling/createMessage": CreateMessageResult,
    "roots/list": ListRootsResult,
}
CAPABILITY_FOR: Final = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


class NotYet(Exception):  # noqa: N818 - an answer of the protocol, not a fault
    """Ends a turn with questions; the client takes the next one with the answers."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("the client must answer first")
        self.result = result


def elicitation(message: str, properties: Mapping[str, object], required: tuple[str, ...] = ()) -> ElicitRequest:
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str, max_tokens: int = 100) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=max_tokens))


def roots() -> ListRootsRequest:
    return ListRootsRequest()


class Turn:
    """What was asked and answered in earlier turns of the same call is remembered in the state that goes to and fro."""

    def __init__(
        self,
        ctx: Context,
        arguments: Mapping[str, Any] | None,
        responses: Mapping[str, BaseModel] | None,
        state: str | None,
    ) -> None:
        self.ctx: Final = ctx
        self.arguments: Final = arguments or {}
        self._responses = responses or {}
        self._known: dict[str, Any] = {} if state is None else json.loads(state)

    @property
    def stateless(self) -> bool:
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    def can(self, capability: str) -> bool:
        return self.ctx.session.check_client_capability(ClientCapabilities.model_validate({capability: {}}))

    def need(self, capability: str) -> None:
        """Refuses to go on for a client that did not declare this."""
        if not self.can(capability):
            raise MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY,
                f"This needs a client that declares {capability!r}.",
                {"requiredCapabilities": {capability: {}}},
            )

    async def ask(self, questions: Mapping[str, InputRequest], *, stateful: bool = False) -> Answers:
        """The answer to each question, by its key. `stateful` sends state along even when nothing is known yet."""
        for question in questions.values():
            self.need(CAPABILITY_FOR[question.method])
        if not self.stateless:
            return {key: await self._asked(question) for key, question in questions.items()}
        answers: dict[str, BaseModel] = {}
        for key, question in questions.items():
            answer = _fitting(question, self._responses.get(key, self._known.get(key)))
            if answer is not None:
                answers[key] = answer
                self._known[key] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        if len(answers) == len(questions):
            return answers
        raise NotYet(
            InputRequiredResult(
                input_requests={key: question for key, question in questions.items() if key not in answers},
                # Plain text: the server seals it on the way out and opens it on the way in.
                request_state=json.dumps(self._known, sort_keys=True) if stateful or self._known else None,
            )
        )

    async def _asked(self, question: InputRequest) -> BaseModel:
        return await self.ctx.session.send_request(
            question, ANSWER_TO[question.method], metadata=ServerMessageMetadata(related_request_id=self.ctx.request_id)
        )


def _fitting(question: InputRequest, answer: object) -> BaseModel | None:
    """An answer of another kind than the question's counts as none, so the question is put again."""
    wanted = ANSWER_TO[question.method]
    if isinstance(answer, wanted):
        return answer
    try:
        return wanted.model_validate(answer) if isinstance(answer, dict) else None
    except ValidationError:
        return None
