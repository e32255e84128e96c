"""The OpenAPI document of the API: what each route takes and answers, and that every error is a problem document."""

from collections.abc import Iterator
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic import TypeAdapter

from pegboard import __version__
from pegboard.core.scope import sort_scopes

from .access import required_scopes_of
from .examples import add_examples
from .problem_shapes import ProblemDetails

TITLE: Final = "Pegboard"
_SCHEMES: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "The start-up token, or an API token."}
}


def operation_id(route: APIRoute) -> str:
    """The name of its function: who generates a client calls it so."""
    return route.name


def _scopes_by_route(app: FastAPI) -> Iterator[tuple[str, str, list[str] | None]]:
    """What each route asks of a token, as the gate reads it."""
    for route in iter_route_contexts(app.routes):
        for method in route.methods or ():
            needed = required_scopes_of(route.endpoint, method)
            yield method, route.path_format or "", None if needed is None else [s.value for s in sort_scopes(needed)]


def describe_api(app: FastAPI) -> dict[str, Any]:
    """Worked out once."""
    if app.openapi_schema is None:
        document: dict[str, Any] = get_openapi(title=TITLE, version=__version__, routes=app.routes)
        components = document.setdefault("components", {})
        told = TypeAdapter(ProblemDetails).json_schema(ref_template="#/components/schemas/{model}")
        schemas = components.setdefault("schemas", {})
        schemas.update({name: shape for name, shape in told.pop("$defs", {}).items() if name not in schemas})
        schemas["ProblemDetails"] = told
        components["securitySchemes"] = _SCHEMES
        document["security"] = [{name: []} for name in _SCHEMES]
        for method, path, scopes in _scopes_by_route(app):
            operation = document["paths"].get(path, {}).get(method.lower())
            if operation is not None:
                operation["security"] = [] if scopes is None else [{name: scopes} for name in _SCHEMES]
        add_examples(document)
        app.openapi_schema = document
    return app.openapi_schema
