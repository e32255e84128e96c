"""What looks poisoned in a tool's description or schema. A finding informs a person; it proves nothing by itself.

Every text of a spec is looked at: names, titles, descriptions, keys, enum values, defaults. What a finding tells is
safe to show: of what was found it repeats a short excerpt at most, with nothing invisible left in it. It is for a
person who decides, not for an agent: the excerpt is part of what is withheld from agents.
"""
