"""The tools of the toolset `people`."""

from typing import Final

from pegboard.core.tool import JsonObject

from .api import DocSpaceAnswer, DocSpaceApi
from .asking import api_path
from .checking import NumberType, ObjectType, TextType, optional_members
from .choices import PERSON_FIELDS, SORT_ORDERS
from .shapes import PEOPLE
from .tool import COUNT_ARGUMENT, DocSpaceTool, fields_argument, filters_of, run_step


async def _list_people(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    return await run_step("Getting people.", api.get(api_path("people", "filter"), PEOPLE, filters_of(given)))


PEOPLE_TOOLS: Final = (
    DocSpaceTool(
        "get_all_people",
        "Get all people.",
        ObjectType(
            {
                "filters": ObjectType(
                    {
                        "count": COUNT_ARGUMENT,
                        **optional_members(
                            startIndex=NumberType("The place of the first user, counted from 0."),
                            sortBy=TextType("What to sort by, such as displayname."),
                            sortOrder=NumberType("The order.", choices=SORT_ORDERS),
                            filterSeparator=TextType("What stands between the words of filterValue."),
                            filterValue=TextType("What to look for in names and addresses."),
                        ),
                        "fields": fields_argument(PERSON_FIELDS),
                    },
                    "Which users to answer with, and what of them.",
                )
            }
        ),
        _list_people,
        is_read_only=True,
        response_type=PEOPLE,
    ),
)
