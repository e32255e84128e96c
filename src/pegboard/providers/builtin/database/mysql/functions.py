"""Which functions a statement may call: the built-in ones that only compute. A server's own functions, its files,
locks and pauses are not among them, and neither is a function that somebody stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.providers.builtin.database.names import names

from .words import Unreadable, Word

_ALWAYS: Final = names(
    """
    ABS ACOS ADDDATE ADDTIME AES_DECRYPT AES_ENCRYPT ASCII ASIN ATAN ATAN2 AVG BIN BINARY BIT_AND BIT_COUNT
    BIT_LENGTH BIT_OR BIT_XOR CAST CEIL CEILING CHAR CHARACTER_LENGTH CHARSET CHAR_LENGTH COALESCE COERCIBILITY
    COLLATION COMPRESS CONCAT CONCAT_WS CONNECTION_ID CONV CONVERT CONVERT_TZ COS COT COUNT CRC32 CURDATE
    CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURTIME DATABASE DATE DATEDIFF DATE_ADD DATE_FORMAT
    DATE_SUB DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DECIMAL DEFAULT DEGREES ELT EXP EXPORT_SET EXTRACT
    EXTRACTVALUE FIELD FIND_IN_SET FLOOR FORMAT FROM_BASE64 FROM_DAYS FROM_UNIXTIME GET_FORMAT GREATEST
    GROUP_CONCAT HEX HOUR IF IFNULL INET6_ATON INET6_NTOA INET_ATON INET_NTOA INSERT INSTR INTERVAL ISNULL IS_IPV4
    IS_IPV4_COMPAT IS_IPV4_MAPPED IS_IPV6 JSON_ARRAY JSON_ARRAY_APPEND JSON_ARRAY_INSERT JSON_CONTAINS
    JSON_CONTAINS_PATH JSON_DEPTH JSON_EXTRACT JSON_INSERT JSON_KEYS JSON_LENGTH JSON_OBJECT JSON_QUOTE JSON_REMOVE
    JSON_REPLACE JSON_SEARCH JSON_SET JSON_TYPE JSON_UNQUOTE JSON_VALID LAST_DAY LCASE LEAST LEFT LENGTH LN
    LOCALTIME LOCALTIMESTAMP LOCATE LOG LOG10 LOG2 LOWER LPAD LTRIM MAKEDATE MAKETIME MAKE_SET MATCH MAX MBRCONTAINS
    MBRINTERSECTS MBRWITHIN MD5 MICROSECOND MID MIN MINUTE MOD MONTH MONTHNAME NOW NULLIF OCT OCTET_LENGTH ORD
    PERIOD_ADD PERIOD_DIFF PI POSITION POW POWER QUARTER QUOTE RADIANS RAND REPEAT REPLACE REVERSE RIGHT ROUND ROW
    RPAD RTRIM SCHEMA SECOND SEC_TO_TIME SESSION_USER SHA SHA1 SHA2 SIGN SIN SOUNDEX SPACE SQRT STD STDDEV
    STDDEV_POP STDDEV_SAMP STRCMP STR_TO_DATE ST_AREA ST_ASBINARY ST_ASTEXT ST_ASWKB ST_ASWKT ST_BUFFER ST_CENTROID
    ST_CONTAINS ST_CONVEXHULL ST_CROSSES ST_DIFFERENCE ST_DIMENSION ST_DISJOINT ST_DISTANCE ST_ENDPOINT ST_ENVELOPE
    ST_EQUALS ST_EXTERIORRING ST_GEOMETRYN ST_GEOMETRYTYPE ST_GEOMFROMTEXT ST_GEOMFROMWKB ST_INTERSECTION
    ST_INTERSECTS ST_ISCLOSED ST_ISEMPTY ST_ISSIMPLE ST_LENGTH ST_NUMGEOMETRIES ST_NUMPOINTS ST_OVERLAPS
    ST_POINTFROMTEXT ST_POINTN ST_POLYFROMTEXT ST_SRID ST_STARTPOINT ST_SYMDIFFERENCE ST_TOUCHES ST_UNION ST_WITHIN
    ST_X ST_Y SUBDATE SUBSTR SUBSTRING SUBSTRING_INDEX SUBTIME SUM SYSDATE SYSTEM_USER TAN TIME TIMEDIFF TIMESTAMP
    TIMESTAMPADD TIMESTAMPDIFF TIME_FORMAT TIME_TO_SEC TO_BASE64 TO_DAYS TO_SECONDS TRIM TRUNCATE UCASE UNCOMPRESS
    UNCOMPRESSED_LENGTH UNHEX UNIX_TIMESTAMP UPDATEXML UPPER USER UTC_DATE UTC_TIME UTC_TIMESTAMP UUID VALUES
    VARIANCE VAR_POP VAR_SAMP VERSION WEEK WEEKDAY WEEKOFYEAR WEIGHT_STRING YEAR YEARWEEK
    """
)
"""Built in since long ago, on both servers. No function that somebody stored is called by such a name with a bracket
right behind it. FOUND_ROWS and ROW_COUNT tell of the statement before, which may be another caller's."""

