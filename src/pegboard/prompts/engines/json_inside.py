"""Calls as JSON where a format writes something else: some models do, so it is read, and told as a repair."""

import json
from typing import ClassVar

from pegboard.prompts.repair import RepairedJson, UnrepairableJson, read_json

from .envelope import read_envelope
from .json_value import ValueScanner, parse_arguments


class JsonFallbackScanner(ValueScanner):
    """Engines go to `begin_value` where JSON begins, and on from `behind_json`."""

    expected_syntax: ClassVar[str]
    """What the format writes."""
    correction: ClassVar[str]
    """For the model: how to write it."""

    def on_value_end(self, raw: str, value: RepairedJson | None) -> None:
        found = value or self.parse_value(raw)
        if self.call_is_open:
            self.on_arguments_end(raw, found)
            return
        calls = found.why if isinstance(found, UnrepairableJson) else read_envelope(found.value)
        if isinstance(calls, str):
            self.break_call(f"The call was not made: {calls}. {self.correction}.")
            return
        repairs = () if isinstance(found, UnrepairableJson) else found.repairs
        for call in calls:
            said = json.dumps(call.arguments, ensure_ascii=False)
            self.start_call(call.name)
            self.emit_arguments(said)
            instead = f"the call was written as JSON, not as {self.expected_syntax}"
            for repair in (instead, *self.json_repairs(), *repairs, *call.repairs):
                self.add_repair(repair)
            self.complete_call(call.arguments, said)
        self.state = self.after_json

    def on_arguments_end(self, raw: str, found: RepairedJson | UnrepairableJson) -> None:
        """The name was written as the format has it, and the arguments as one object."""
        arguments = found.why if isinstance(found, UnrepairableJson) else parse_arguments(found.value)
        if isinstance(arguments, str):
            self.break_call(f"The call was not made: {arguments}. {self.correction}.")
            return
        repairs = () if isinstance(found, UnrepairableJson) else found.repairs
        for repair in (f"the arguments were written as JSON, not as {self.expected_syntax}", *repairs, *arguments[1]):
            self.add_repair(repair)
        self.complete_call(arguments[0], raw)
        self.state = self.after_json

    def on_unclosed(self, place: int) -> int:
        """An end marker stands where the value goes on: it is whole but for brackets at its end, or no JSON."""
        raw = "".join(self.parts)
        found = read_json(raw, whole=True) if self.depth else UnrepairableJson("it is no JSON")
        if isinstance(found, UnrepairableJson):
            return self.on_no_json(place)
        self.parts, self.depth = [], 0
        self.on_value_end(raw, found)
        return place

    def on_no_json(self, place: int) -> int:
        raise NotImplementedError

    def json_repairs(self) -> tuple[str, ...]:
        """What else was repaired around the JSON."""
        return ()

    def after_json(self, text: str, place: int, end: int) -> int:
        self.state = self.after_call
        return place
