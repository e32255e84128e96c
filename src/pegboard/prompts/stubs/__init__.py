"""Tools as typed Python: what they are called in a program, their stubs, their arguments and answers. Pure, and bounded
whatever a server says of itself.
"""
