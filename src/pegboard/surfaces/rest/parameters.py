"""What stands behind the question mark: a misspelt name is told and not passed over, because it may have been the one
that mattered."""

from collections.abc import Iterable
from http import HTTPStatus

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel

from pegboard.core.foreign_names import PARAMETERS

from .misfits import member_names, unknown_member_text
from .problems import ProblemError


async def refuse_unknown_parameters(request: Request) -> None:
    """Raises `Problem`. A route that takes all its parameters as one model knows them by that model."""
    if not request.query_params:
        return
    route = request.scope.get("route")
    assert isinstance(route, APIRoute), "every route of the API is one"
    known = set(_parameter_names(route))
    unknown = [name for name in request.query_params if name not in known]
    if not unknown:
        return
    elsewhere = PARAMETERS.get(route.name, {})
    wrong = [f"{name}: {elsewhere.get(name) or unknown_member_text(name, known)}" for name in unknown]
    raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(wrong), {"errors": wrong})


def _parameter_names(route: APIRoute) -> Iterable[str]:
    for field in route.dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from member_names(kind)
        else:
            yield field.alias
