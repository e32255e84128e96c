"""What a function asks for: the schema that a model is shown, and arguments made into what the annotations say."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.fields import FieldInfo

from pegboard.core.tool import JsonObject

from .context import ToolContext
from .hints import type_hints
from .schemas import UntitledJsonSchema, without_names
from .trouble import NotAToolError
from .words import docstring_texts

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
