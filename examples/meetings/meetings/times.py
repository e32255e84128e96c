"""Tools about the same moment in several places."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

Zone = Annotated[str, "A time zone such as Europe/Berlin."]
Day = Literal["same day", "day before", "day after"]


@dataclass
class LocalTime:
    zone: str
    time: str
    day: Day


def local_times(at: datetime, zone: Zone, others: list[Zone]) -> list[LocalTime]:
    """What time it is elsewhere.

    Args:
        at: The moment, in the first zone.
        zone: Where the moment is told.
        others: Where it is asked for.
    """
    moment = at.replace(tzinfo=_zone(zone))
    return [_told(moment, moment.astimezone(_zone(each)), each) for each in others]


def common_hours(
    zones: list[Zone], on: date, first: Annotated[int, "Nobody begins earlier."] = 9, last: int = 17
) -> list[str]:
    """The hours, in the first zone, at which it is working time in all of them.

    Args:
        zones: Where those who meet are.
        on: The day, in the first zone.
        last: Nobody ends later.
    """
    start = datetime.combine(on, time(), _zone(zones[0]))
    hours = (start + timedelta(hours=hour) for hour in range(24))
    return [
        f"{hour:%H:%M}" for hour in hours if all(first <= hour.astimezone(_zone(each)).hour < last for each in zones)
    ]


def _told(moment: datetime, there: datetime, zone: str) -> LocalTime:
    days: dict[int, Day] = {-1: "day before", 0: "same day", 1: "day after"}
    return LocalTime(zone, f"{there:%H:%M}", days[(there.date() - moment.date()).days])


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"There is no time zone {name!r}. Write one such as Europe/Berlin.") from None
