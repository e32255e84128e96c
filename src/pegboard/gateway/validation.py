"""Arguments held against a tool's schema: JSON Schema 2020-12, compiled once for each fingerprint.

Schemas come from servers that nobody vouches for, so nothing is fetched for one, and no check is begun whose cost
cannot be bounded. Where a schema cannot be checked here, the tool's own server still checks its arguments.
"""

import json
import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Final, NoReturn, TypeAlias

import jsonschema_rs

from pegboard.core.calls.call import Arguments, ArgumentValidator, ToolCall
from pegboard.core.json.values import MAX_JSON_DEPTH, Json, JsonObject
from pegboard.core.model.foreign_names import argument_hints
from pegboard.core.model.ids import BuiltinKey
from pegboard.core.model.text import truncate
from pegboard.core.model.tool import Fingerprint, Tool
from pegboard.gateway.schema_cost import (
    ArgumentsNotJson,
    JsonSize,
    SchemaCost,
    TextSizes,
    measure_json,
    path_text,
    search_steps,
    texts_in,
)

MAX_CACHED_SCHEMAS: Final = 20_000
MAX_PROBLEMS: Final = 10
MAX_PROBLEM_CHARS: Final = 300
MAX_CHOICES: Final = 20
"""Of the values that an argument may have, those that are named."""
MAX_CHOICE_CHARS: Final = 60
MAX_PATTERNS: Final = 200
MAX_OBJECTS: Final = 20_000
MAX_ENTRIES: Final = 100_000

MAX_PARTS: Final = 300_000
"""Of all patterns together, which take about half a microsecond each to compile."""

SMALL_BYTES: Final = 2 * MAX_JSON_DEPTH
"""Bytes of JSON that cannot be nested too deeply, nor hold many values."""

MAX_STEPS: Final = 100_000_000
"""Of asking yes or no, which takes about ten nanoseconds a step."""

MAX_SEARCH: Final = 12_000_000
"""Of searching patterns, which takes about ten nanoseconds a step, and is done up to three times."""

MAX_DETAIL: Final = 10_000
"""Of asking what is wrong, which takes about a hundred microseconds for each thing it finds."""

_PATTERN_BYTES: Final = 10_000_000
_SEARCH_BYTES: Final = 1_000_000
_DEFINITION_KEYWORDS: Final = ("$schema", "$id", "$defs", "definitions")

log = logging.getLogger(__name__)

Kind: TypeAlias = jsonschema_rs.ValidationErrorKind


class Validators:
    """Compiles lazily, because most tools of a large board are never called."""

    def __init__(self) -> None:
        self._checks: OrderedDict[Fingerprint, _SchemaCheck | None] = OrderedDict()

    def for_call(self, call: ToolCall) -> ArgumentValidator:
        """How to check what this call says."""
        return self.small_problems if call.raw is not None and len(call.raw) <= SMALL_BYTES else self.problems

    def small_problems(self, tool: Tool, arguments: Arguments) -> tuple[str, ...]:
        """The same, for what was read from no more than a few hundred bytes of JSON: it need not be measured first."""
        check = self._check(tool)
        if check is None or (check.is_light and check.validator.is_valid(arguments)):
            return ()
        return self.problems(tool, arguments)

    def problems(self, tool: Tool, arguments: Arguments) -> tuple[str, ...]:
        plain = arguments if type(arguments) is dict else dict(arguments)
        measure = measure_json(plain)
        if isinstance(measure, ArgumentsNotJson):
            return (measure.problem,)
        check = self._check(tool)
        problems = () if check is None else check.problems(plain, measure)
        if problems and isinstance(tool.id.source, BuiltinKey):
            known = tool.spec.input_schema.get("properties")
            return (*problems, *argument_hints(tool.id.name, plain, known if isinstance(known, dict) else ()))
        return problems

    def _check(self, tool: Tool) -> "_SchemaCheck | None":
        if tool.is_checked_by_provider:
            return None
        key = tool.spec.fingerprint
        known = self._checks.get(key)
        if known is not None or key in self._checks:
            if len(self._checks) > MAX_CACHED_SCHEMAS // 2:  # before, nothing is about to be forgotten
                self._checks.move_to_end(key)
            return known
        check = self._checks[key] = _compile(tool)
        while len(self._checks) > MAX_CACHED_SCHEMAS:
            self._checks.popitem(last=False)
        return check


