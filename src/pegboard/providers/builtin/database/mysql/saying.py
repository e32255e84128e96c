"""What a MySQL or MariaDB server says of a failure."""

import re
from typing import Final

from pegboard.core.database import Access, Failed, Fault
from pegboard.providers.builtin.database.unreadable import DENIED, REFERRED, REFERS, TWICE

_FAULTS: Final = {
    1064: Fault.SYNTAX,
    1146: Fault.NO_TABLE,
    1049: Fault.NO_TABLE,
    1054: Fault.NO_COLUMN,
    1305: Fault.NO_FUNCTION,
    1317: Fault.TIME,
    1969: Fault.TIME,
    3024: Fault.TIME,
    1205: Fault.BUSY,
    1213: Fault.BUSY,
    1037: Fault.MEMORY,
    1038: Fault.MEMORY,
    1041: Fault.MEMORY,
    2006: Fault.AWAY,
    2013: Fault.AWAY,
}
_DISCREET: Final = {
    1062: TWICE,
    1216: REFERS,
    1452: REFERS,
    1217: REFERRED,
    1451: REFERRED,
    1356: "A view of the statement reads what the user of this source may not.",
}
_NAME: Final = re.compile(r"(?:Unknown column|Table|FUNCTION|Unknown database) '?(?P<name>[^'\s]+)'?")


def failed(error: BaseException, access: Access) -> Failed:
    number = error.args[0] if error.args and isinstance(error.args[0], int) else None
    words = str(error.args[1] if len(error.args) > 1 else error)
    fault = _FAULTS.get(number, Fault.OTHER) if number is not None else Fault.AWAY
    if number in {1044, 1142, 1143}:
        return Failed(DENIED, None, fault)
    if not access.is_whole and number in _DISCREET:
        # The server's own words name keys, constraints and tables that the statement did not.
        return Failed(_DISCREET[number], None, fault)
    named = _NAME.search(words) if fault in {Fault.NO_TABLE, Fault.NO_COLUMN, Fault.NO_FUNCTION} else None
    return Failed(words, None, fault, named["name"].split(".")[-1] if named else None)
