"""Calls as JSON where a format writes something else: some models do, so it is read, and told as a repair."""

import json
from typing import ClassVar

from pegboard.prompts.repair import Read, Refused, read

from .envelope import wanted
from .json_value import ValueScanner, as_arguments


class JsonInside(ValueScanner):
    """Engines go to `begin_value` where JSON begins, and on from `behind_json`."""

    instead_of: ClassVar[str]
    """What the format writes."""
    right: ClassVar[str]
    """For the model: how to write it."""

    def value_ended(self, raw: str, value: Read | None) -> None:
        found = value or self.load(raw)
        if self.call_is_open:
            self.arguments_ended(raw, found)
            return
        calls = found.why if isinstance(found, Refused) else wanted(found.value)
        if isinstance(calls, str):
            self.broken(f"The call was not made: {calls}. {self.right}.")
            return
        repairs = () if isinstance(found, Refused) else found.repairs
        for call in calls:
            said = json.dumps(call.arguments, ensure_ascii=False)
            self.start(call.name)
            self.argue(said)
            instead = f"the call was written as JSON, not as {self.instead_of}"
            for repair in (instead, *self.json_repairs(), *repairs, *call.repairs):
                self.repaired(repair)
            self.done(call.arguments, said)
        self.state = self.behind_json

    def arguments_ended(self, raw: str, found: Read | Refused) -> None:
        """The name was written as the format has it, and the arguments as one object."""
        arguments = found.why if isinstance(found, Refused) else as_arguments(found.value)
        if isinstance(arguments, str):
            self.broken(f"The call was not made: {arguments}. {self.right}.")
            return
        repairs = () if isinstance(found, Refused) else found.repairs
        for repair in (f"the arguments were written as JSON, not as {self.instead_of}", *repairs, *arguments[1]):
            self.repaired(repair)
        self.done(arguments[0], raw)
        self.state = self.behind_json

    def unclosed(self, place: int) -> int:
        """An end marker stands where the value goes on: it is whole but for brackets at its end, or no JSON."""
        raw = "".join(self.parts)
        found = read(raw, whole=True) if self.depth else Refused("it is no JSON")
        if isinstance(found, Refused):
            return self.no_json(place)
        self.parts, self.depth = [], 0
        self.value_ended(raw, found)
        return place

    def no_json(self, place: int) -> int:
        raise NotImplementedError

    def json_repairs(self) -> tuple[str, ...]:
        """What else was repaired around the JSON."""
        return ()

    def behind_json(self, text: str, place: int, end: int) -> int:
        self.state = self.after
        return place
