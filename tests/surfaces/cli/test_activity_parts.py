"""`pegboard activity list` over a long history: the gateway answers in parts, and the person sees one page."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pegboard.surfaces.cli.activity import fetch_page
from pegboard.surfaces.cli.api import ApiResponse

pytestmark = pytest.mark.anyio


class InParts:
    """A gateway that has looked through so much each time, and what it was asked."""

    is_running = True

    def __init__(self, *parts: tuple[Sequence[int], int | None]) -> None:
        self.parts = list(parts)
        self.asked: list[dict[str, str]] = []

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Sequence[tuple[str, str]] = (),
        body: Mapping[str, object] | None = None,
    ) -> ApiResponse:
        self.asked.append(dict(params))
        found, following = self.parts.pop(0)
        return ApiResponse(200, {"activity": [{"id": number} for number in found], "next": following})

    async def download(self, path: str) -> ApiResponse:
        raise AssertionError(f"nothing is downloaded for a page: {path}")


def ids(body: dict[str, Any]) -> tuple[list[int], int | None]:
    return [record["id"] for record in body["activity"]], body["next"]


@pytest.mark.behaviour("audit.answers_in_parts", "cli.activity")
async def test_a_page_is_filled_from_as_many_parts_as_it_takes() -> None:
    api = InParts(([], 800), ([790], 600), ([580, 510], 510))
    assert ids(await fetch_page(api, [("principal", "ann")], 3, None)) == ([790, 580, 510], 510)
    assert api.asked == [
        {"principal": "ann", "limit": "3"},
        {"principal": "ann", "limit": "3", "before": "800"},
        {"principal": "ann", "limit": "2", "before": "600"},
    ]


@pytest.mark.behaviour("audit.answers_in_parts", "cli.activity")
async def test_at_the_end_of_the_history_a_page_is_what_there_is() -> None:
    api = InParts(([7], 4), ([], None))
    assert ids(await fetch_page(api, [], 100, 9)) == ([7], None)
    assert api.asked == [{"limit": "100", "before": "9"}, {"limit": "99", "before": "4"}]
