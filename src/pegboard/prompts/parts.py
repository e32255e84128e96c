"""A part of a result in words: for whoever reads text alone, a model or a program."""

from pegboard.core.tool import JsonObject


def describe_part(part: JsonObject) -> str:
    """What is no text is told of: who is not told makes up what it was."""
    match part.get("type"):
        case "text":
            return str(part.get("text", ""))
        case "resource" if isinstance(inner := part.get("resource"), dict):
            text = inner.get("text")
            return text if isinstance(text, str) else f"[a file that is no text: {_part_names(inner)}]"
        case "resource_link":
            return f"[a link: {_part_names(part)}]"
        case kind:
            size = part.get("data")
            about = f", {len(size) * 3 // 4} bytes" if isinstance(size, str) else ""
            return f"[{kind or 'something'} that is not shown here: {part.get('mimeType', 'unknown')}{about}]"


def _part_names(part: JsonObject) -> str:
    return " ".join(str(part[key]) for key in ("uri", "name", "mimeType") if isinstance(part.get(key), str))