class LockedValidators:
    """Validators for threads: one at a time has them."""

    def __init__(self, validators: Validators) -> None:
        self._validators = validators
        self._lock = Lock()

    def problems(self, tool: Tool, arguments: Arguments) -> tuple[str, ...]:
        with self._lock:
            return self._validators.problems(tool, arguments)


@dataclass
class _SchemaCheck:
    tool: str
    schema: JsonObject
    validator: jsonschema_rs.Validator
    cost: SchemaCost
    back_and_forth: bool
    gave_up: bool = False

    @cached_property
    def is_light(self) -> bool:
        """Whether asking yes or no takes no time worth counting, whatever small arguments say."""
        if self.cost.patterns and (
            self.back_and_forth
            or search_steps(
                self.cost.compiled_parts, TextSizes(SMALL_BYTES, SMALL_BYTES, SMALL_BYTES), back_and_forth=False
            )
            > MAX_SEARCH
        ):
            return False
        return self.cost.steps(MAX_JSON_DEPTH) * SMALL_BYTES <= MAX_STEPS

    def problems(self, arguments: JsonObject, measure: JsonSize) -> tuple[str, ...]:
        if self.cost.steps(measure.depth) * measure.values > MAX_STEPS:
            return self._give_up("its schema leads to its arguments in too many ways to check them here")
        if self.cost.patterns and self._search_steps(arguments, measure.depth) > MAX_SEARCH:
            return self._give_up("its patterns take too long to search these arguments for here")
        if self.validator.is_valid(arguments):
            return ()
        if self.cost.findings(measure.depth) * (measure.values + measure.characters // 100) > MAX_DETAIL:
            return tuple(_first_few(self._rough_problems(arguments)))
        return tuple(
            _first_few(_problem(error) for error in self.validator.iter_errors(arguments) if _is_conclusive(error))
        )

    def _give_up(self, why: str) -> tuple[str, ...]:
        if not self.gave_up:
            log.warning("%s: %s", self.tool, why)
            self.gave_up = True
        return ()

    def _search_steps(self, arguments: JsonObject, depth: int) -> int:
        """By argument, because a long text is mostly one that no pattern is for."""
        asked: list[tuple[int, Json]] = [(self.cost.parts(depth, argument=None), arguments)]
        asked += [(self.cost.parts(depth, argument=name), value) for name, value in arguments.items()]
        return sum(
            search_steps(parts, texts_in(held), back_and_forth=self.back_and_forth) for parts, held in asked if parts
        )

    def _rough_problems(self, arguments: JsonObject) -> Iterator[str]:
        """Which arguments do not fit, by asking of each alone yes or no: bounded where a full account would not be."""
        required, properties = self.schema.get("required"), self.schema.get("properties")
        missing = [name for name in required if name not in arguments] if isinstance(required, list) else []
        yield from (_short(f'"{name}" is a required property') for name in missing)
        asked = (
            {name: properties[name] for name in arguments if name in properties} if isinstance(properties, dict) else {}
        )
        ways, count = self.cost, len(asked)
        if (
            ways.size * count > MAX_OBJECTS
            or ways.entries * count > MAX_ENTRIES
            or ways.compiled_parts * count > MAX_PARTS
        ):
            asked = {}
        misfits = [name for name, schema in asked.items() if not self._fits(name, schema, arguments[name])]
        yield from (f"{path_text([name])}: the value does not fit its schema" for name in misfits)
        if not missing and not misfits:
            yield "the arguments together do not fit the schema"

    def _fits(self, name: str, asked: Json, argument: Json) -> bool:
        alone: JsonObject = {
            keyword: self.schema[keyword] for keyword in _DEFINITION_KEYWORDS if keyword in self.schema
        }
        try:
            validator, _ = _validator({**alone, "properties": {name: asked}})
            return validator.is_valid({name: argument})
        except ValueError:  # it refers to what was left out
            return True


def _first_few(found: Iterator[str]) -> Iterator[str]:
    for place, problem in enumerate(found):
        if place == MAX_PROBLEMS:
            yield "and more"
            return
        yield problem


def _compile(tool: Tool) -> _SchemaCheck | None:
    schema = dict(tool.spec.input_schema)
    ways = SchemaCost(schema)
    try:
        if ways.size > MAX_OBJECTS or ways.patterns > MAX_PATTERNS:
            raise ValueError(f"it is too large, with {ways.size} objects and {ways.patterns} patterns")
        if ways.entries > MAX_ENTRIES or ways.compiled_parts > MAX_PARTS:
            raise ValueError("its lists are too long, or its patterns too large a regex")
        validator, back_and_forth = _validator(schema)
        return _SchemaCheck(str(tool.id), schema, validator, ways, back_and_forth)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        log.warning("%s: its input schema cannot be checked here: %s", tool.id, _why(error))
        return None


def _why(error: Exception) -> str:
    """On one line: a schema is a server's own words, and must not write lines into the log."""
    if isinstance(error, jsonschema_rs.ValidationError):
        return repr(_problem(error))
    return repr(str(error)[:MAX_PROBLEM_CHARS])


def _validator(schema: JsonObject) -> tuple[jsonschema_rs.Validator, bool]:
    """And whether its patterns are searched back and forth."""
    limits = {"size_limit": _PATTERN_BYTES, "dfa_size_limit": _SEARCH_BYTES}
    try:
        return _validator_with(schema, jsonschema_rs.RegexOptions(**limits)), False
    except jsonschema_rs.ValidationError:
        # Look-arounds need a search that goes back and forth, which is stopped before it takes long.
        return _validator_with(schema, jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000, **limits)), True


