"""The sandboxes that benchmarks compare, by the names that people choose, and the tools that programs find there."""

from collections.abc import Callable, Mapping
from typing import Final

from pegboard.core.json.values import Json
from pegboard.ports.sandbox import CallFailure, HostReply, ProgramHost, Sandbox, SandboxFunction
from pegboard.providers.sandbox.jail.sandbox import FullSandbox
from pegboard.providers.sandbox.monty.sandbox import MontySandbox

MODES: Final[Mapping[str, Callable[[], Sandbox]]] = {"monty": MontySandbox, "full": FullSandbox}

_USERS: Final[tuple[tuple[int, str, int, str], ...]] = (
    (1, "Ada", 36, "R&D"),
    (2, "Bob", 41, "Ops"),
    (3, "Cy", 29, "R&D"),
)
_STATUSES: Final = ("paid", "shipped", "open")


def _user(number: int) -> Json:
    for id, name, age, dept in _USERS:
        if id == number:
            return {"id": id, "name": name, "age": age, "dept": dept}
    return None


def _orders(user: int) -> Json:
    return [
        {"order_id": user * 100 + count, "status": _STATUSES[(count - 1) % 3], "total": 10.5 * count + user}
        for count in range(1, 5)
    ]


FUNCTIONS: Final = (
    SandboxFunction("", "list_users"),
    SandboxFunction("", "get_user", parameters=("user_id",)),
    SandboxFunction("", "list_orders", parameters=("user_id",)),
    SandboxFunction("", "echo", parameters=("value",)),
)


class Tools(ProgramHost):
    """Three people with four orders each, and an echo. Counts how often it is called."""

    def __init__(self) -> None:
        self.calls = 0

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        self.calls += 1
        number = arguments.get("user_id")
        match function.name:
            case "list_users":
                return [_user(id) for id, *_ in _USERS]
            case "get_user" if isinstance(number, int) and (user := _user(number)):
                return user
            case "list_orders" if isinstance(number, int) and _user(number):
                return _orders(number)
            case "echo":
                return arguments.get("value")
            case _:
                return CallFailure("ValueError", f"user {number} not found")

    def on_output(self, text: str) -> None:
        pass
