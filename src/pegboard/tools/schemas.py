"""JSON Schemas of Python types, without what Pydantic adds to them for other readers than models."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema

SCHEMA_MAP_KEYWORDS: Final = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
"""Keywords that hold schemas by names, among which `title` may be one."""
VALUE_KEYWORDS: Final = frozenset({"default", "const", "enum", "examples"})
"""Keywords whose objects are no schemas."""


class UntitledJsonSchema(GenerateJsonSchema):
    """A title that only repeats a name costs a model tokens and tells it nothing."""

    # A default that is no JSON is left out: the parameter is optional all the same.
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as the base class has it

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def without_names(schema: Mapping[str, Any], names: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The schema without titles that are the name of the class they were made from. `names` are those of classes."""
    known = names | frozenset(schema.get("$defs", ()))
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and value in known:
            continue
        if key in SCHEMA_MAP_KEYWORDS and isinstance(value, Mapping):
            found[key] = {name: _inside(inner, known) for name, inner in value.items()}
        else:
            found[key] = value if key in VALUE_KEYWORDS else _inside(value, known)
    return found


def _inside(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, Mapping):
        return without_names(value, names)
    return [_inside(item, names) for item in value] if isinstance(value, list) else value


def texts_of_keyword(schema: Mapping[str, Any], keyword: str) -> Iterator[str]:
    """What a schema says under a keyword, here and in all that it holds."""
    for key, value in schema.items():
        if key == keyword and isinstance(value, str):
            yield value
        elif key in SCHEMA_MAP_KEYWORDS and isinstance(value, Mapping):
            for inner in value.values():
                yield from _texts_in(inner, keyword)
        elif key not in VALUE_KEYWORDS:
            yield from _texts_in(value, keyword)


def _texts_in(value: Any, keyword: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from texts_of_keyword(value, keyword)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item, keyword)
