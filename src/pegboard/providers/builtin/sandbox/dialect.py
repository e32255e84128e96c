"""Which Python a program gets, for the model that writes it. A test holds the words to the version installed."""

from collections.abc import Mapping
from typing import Final

MODULES: Final = (
    *("asyncio", "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal"),
    *("functools", "hashlib", "itertools", "json", "math", "random", "re", "sys", "time", "tomllib", "typing"),
    "unicodedata",
)
PARTIAL_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "asyncio": ("gather", "run", "sleep"),
    "collections": ("Counter", "defaultdict", "deque", "namedtuple"),
    "functools": ("cache", "lru_cache", "partial", "reduce"),
}
"""All there is of modules of which there is little."""

BUILTINS_UNKNOWN_TO_CHECKER: Final = frozenset({"filter", "format", "getattr", "hasattr", "map", "setattr"})
"""Functions that every program has, and that the type check has not heard of."""

_MODULE_LIST: Final = ", ".join(
    f"{module} ({', '.join(PARTIAL_MODULES[module])})" if module in PARTIAL_MODULES else module for module in MODULES
)
MONTY_DIALECT: Final = f"""\
The program runs in a small Python of its own, without files, network, environment or packages. `await` works at the \
top level, `await asyncio.gather(...)` makes calls at the same time. The value of the last line is the result, as JSON.
Modules: {_MODULE_LIST}. No others: no statistics, string, enum, io, heapq, operator, textwrap, uuid.
Not supported: class inheritance (so no exceptions of your own, no Enum, no TypedDict), yield, del, property, \
classmethod, staticmethod, async with, async for, except*, import *, gather(return_exceptions=...), create_task, \
wait_for, re.sub with a function, next() of a generator expression, json.dumps(default=...), asdict, OrderedDict, \
a method as a value (key=str.lower: write a lambda), int.from_bytes, bytes of a list, exceptions of anything but one \
text, dir, callable, vars, globals, hasattr and getattr of a method, __len__, __bool__, __lt__ and the like of a \
class, dataclass(order=...), fromtimestamp, isocalendar, timedelta of fractions, IOError (write OSError)."""
