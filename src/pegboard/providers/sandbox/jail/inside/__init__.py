"""What runs in the jailed process: its walls, the library it may import, and the program it is given.

Only the standard library, and nothing else of ours: the process is started with this folder alone, and forgets where it
lies before a program runs.
"""
