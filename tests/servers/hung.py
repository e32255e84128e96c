"""A server that reads everything and answers nothing; it ends when its standard input closes.

python tests/servers/hung.py                        hangs from the first request on
python tests/servers/hung.py --after-initialize     opens and lists its tool `wait` properly, then hangs on the call
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire


def main() -> None:
    answers: dict[str, wire.Answer] = {}
    if "--after-initialize" in sys.argv[1:]:
        answers = wire.opening("hung") | {"tools/list": wire.lists([wire.tool("wait", "Never returns.")])}
    for request in wire.messages():
        if request.get("method") in answers:
            wire.write(wire.answer(request, answers))


if __name__ == "__main__":
    main()
