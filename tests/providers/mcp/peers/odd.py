"""A server that does everything properly but the one thing it is told to get wrong.

--ignore-discover    never answers the first question of the new era
--listen WAY         offers a subscription and hangs on it, ends it at once, refuses it, or keeps it
--deaf               reads nothing more after its tools were listed once
--own-errors         answers what it does not know with an error -32000, and so a call
--result TEXT        answers calls with this result, byte for byte
--refuse WORDS       refuses to open, with these words
--nag                asks and asks after its tools were listed once, and reads no answer
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "servers"))

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def acknowledge(id: object) -> None:
    wire.write(
        {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": {SUBSCRIPTION: id}, "notifications": {"toolsListChanged": True}},
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ignore-discover", action="store_true")
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--nag", action="store_true")
    parser.add_argument("--listen", choices=["hang", "end", "refuse", "keep"])
    parser.add_argument("--own-errors", action="store_true")
    parser.add_argument("--refuse")
    parser.add_argument("--result")
    chosen = parser.parse_args()
    listens = 0
    answers = wire.opening("odd", stateless=not chosen.ignore_discover) | {
        "tools/list": wire.lists([wire.tool("listens")]),
        "tools/call": wire.calls({"listens": lambda arguments: wire.text(str(listens))}),
    }
    for request in wire.messages():
        match request:
            case {"method": "server/discover"} if chosen.ignore_discover:
                continue
            case {"method": "subscriptions/listen", "id": id}:
                listens += 1
                if chosen.listen in ("end", "keep"):
                    acknowledge(id)
                if chosen.listen == "end":
                    wire.write({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete"}})
                if chosen.listen == "refuse":
                    wire.write({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})
                continue
        response = wire.answer(request, answers)
        if response is None:
            continue
        if chosen.own_errors and request["method"] in ("server/discover", "tools/call"):
            response = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": "My own trouble"}}
        if chosen.refuse:
            response = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32001, "message": chosen.refuse}}
        if request["method"] == "server/discover" and chosen.listen and "result" in response:
            response["result"]["capabilities"]["tools"]["listChanged"] = True
        if chosen.result and request["method"] == "tools/call":
            id = json.dumps(request["id"])
            wire.write_bytes(f'{{"jsonrpc":"2.0","id":{id},"result":{chosen.result}}}\n'.encode())
            continue
        wire.write(response)
        if request["method"] == "tools/list" and chosen.deaf:
            time.sleep(600)
        if request["method"] == "tools/list" and chosen.nag:
            for number in range(50_000):
                wire.write({"jsonrpc": "2.0", "id": number, "method": "ping"})
            wire.complain("nagged")
            time.sleep(600)


if __name__ == "__main__":
    main()
