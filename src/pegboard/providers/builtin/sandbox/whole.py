"""Answers on their way into a sandbox, without halves of characters: JSON can hold one, and nothing else can."""

import json

import msgspec

from pegboard.core.tool import Json


def replace_lone_surrogates(answer: Json) -> Json:
    """With U+FFFD in the place of each, as of all that cannot be shown."""
    try:
        msgspec.json.encode(answer)
    except UnicodeEncodeError:
        text = json.dumps(answer, ensure_ascii=False)
        mended: Json = json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
        return mended
    except (OverflowError, RecursionError):
        # Integers of any size and lists of any depth are no trouble.
        pass
    return answer
