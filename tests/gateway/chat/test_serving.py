"""Which server is asked for which model."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from tests.servers.model import ModelServer, echo

from pegboard.config.keys.features import ChatSettings, ModelServerSettings
from pegboard.config.references import expander
from pegboard.gateway.chat.request import ModelDirectory, ModelRoute, NoModel
from pegboard.ports.models import ModelFault
from pegboard.providers.model_servers.openai import OpenAiServer

pytestmark = [pytest.mark.anyio]
PATIENCE = 30.0


@asynccontextmanager
async def serving(
    servers: Mapping[str, ModelServer], *, default: str | None = None, **named: tuple[str, ...]
) -> AsyncIterator[ModelDirectory]:
    told = {
        name: ModelServerSettings(name, server.url, models=named.get(name, ()), timeout=20.0)
        for name, server in servers.items()
    }
    made = {name: OpenAiServer(each, expander({}, Path())) for name, each in told.items()}
    try:
        with anyio.fail_after(PATIENCE):
            yield ModelDirectory(ChatSettings(told, default), made)
    finally:
        for each in made.values():
            await each.aclose()


async def chosen(models: ModelDirectory, named: str | None) -> tuple[str, str] | str:
    found = await models.find_route(named)
    return (found.server.name, found.model) if isinstance(found, ModelRoute) else found.why


@pytest.mark.behaviour("chat.several_servers", "chat.models_listed")
async def test_a_name_that_two_servers_have_is_the_first_ones_and_the_others_with_its_server() -> None:
    with ModelServer({"a": echo, "b/c": echo}) as one, ModelServer({"a": echo, "d": echo}) as two:
        async with serving({"one": one, "two": two}) as models:
            listed = await models.list_models()
            assert listed.models == (("a", "one"), ("b/c", "one"), ("two/a", "two"), ("d", "two"))
            asked = {name: await chosen(models, name) for name in ("a", "two/a", "one/a", "b/c", "d", "two/new")}
    assert asked == {
        "a": ("one", "a"),
        "two/a": ("two", "a"),
        "one/a": ("one", "a"),
        "b/c": ("one", "b/c"),
        "d": ("two", "d"),
        "two/new": ("two", "new"),
    }


@pytest.mark.behaviour("chat.several_servers")
async def test_a_name_that_nobody_has_is_refused_with_the_nearest() -> None:
    with ModelServer({"llama-8b": echo}) as one, ModelServer({"qwen-1b": echo}) as two:
        async with serving({"one": one, "two": two}) as models:
            assert await chosen(models, "lama-8b") == "There is no model 'lama-8b' here. Did you mean 'llama-8b'?"
            assert str(await chosen(models, None)).startswith("The request names no model, and there is not just one.")


@pytest.mark.behaviour("chat.several_servers")
async def test_a_single_server_is_asked_for_whatever_is_named_unless_its_models_are() -> None:
    with ModelServer({"a": echo}) as one:
        async with serving({"one": one}) as models:
            assert [await chosen(models, name) for name in ("a", "new:7b", "x/y")] == [
                ("one", "a"),
                ("one", "new:7b"),
                ("one", "x/y"),
            ]
            assert await chosen(models, None) == ("one", "a")
        async with serving({"one": one}, default="b", one=("a", "b")) as models:
            assert await chosen(models, None) == ("one", "b")
            assert await chosen(models, "c") == "There is no model 'c' here. See /v1/models."
            assert isinstance(await models.find_route("c"), NoModel)


@pytest.mark.behaviour("chat.models_listed")
async def test_a_server_that_is_down_hides_no_other_and_is_told() -> None:
    with ModelServer({"a": echo}) as one, ModelServer({"b": echo}) as two:
        async with serving({"two": two, "one": one}) as models:
            two.end()
            listed = await models.list_models()
            assert listed.models == (("a", "one"),)
            assert [(name, trouble.fault) for name, trouble in listed.problems] == [("two", ModelFault.UNREACHABLE)]
            assert await chosen(models, "a") == ("one", "a")
            assert await chosen(models, "b") == ("two", "b"), "who does not tell what it has is asked for it"
