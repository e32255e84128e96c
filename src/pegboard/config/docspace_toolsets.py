"""The toolsets of an ONLYOFFICE DocSpace as settings know them, and what to do about settings that cannot be used."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pegboard.core.model.ids import ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.web_api import ApiMisconfiguration

KIND: Final = "docspace"
TITLE: Final = "DocSpace"

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


_REMEDIES: Final = {
    "No tools left": "Select one tool or more: toolsets, enabled_tools and disabled_tools (DOCSPACE_TOOLSETS, …).",
    "No password": "Say the password that goes with the user name: password (DOCSPACE_PASSWORD).",
    "No username": "Say the user name that goes with the password: username (DOCSPACE_USERNAME).",
    "No API base URL": "Say where DocSpace is: base_url (DOCSPACE_BASE_URL), such as https://example.onlyoffice.com",
    "No authentication method": (
        "Say one of api_key, auth_token, username with password, or authorization (DOCSPACE_API_KEY, …); or let each "
        "caller over HTTP bring its own: request_credentials."
    ),
    "Multiple authentication methods": (
        "Keep one of api_key, auth_token, username with password, and authorization (DOCSPACE_API_KEY, …)."
    ),
}


def misconfiguration_remedies(wrong: ApiMisconfiguration) -> tuple[str, ...]:
    """What to do about each thing that is wrong, where its own words do not say so."""
    return tuple(_REMEDIES[line] for line in wrong.why.splitlines() if line in _REMEDIES)
