"""Which Python a program gets, for the model that writes it. A test holds the words to the version installed."""

from typing import Final

MODULES: Final = (
    *("asyncio", "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal"),
    *("functools", "hashlib", "itertools", "json", "math", "random", "re", "sys", "time", "tomllib", "typing"),
    "unicodedata",
)

MONTY: Final = f"""\
The program runs in a small Python of its own, without files, network, environment or packages. `await` works at the \
top level, `await asyncio.gather(...)` makes calls at the same time. The value of the last line is the result, as JSON.
Modules: {", ".join(MODULES)}. No others: no statistics, string, enum, io, heapq, operator, textwrap, uuid.
Not supported: class inheritance (so no exceptions of your own, no Enum, no TypedDict), yield, del, property, \
classmethod, staticmethod, async with, async for, except*, import *, gather(return_exceptions=...), create_task, \
wait_for, re.sub with a function, next() of a generator expression, json.dumps(default=...), asdict, dir, callable, \
vars, globals."""
