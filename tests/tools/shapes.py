"""Types that people write in the annotations of their tools."""

from dataclasses import dataclass, field
from datetime import date
from enum import Enum, IntEnum
from typing import NotRequired, TypedDict

from pydantic import BaseModel


class Unit(Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Place:
    """Somewhere on earth."""

    city: str
    country: str = "NO"


class Forecast(BaseModel):
    day: date
    high: float
    title: str = "Forecast"


class Options(TypedDict):
    verbose: bool
    depth: NotRequired[int]


@dataclass
class Trip:
    stops: list[Place]
    options: dict[str, int] = field(default_factory=dict)


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Branch(TypedDict):
    """Part of a tree."""

    name: str
    place: NotRequired["Spot"]
    branches: list["Branch"]


class Spot(TypedDict):
    x: int
    on: NotRequired[Branch]
