"""Calls as JSON where a format writes something else: some models do, so it is read, and told as a repair."""

import json
from typing import ClassVar

from pegboard.prompts.repair import Read, Refused

from .envelope import wanted
from .json_value import ValueScanner, as_arguments


class JsonInside(ValueScanner):
    """Engines go to `begin_value` where JSON begins, and on from `behind_json`."""

    instead_of: ClassVar[str]
    """What the format writes."""
    right: ClassVar[str]
    """For the model: how to write it."""

    def value_ended(self, raw: str, value: Read | None) -> None:
        read = value or self.load(raw)
        if self.call_is_open:
            self.arguments_ended(raw, read)
            return
        calls = read.why if isinstance(read, Refused) else wanted(read.value)
        if isinstance(calls, str):
            self.broken(f"The call was not made: {calls}. {self.right}.")
            return
        repairs = () if isinstance(read, Refused) else read.repairs
        for call in calls:
            said = json.dumps(call.arguments, ensure_ascii=False)
            self.start(call.name)
            self.argue(said)
            for repair in (f"the call was written as JSON, not as {self.instead_of}", *repairs, *call.repairs):
                self.repaired(repair)
            self.done(call.arguments, said)
        self.state = self.behind_json

    def arguments_ended(self, raw: str, read: Read | Refused) -> None:
        """The name was written as the format has it, and the arguments as one object."""
        arguments = read.why if isinstance(read, Refused) else as_arguments(read.value)
        if isinstance(arguments, str):
            self.broken(f"The call was not made: {arguments}. {self.right}.")
            return
        repairs = () if isinstance(read, Refused) else read.repairs
        for repair in (f"the arguments were written as JSON, not as {self.instead_of}", *repairs, *arguments[1]):
            self.repaired(repair)
        self.done(arguments[0], raw)
        self.state = self.behind_json

    def behind_json(self, text: str, place: int, end: int) -> int:
        self.state = self.after
        return place
