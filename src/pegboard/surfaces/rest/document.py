"""`python -m pegboard.surfaces.rest.document` prints the OpenAPI document. No gateway runs for it."""

import json
import sys
from functools import cache
from typing import Any, NoReturn, cast

from pegboard.gateway.gateway import Gateway
from pegboard.ports import SignIns

from .answers import describing
from .app import routed
from .openapi import described
from .settings import About


class _Nothing:
    """Stands where routes keep what they will ask later: nothing is asked of it."""

    def __getattr__(self, name: str) -> "_Nothing":
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def _nobody() -> NoReturn:
    raise LookupError("Nobody signs in to a document.")


@cache
def document() -> dict[str, Any]:
    """Of every gateway: none has routes of its own."""
    about = About(None, "", None, "")
    with describing():
        return described(routed(cast(Gateway, _Nothing()), about, cast("type[SignIns]", _nobody)))


def main() -> None:
    json.dump(document(), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
