"""The OpenAPI document of the API: what each route takes and answers, and that every error is a problem document."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from pegboard import __version__

from .problem_shapes import ProblemShape

TITLE: Final = "Pegboard"
_SCHEMES: Final = {"bearer": {"type": "http", "scheme": "bearer", "description": "The start-up token."}}


def operation_id(route: APIRoute) -> str:
    """The name of its function: who generates a client calls it so."""
    return route.name


def described(app: FastAPI) -> dict[str, Any]:
    """Worked out once."""
    if app.openapi_schema is None:
        document: dict[str, Any] = get_openapi(title=TITLE, version=__version__, routes=app.routes)
        components = document.setdefault("components", {})
        components.setdefault("schemas", {})["ProblemShape"] = TypeAdapter(ProblemShape).json_schema()
        components["securitySchemes"] = _SCHEMES
        document["security"] = [{name: []} for name in _SCHEMES]
        app.openapi_schema = document
    return app.openapi_schema
