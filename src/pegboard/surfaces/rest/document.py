"""`python -m pegboard.surfaces.rest.document` prints the OpenAPI document. No gateway runs for it."""

import json
import sys
from functools import cache
from typing import Any, NoReturn, cast

from pegboard.gateway.gateway import Gateway
from pegboard.ports import SignIns

from .answers import with_response_models
from .app import build_api
from .openapi import describe_api
from .settings import RuntimeInfo


class _GatewayStub:
    """Stands where routes keep what they will ask later: nothing is asked of it."""

    def __getattr__(self, name: str) -> "_GatewayStub":
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def _no_sign_ins() -> NoReturn:
    raise LookupError("Nobody signs in to a document.")


@cache
def document() -> dict[str, Any]:
    """Of every gateway: none has routes of its own."""
    about = RuntimeInfo(None, "", None, "")
    with with_response_models():
        return describe_api(build_api(cast(Gateway, _GatewayStub()), about, cast("type[SignIns]", _no_sign_ins)))


def main() -> None:
    json.dump(document(), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
