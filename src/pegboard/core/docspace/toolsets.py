"""The toolsets of DocSpace and the names of their tools, known before anything is asked."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pegboard.core.ids import ToolId, ToolsetId, ToolsetKey

TOOLSETS: Final[Mapping[ToolsetId, tuple[str, ...]]] = MappingProxyType(
    {
        ToolsetId("files"): (
            "delete_file",
            "get_file_info",
            "update_file",
            "copy_batch_items",
            "move_batch_items",
            "download_file_as_text",
            "upload_file",
        ),
        ToolsetId("folders"): (
            "create_folder",
            "delete_folder",
            "get_folder_content",
            "get_folder_info",
            "rename_folder",
            "get_my_folder",
        ),
        ToolsetId("people"): ("get_all_people",),
        ToolsetId("rooms"): (
            "create_room",
            "get_room_info",
            "update_room",
            "archive_room",
            "set_room_security",
            "get_room_security_info",
            "get_rooms_folder",
            "get_room_types",
            "get_room_access_levels",
        ),
    }
)

DESCRIPTIONS: Final[Mapping[ToolsetId, str]] = MappingProxyType(
    {
        ToolsetId("files"): "Operations for working with files.",
        ToolsetId("folders"): "Operations for working with folders.",
        ToolsetId("people"): "Operations for working with users.",
        ToolsetId("rooms"): "Operations for working with rooms.",
    }
)


def tool_ids() -> tuple[ToolId, ...]:
    return tuple(ToolId(ToolsetKey(toolset), name) for toolset, names in TOOLSETS.items() for name in names)
