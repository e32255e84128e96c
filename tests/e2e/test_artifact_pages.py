"""A toolset of the seed's own system that shows its result as a page: the quiz, from its ZIP to what REST returns."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.providers.python.toolsets import written
from tests.support.sign_ins import ScriptedSignIns
from tests.support.toolsets import brought, housed, until_open, zipped
from tests.surfaces.rest.desk import ABOUT, TOKEN

from pegboard.gateway.access.tokens import hash_token
from pegboard.surfaces.rest.app import rest_app

pytestmark = pytest.mark.anyio

PAGE = "<h1></h1><script>document.querySelector('h1').textContent = window.__TOOL_DATA__.title</script>"
QUIZ = {
    "toolset.yaml": """
    manifest_version: "1"
    id: mine
    name: Quiz
    version: "1.0"
    tools:
      - id: create_quiz
        entrypoint: tools.quiz:create_quiz
        renderer:
          type: html
          artifact: artifacts/quiz.html
          data: $return
    """,
    "artifacts/quiz.html": PAGE,
    "tools/quiz.py": '''
    from covalt_toolset import tool


    @tool(name="Create a quiz")
    def create_quiz(title: str) -> dict:
        """Make a quiz of one question."""
        return {"title": title, "questions": [{"text": "1 + 1?", "options": ["1", "2"], "answer": 1}]}
    ''',
}
MADE = {"title": "Sums", "questions": [{"text": "1 + 1?", "options": ["1", "2"], "answer": 1}]}


@pytest.mark.behaviour("overrides.html_artifact", "overrides.html_artifact_is_the_toolsets_own")
async def test_the_quiz_is_rendered_with_its_page_and_its_data(tmp_path: Path) -> None:
    bundle = zipped(written(tmp_path / "quiz", QUIZ), top="quiz/")
    async with housed(tmp_path / "data") as house:
        await brought(house, bundle)
        await until_open(house, "mine:create_quiz")
        app = rest_app(house.gateway, ABOUT, hash_token(TOKEN), ScriptedSignIns, lambda: house.installer)
        headers = {"authorization": f"Bearer {TOKEN}"}
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:

            async def posted(path: str, body: object) -> Any:
                answer = await client.post(f"/api/v1{path}", json=body)
                assert answer.status_code == 200, answer.text
                return answer.json()

            called = {"tool": "mine:create_quiz", "arguments": {"title": "Sums"}, "trial": True}
            told = await posted("/call", called)
            assert told["rendered"] == {
                "renderer": "html",
                "config": {"content": PAGE, "artifact": "artifacts/quiz.html", "data": MADE},
                "standalone": False,
                "missing": [],
                "refused": {},
                "truncated": False,
            }
            # The page is not what the call brought: its size is no cost of the call.
            assert told["renderedTokens"] < 100
            again = {"tool": "mine:create_quiz", "result": told["result"]}
            assert (await posted("/render", again))["rendered"] == told["rendered"]
            for artifact, why in (
                ("toolset.yaml", "it must be an .html or .htm file of the toolset"),
                ("$args.page", "toolset 'mine' has no file 'x.html'"),
            ):
                config = {"artifact": artifact}
                edit = {"target": "mine:create_quiz", "set": {"renderer": "html", "renderer_config": config}}
                await posted("/overrides", edit)
                shown = await posted("/render", {**again, "arguments": {"page": "x.html"}})
                assert shown["rendered"]["config"] == {"data": MADE}
                assert shown["rendered"]["refused"] == {"artifact": why}
