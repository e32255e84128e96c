"""What a word does in an order to a model."""

from enum import IntFlag, auto


class WordSense(IntFlag):
    YOU = auto()
    """Speaks to the reader."""
    MODEL = auto()
    """Names the model."""
    USER = auto()
    THEM = auto()
    """Somebody who is not the reader and has no name."""
    RULES = auto()
    VOID = auto()
    """Sets something aside."""
    ABOVE = auto()
    """Puts something above something."""
    PRIOR = auto()
    """Was there, said or done before."""
    SECRECY = auto()
    """Keeps quiet."""
    HIDE = auto()
    """Keeps from sight; ordinary tools hide things too."""
    SAY = auto()
    AWARE = auto()
    """Learns of something."""
    NOT = auto()
    SKIP = auto()
    """Leaves a step out."""
    MUST = auto()
    """Allows no exception."""
    FIRST = auto()
    """Puts something in an order of turns."""
    STANDING = auto()
    """Holds from here on."""
    ROLE = auto()
    """Says who the reader is, or what for."""
    TURN = auto()
    """What a model does beside calling tools: it answers, it talks."""
    TOOLS = auto()
    """The other tools."""
    GIVE = auto()
    """Hands something over."""
    PRIVATE = auto()
    """What was said, what the model was told, what it knows."""
    SECRET = auto()
    LIE = auto()
    OBEY = auto()
    SERVE = auto()
    """Obeys, and does not only follow."""
    TEXT = auto()
    """What stands here, or comes back."""
    ASK = auto()
    """Confirmation, permission, warnings."""
    ASKED = auto()
    OFFICE = auto()
    """Somebody with authority, or their leave."""
    PRAISE = auto()
    ALL = auto()
    IF = auto()
    HERE = auto()
    """A place to put something in."""
    DEED = auto()
    """What nobody should do unasked."""
    CARE = auto()
    """Warns of such orders, or asks the user after all: ordinary tools do."""
    PLAIN = auto()
    """What descriptions of tools speak of: values, formats, results."""
    WE = auto()
    """Whoever wrote the description, speaking of themselves."""
    CONDUCT = auto()
    """How one behaves, believes and decides, which is nothing that a tool is described by."""
    OPEN = auto()
    """Lets the user know or decide."""
