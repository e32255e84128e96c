"""What a request is answered with in place of a result."""

from pegboard.core.tool import Json


class ProtocolError(Exception):
    """An error of JSON-RPC. The SDK has its own, which needs the SDK's models; it is made of this one where needed."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
