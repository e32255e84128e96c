"""A gateway with a chat, as people run it: in a process of its own, in front of a model server that plays its part."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import openai
from tests.servers.model import Character, ModelServer, script
from tests.servers.model import Raw as Raw
from tests.servers.model import Turn as Turn
from tests.surfaces.cli.terminal import Gateway, board, peer, program, serving

PATIENCE = 60.0
KEY = "the-models-own-key"


@dataclass(frozen=True)
class Place:
    gateway: Gateway
    models: ModelServer
    folder: Path
    token: str = ""

    def model(self, *turns: Turn | Raw, name: str = "model", size: str = "70b") -> str:
        """A new model that says these things, one after the other."""
        return self.character(script(*turns), name=name, size=size)

    def character(self, character: Character, *, name: str = "model", size: str = "70b") -> str:
        named = f"{name}-{uuid4().hex[:8]}:{size}"
        self.models.characters[named] = character
        return named

    @property
    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.gateway.url}/v1", api_key=self.token or "none", max_retries=0)

    @property
    def http(self) -> httpx2.Client:
        return httpx2.Client(base_url=self.gateway.url, timeout=PATIENCE, headers=self.headers, trust_env=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"} if self.token else {}

    def asked_of(self, model: str) -> list[dict[str, Any]]:
        """What the model server was asked for this model."""
        return [body for body in self.models.asked if body["model"] == model]

    def say(self, model: str, text: str = "hello", **more: Any) -> dict[str, Any]:
        """One question without any client between: the answer's body."""
        answer = self.post({"model": model, "messages": [{"role": "user", "content": text}], **more})
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def post(self, body: Any, **more: Any) -> httpx2.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"content-type": "application/json", **more.pop("headers", {})}
        with self.http as http:
            return http.post("/v1/chat/completions", content=content, headers=headers, **more)

    def pegboard(self, *words: str) -> Any:
        """A person at another terminal."""
        done = program(self.folder, *words, "--data-dir", self.gateway.data_dir, "--json")
        assert done.code == 0, done.err
        return done.json

    def activity(self) -> list[dict[str, Any]]:
        """What the audit has so far, the newest first. It is written a moment after the call."""
        headers = {"authorization": f"Bearer {self.gateway.token}"}
        with self.http as http:
            found: list[dict[str, Any]] = http.get("/api/v1/activity", headers=headers).json()["activity"]
        return found

    @property
    def ran(self) -> list[str]:
        """What the tool that must be confirmed has really done."""
        file = self.folder / "tally"
        return file.read_text("utf-8").split() if file.exists() else []


@contextmanager
def opened(folder: Path, chat: Mapping[str, Any] | None = None, **more: Any) -> Iterator[Place]:
    tokens = {f"TOKEN_OF_{name.upper()}": f"{name}-0123456789abcdef" for name in more.get("principals", ())}
    with ModelServer({}, key=KEY) as models:
        servers = {
            "everyday": peer("everyday", trust="open"),
            "tally": peer("tally", str(folder / "tally"), trust="open"),
            **more.pop("servers", {}),
        }
        told = {
            "model_servers": {"local": {"url": models.url, "api_key": "${MODEL_KEY}", "timeout": 30}},
            **(chat or {}),
        }
        musing = {"tool_calling": False, "format": "hermes", "thinking": True}
        known = {
            "model-*": {"tool_calling": True},
            "muser-*": musing,
            "opened-*": {**musing, "opens_thinking": True},
            "native-muser-*": {"tool_calling": True, "thinking": True},
        }
        settings = {
            "models": known,
            "overrides": {"tally": {"*:mark": {"requires_confirmation": True}}},
            "chat": told,
            **more,
        }
        config = board(folder / "pegboard.yaml", servers, **settings)
        with serving(folder, config, folder / "data", MODEL_KEY=KEY, **tokens) as gateway:
            _settled(gateway, servers)
            yield Place(gateway, models, folder, next(iter(tokens.values()), ""))


def _settled(gateway: Gateway, servers: Iterable[str]) -> None:
    """Every server has told its tools: a busy machine may take longer to start one than an answer waits for it."""
    headers = {"authorization": f"Bearer {gateway.token}"}
    for name in servers:
        url = f"{gateway.url}/api/v1/servers/{name}~{name}"
        answer = httpx2.get(url, params={"wait": "40"}, headers=headers, timeout=PATIENCE, trust_env=False)
        assert answer.status_code == 200, answer.text


def calls(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Of an answer: which tools were called for it, and how that ended."""
    return [(call["name"], call["outcome"]) for call in body["pegboard"]["calls"]]


def text(body: Mapping[str, Any]) -> str:
    return str(body["choices"][0]["message"]["content"])
