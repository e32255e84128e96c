"""What a tool returned, in words: text as text, everything else as what it is and how much of it."""

import json
from typing import Any


def result_text(result: dict[str, Any]) -> str:
    content = result.get("content")
    parts = [_block_text(block) for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if not parts and "structuredContent" in result:
        parts = [json.dumps(result["structuredContent"], indent=2, ensure_ascii=False)]
    return "\n".join(parts)


def _block_text(block: dict[str, Any]) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource", "resource": {"uri": str(uri)} as resource}:
            return f"[{resource.get('mimeType', 'bytes')} at {uri}; with --json you get it]"
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[{block.get('title') or block.get('name') or 'resource'}: {uri}]"
        case {"type": str(kind), "data": str(base64)}:
            size = len(base64) * 3 // 4
            return f"[{block.get('mimeType', kind)}, about {size:,} bytes; with --json you get it]"
        case _:
            return f"[{block.get('type', 'unknown')} content; with --json you get it]"
