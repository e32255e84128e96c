"""Parameters of a function: their JSON Schema, and arguments converted to their annotations."""

import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import typing_extensions
from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from pegboard.core.json.values import JsonObject
from pegboard.tools.context import ToolContext
from pegboard.tools.metadata import NotAToolError, docstring_texts

# JSON Schemas of Python types, without what Pydantic adds to them for other readers than models.

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


# Annotations as Pydantic takes them on every Python: until 3.12 it refuses the standard library's own TypedDict.

IS_OLD_PYTHON: typing.Final = sys.version_info < (3, 12)
_TYPED_DICT: typing.Final[Any] = typing_extensions.TypedDict
"""A checker takes only names that it reads in the source."""


def portable_annotation(annotation: Any) -> Any:
    """The same type, with each such TypedDict made anew."""
    return _rebuild(annotation, {}) if IS_OLD_PYTHON else annotation


def _rebuild(annotation: Any, known: dict[Any, Any]) -> Any:
    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        if annotation not in known:
            made = _TYPED_DICT(annotation.__name__, {})
            # Known before its members are looked at, because one of them may be of the same type.
            known[annotation] = made
            made.__annotations__ = {name: _rebuild(kind, known) for name, kind in _members(annotation).items()}
            made.__doc__ = annotation.__doc__
        return known[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if not inner or origin is typing.Literal:
        return annotation
    parts = tuple(_rebuild(one, known) for one in inner[: 1 if origin is Annotated else None])
    if parts == inner[: len(parts)]:
        return annotation
    if origin is Annotated:
        return Annotated[(parts[0], *inner[1:])]
    if origin in (Union, types.UnionType):
        return Union[parts]  # noqa: UP007 - there is no other way to write one of so many
    # `Required` and its like take one type, and no tuple of one.
    return origin[parts if len(parts) > 1 else parts[0]]


def _members(kind: Any) -> dict[str, Any]:
    """Each with the word whether it must be there. Where annotations are text, only the word itself tells."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        word, bare = get_origin(hint), hint
        if word in _REQUIRED or word in _NOT_REQUIRED:
            bare = get_args(hint)[0]
        is_required = word in _REQUIRED or (word not in _NOT_REQUIRED and name in kind.__required_keys__)
        found[name] = (typing_extensions.Required if is_required else typing_extensions.NotRequired)[bare]
    return found


_REQUIRED: typing.Final = (typing.Required, typing_extensions.Required)
_NOT_REQUIRED: typing.Final = (typing.NotRequired, typing_extensions.NotRequired)


# The annotations of a function, read as types that can be described; and why they cannot be.


def type_hints(function: Callable[..., object]) -> Mapping[str, Any]:
    """By parameter, and by `return`. Raises `NotAToolError`."""
    callee = function if inspect.isroutine(function) else type(function).__call__
    try:
        found = get_type_hints(inspect.unwrap(callee), include_extras=True)
        return {name: portable_annotation(annotation) for name, annotation in found.items()}
    except NameError as error:
        raise NotAToolError(
            function,
            f"the annotation {error.name!r} is not known when the program runs. Import it outside of TYPE_CHECKING.",
        ) from None
    except (TypeError, SyntaxError, AttributeError) as error:
        raise NotAToolError(function, f"its annotations cannot be read: {error}") from None


MAX_PROBLEMS: Final = 10
_CONFIG: Final = ConfigDict(extra="forbid", validate_default=False)
_SCHEMA_ERRORS: Final = (PydanticUserError, PydanticSchemaGenerationError, PydanticInvalidForJsonSchema)


class BadArgumentsError(ValueError):
    """Arguments that are not what the annotations say, in words for whoever sent them."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class FunctionParameters:
    """In the model, parameters stand under names of our own: one may well be called `copy` or `model_fields`."""

    schema: JsonObject
    _model: type[BaseModel]
    _positional: tuple[str, ...]
    """Of those that can be given by place only, the name in the model."""
    _named: tuple[tuple[str, str], ...]
    _context: str
    """The parameter that takes the context; empty for none."""

    @property
    def wants_context(self) -> bool:
        return bool(self._context)

    def parse(self, arguments: bytes, context: ToolContext) -> tuple[list[object], dict[str, object]]:
        """What to call the function with. Raises `BadArgumentsError`."""
        try:
            held = self._model.model_validate_json(arguments)
        except ValidationError as error:
            raise BadArgumentsError(_problems(error)) from None
        given = held.__dict__
        places: list[object] = [given[field] for field in self._positional]
        names: dict[str, object] = {name: given[field] for name, field in self._named}
        if self._context:
            names[self._context] = context
        return places, names


def parameters_of(function: Callable[..., object]) -> FunctionParameters:
    """Raises `NotAToolError`."""
    types, described = type_hints(function), docstring_texts(function).parameters
    fields: dict[str, tuple[Any, FieldInfo]] = {}
    by_place: list[str] = []
    by_name: list[tuple[str, str]] = []
    context = ""
    for parameter in inspect.signature(function).parameters.values():
        annotation = types.get(parameter.name, Any)
        if _is_context(annotation):
            if context:
                raise NotAToolError(function, f"{context} and {parameter.name} are both the context. Keep one.")
            if parameter.kind is Parameter.POSITIONAL_ONLY:
                raise NotAToolError(function, f"{parameter.name} is the context, which is given by name. Remove the /.")
            context = parameter.name
            continue
        if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is Parameter.VAR_POSITIONAL else "**"
            raise NotAToolError(
                function,
                f"{stars}{parameter.name} cannot be described to a model. Write a parameter of its own, such as a list "
                f"or a dict.",
            )
        field = f"p{len(fields)}"
        fields[field] = annotation, _field(parameter, annotation, described.get(parameter.name))
        if parameter.kind is Parameter.POSITIONAL_ONLY:
            by_place.append(field)
        else:
            by_name.append((parameter.name, field))
    model, schema = _model_or_error(function, fields)
    return FunctionParameters(schema, model, tuple(by_place), tuple(by_name), context)


def _is_context(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        return kinds == [ToolContext]
    return annotation is ToolContext


def _field(parameter: Parameter, annotation: Any, described: str | None) -> FieldInfo:
    told = _description_in(annotation) or described
    if parameter.default is Parameter.empty:
        made: FieldInfo = Field(alias=parameter.name, description=told)
    elif isinstance(parameter.default, FieldInfo):
        made = FieldInfo.merge_field_infos(
            parameter.default, alias=parameter.name, description=parameter.default.description or told
        )
    else:
        made = Field(default=parameter.default, alias=parameter.name, description=told)
    return made


def _description_in(annotation: Any) -> str | None:
    """`Annotated[str, "The city"]`, `Annotated[str, Field(description=…)]` or with a `Doc`."""
    if get_origin(annotation) is not Annotated:
        return None
    for note in get_args(annotation)[1:]:
        if isinstance(note, str):
            return note
        for member in ("description", "documentation"):
            if isinstance(told := getattr(note, member, None), str):
                return told
    return None


def _model_or_error(
    function: Callable[..., object], fields: Mapping[str, tuple[Any, FieldInfo]]
) -> tuple[type[BaseModel], JsonObject]:
    try:
        return _model(fields)
    except _SCHEMA_ERRORS:
        for field, told in fields.items():
            try:
                _model({field: told})
            except _SCHEMA_ERRORS as unfit:
                _, info = told
                raise NotAToolError(function, f"{info.alias}: {_why(unfit)}") from None
        raise


def _model(fields: Mapping[str, tuple[Any, FieldInfo]]) -> tuple[type[BaseModel], JsonObject]:
    model: type[BaseModel] = create_model("Arguments", __config__=_CONFIG, **fields)  # type: ignore[call-overload]
    schema = model.model_json_schema(by_alias=True, schema_generator=UntitledJsonSchema)
    shown = without_names(schema, frozenset({"Arguments"}))
    shown.setdefault("properties", {})
    return model, shown


def _why(unfit: Exception) -> str:
    first = str(unfit).partition("\n")[0].partition(". ")[0].rstrip(".")
    return (
        f"its type cannot be written as JSON ({first}). Use plain types, Literal, Enum, dataclasses, TypedDict or "
        f"Pydantic models."
    )


def _problems(error: ValidationError) -> tuple[str, ...]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{_path(one['loc'])}: {one['msg']}" if one["loc"] else one["msg"] for one in found[:MAX_PROBLEMS]]
    return (*told, *(["and more"] if len(found) > MAX_PROBLEMS else []))


def _path(places: tuple[int | str, ...]) -> str:
    text = ""
    for place in places:
        text += f"[{place}]" if isinstance(place, int) else f".{place}" if text else place
    return text