_NEWER: Final = names(
    """
    CUME_DIST CURRENT_ROLE DENSE_RANK FIRST_VALUE GEOMETRYCOLLECTION JSON_ARRAYAGG JSON_MERGE JSON_MERGE_PATCH
    JSON_MERGE_PRESERVE JSON_OBJECTAGG JSON_OVERLAPS JSON_PRETTY JSON_SCHEMA_VALID JSON_TABLE JSON_VALUE LAG
    LAST_VALUE LEAD LINESTRING MULTILINESTRING MULTIPOINT MULTIPOLYGON NTH_VALUE NTILE PERCENT_RANK POINT POLYGON
    RANDOM_BYTES RANK REGEXP_INSTR REGEXP_REPLACE REGEXP_SUBSTR ROW_NUMBER ST_ASGEOJSON ST_DISTANCE_SPHERE
    ST_GEOMFROMGEOJSON ST_ISVALID ST_SIMPLIFY
    """
)
"""Built into both servers as they are today. On an older one, or without arguments (POLYGON()), such a name is free."""

_MARIADB: Final = names(
    """
    ADD_MONTHS CHR CRC32C GEOMFROMTEXT JSON_COMPACT JSON_DETAILED JSON_EQUALS JSON_EXISTS JSON_LOOSE JSON_NORMALIZE
    JSON_QUERY LENGTHB MEDIAN NATURAL_SORT_KEY NVL NVL2 PERCENTILE_CONT PERCENTILE_DISC TO_CHAR VALUE
    """
)
"""Built into MariaDB; on MySQL such a name is free."""

_MYSQL: Final = names(
    """
    ANY_VALUE BIN_TO_UUID FORMAT_BYTES FORMAT_PICO_TIME GEOMCOLLECTION GROUPING IS_UUID JSON_STORAGE_SIZE
    REGEXP_LIKE ST_LATITUDE ST_LONGITUDE ST_TRANSFORM UUID_TO_BIN
    """
)
"""Built into MySQL; on MariaDB such a name is free."""

_RESERVED: Final = names(
    """
    ALL AND AS BETWEEN BIGINT BLOB BY CASE CHARACTER DEC DISTINCT DIV DOUBLE ELSE EXISTS FLOAT FORCE FROM GROUP HAVING
    IGNORE IN INDEX INT INTEGER IS JOIN KEY LIKE LIMIT MEDIUMINT NOT NUMERIC ON OR ORDER PARTITION REAL REGEXP RLIKE
    SELECT SEPARATOR SET SMALLINT STRAIGHT_JOIN THEN TINYINT UNION USE USING VALUES VARBINARY VARCHAR WHEN WHERE WITH
    XOR
    """
)
"""What may stand before a bracket and calls nothing: words of the language, and types (`varchar(20)` in JSON_TABLE)."""

_FREE: Final = names(
    """
    AGAINST ANY BIT COLUMNS DATETIME ENUM ESCAPE EXCEPT FULL INTERSECT LATERAL MEMBER NESTED OF OFFSET OVER PATH ROLLUP
    SOME TEXT WINDOW
    """
)
"""The same, but nothing keeps anyone from giving a function that name."""

_COMPUTING: Final = _ALWAYS | _NEWER | _MARIADB | _MYSQL


@dataclass(frozen=True)
class Call:
    """A name with a bracket behind it that the server itself may or may not have a function for."""

    name: str
    is_mysqls: bool
    is_mariadbs: bool


def calls(words: Sequence[Word], *, target: bool = False) -> tuple[Call, ...] | Unreadable:
    """Those of which the server must be asked; or the first of what is on no list. With `target`, columns stand
    behind the table of an INSERT."""
    found = {}
    for place, word in enumerate(words[:-1]):
        bracket = words[place + 1]
        if bracket.text != "(" or word.kind not in {"name", "quoted"}:
            continue
        before = words[place - 1] if place else None
        if before is not None and before.text == ".":
            if target and _into(words, place):
                continue
            return unlisted(word.name)
        # A type (CAST … AS CHAR(3)), a table that is given column names, or what WITH defines.
        if before is not None and (before.upper == "AS" or before.text == ")"):
            continue
        if _defines(words, place + 1) or (target and _into(words, place)):
            continue
        name = word.text.upper()
        if word.kind == "quoted" or name not in _COMPUTING | _RESERVED | _FREE:
            return unlisted(word.name)
        # With a blank before the bracket, even COUNT is a name like any other.
        if name not in _RESERVED and (name not in _ALWAYS or bracket.start != word.end):
            found[name] = Call(name, name not in _MARIADB, name not in _MYSQL)
    return tuple(found.values())


def unlisted(name: str) -> Unreadable:
    return Unreadable(
        f"{name}() is not on the list of built-in functions that only compute.",
        "Use one of MySQL and MariaDB that computes from its arguments alone, or write the statement without it.",
    )


def _defines(words: Sequence[Word], bracket: int) -> bool:
    """`name (columns) AS (`, as in WITH and WINDOW."""
    depth = 0
    for place in range(bracket, len(words)):
        depth += {"(": 1, ")": -1}.get(words[place].text, 0)
        if depth == 0:
            behind = [word.text.upper() for word in words[place + 1 : place + 3]]
            return behind == ["AS", "("]
    return False


def _into(words: Sequence[Word], place: int) -> bool:
    while place >= 2 and words[place - 1].text == ".":
        place -= 2
    return place > 0 and words[place - 1].upper == "INTO"
