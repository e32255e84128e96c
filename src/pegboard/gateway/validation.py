"""Arguments held against a tool's schema: JSON Schema 2020-12, compiled once for each fingerprint."""

import logging
from collections import OrderedDict
from typing import Final, NoReturn

import jsonschema_rs

from pegboard.core.call import Arguments
from pegboard.core.tool import Fingerprint, Tool

REMEMBERED: Final = 20_000
MAX_PROBLEMS: Final = 10
MAX_LENGTH: Final = 300

log = logging.getLogger(__name__)


class Validators:
    """Compiles lazily, because most tools of a large board are never called."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[Fingerprint, jsonschema_rs.Validator | None] = OrderedDict()

    def problems(self, tool: Tool, arguments: Arguments) -> tuple[str, ...]:
        validator = self._validator(tool)
        if validator is None or validator.is_valid(arguments):
            return ()
        found: list[str] = []
        for error in validator.iter_errors(arguments):
            if len(found) == MAX_PROBLEMS:
                found.append("and more")
                break
            found.append(_problem(error))
        return tuple(found)

    def _validator(self, tool: Tool) -> jsonschema_rs.Validator | None:
        key = tool.spec.fingerprint
        if key in self._compiled:
            self._compiled.move_to_end(key)
            return self._compiled[key]
        compiled = _compile(tool)
        self._compiled[key] = compiled
        while len(self._compiled) > REMEMBERED:
            self._compiled.popitem(last=False)
        return compiled


def _compile(tool: Tool) -> jsonschema_rs.Validator | None:
    """A schema that cannot be compiled checks nothing here: the tool's own server still checks its arguments."""
    try:
        return jsonschema_rs.validator_for(
            dict(tool.spec.input_schema),
            retriever=_no_retrieval,
            pattern_options=jsonschema_rs.RegexOptions(),  # linear time, whatever pattern a server sends
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        log.warning("%s: its input schema cannot be checked here: %s", tool.id, str(error)[:MAX_LENGTH])
        return None


def _no_retrieval(uri: str, /) -> NoReturn:
    raise ValueError(f"{uri!r} is outside the schema, and nothing is fetched for a schema")


def _problem(error: "jsonschema_rs.ValidationError") -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path).lstrip(".")
    message = error.message if len(error.message) <= MAX_LENGTH else error.message[:MAX_LENGTH] + "…"
    return f"{where}: {message}" if where else message
