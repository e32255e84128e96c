"""The tools of the toolset `people`."""

from typing import Final

from pegboard.core.tool import JsonObject

from .api import Answer, Api
from .asking import path
from .checking import Number, Shape, Text, some
from .choices import PERSON_FIELDS, SORT_ORDERS
from .shapes import PEOPLE
from .tool import COUNT, DocSpaceTool, fields, filters, told


async def _all(api: Api, given: JsonObject) -> Answer:
    return await told("Getting people.", api.get(path("people", "filter"), PEOPLE, filters(given)))


PEOPLE_TOOLS: Final = (
    DocSpaceTool(
        "get_all_people",
        "Get all people.",
        Shape(
            {
                "filters": Shape(
                    {
                        "count": COUNT,
                        **some(
                            startIndex=Number("The place of the first user, counted from 0."),
                            sortBy=Text("What to sort by, such as displayname."),
                            sortOrder=Number("The order.", choices=SORT_ORDERS),
                            filterSeparator=Text("What stands between the words of filterValue."),
                            filterValue=Text("What to look for in names and addresses."),
                        ),
                        "fields": fields(PERSON_FIELDS),
                    },
                    "Which users to answer with, and what of them.",
                )
            }
        ),
        _all,
        reads=True,
        answers=PEOPLE,
    ),
)
