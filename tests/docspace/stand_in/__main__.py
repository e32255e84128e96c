"""The stand-in by itself, until it is interrupted: `python -m tests.docspace.stand_in [--port N]`."""

import argparse
import contextlib

import anyio

from . import ADA_KEY, BOB_KEY, PASSWORD, PAT, USERNAME, stand_in


async def serve(port: int) -> None:
    async with stand_in(port=port) as docspace:
        print(
            f"A DocSpace stand-in listens at {docspace.url}\n"
            f"  API keys   {ADA_KEY}, {BOB_KEY} (each has a world of its own)\n"
            f"  token      {PAT}\n"
            f"  user       {USERNAME} with the password {PASSWORD}\n"
            f"Try: DOCSPACE_BASE_URL={docspace.url} DOCSPACE_API_KEY={ADA_KEY} pegboard docspace check",
            flush=True,
        )
        await anyio.sleep_forever()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.docspace.stand_in", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 for a free one (default)")
    with contextlib.suppress(KeyboardInterrupt):
        anyio.run(serve, parser.parse_args().port)


main()