def _validator_with(
    schema: JsonObject, patterns: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions
) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        schema,
        retriever=_no_retrieval,
        pattern_options=patterns,
        validate_formats=False,  # a format is a remark; servers read dates and addresses more kindly than it would
        mask="the value",  # a refusal is recorded and shown, so it must not repeat what may be secret
    )


def _no_retrieval(uri: str, /) -> NoReturn:
    raise ValueError(f"{uri!r} is outside the schema, and nothing is fetched for a schema")


def _is_conclusive(error: jsonschema_rs.ValidationError) -> bool:
    """A search that was stopped found nothing out."""
    return not isinstance(error.kind, Kind.BacktrackLimitExceeded | Kind.RegexEngineFailure)


def _problem(error: jsonschema_rs.ValidationError) -> str:
    where = path_text(error.instance_path)
    message = _message(error)
    return f"{where}: {message}" if where else message


def _short(message: str, most: int = MAX_PROBLEM_CHARS) -> str:
    return truncate(message, most)


def _message(error: jsonschema_rs.ValidationError) -> str:
    """Of alternatives, what each of them asked: that none fits helps nobody."""
    match error.kind:
        case Kind.AnyOf(context) | Kind.OneOfNotValid(context):
            branches = [branch[0] for branch in context if branch]
            asked = dict.fromkeys(_path_within(branch, error) for branch in branches)
            message = f"the value fits no alternative: {'; '.join(asked)}"
            # The values of one are named in full, wherever it stands among the others.
            named = max((len(_own_message(each)) for each in branches if isinstance(each.kind, Kind.Enum)), default=0)
            return _short(message, MAX_PROBLEM_CHARS + named)
        case _:
            return _own_message(error)


def _own_message(error: jsonschema_rs.ValidationError) -> str:
    match error.kind:
        case Kind.Enum(options):
            return f"the value is not one of {_choices(options)}"
        case _:
            return _short(error.message)


def _choices(options: Sequence[object]) -> str:
    named = [_short(json.dumps(each, ensure_ascii=False), MAX_CHOICE_CHARS) for each in options[:MAX_CHOICES]]
    if len(options) > MAX_CHOICES:
        return f"{', '.join(named)} and {len(options) - MAX_CHOICES} more"
    return " or ".join(filter(None, (", ".join(named[:-1]), *named[-1:])))


def _path_within(inner: jsonschema_rs.ValidationError, outer: jsonschema_rs.ValidationError) -> str:
    where = path_text(inner.instance_path[len(outer.instance_path) :])
    return f"{where}: {_own_message(inner)}" if where else _own_message(inner)
