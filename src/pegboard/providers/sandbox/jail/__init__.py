"""The sandbox `full`: the Python that the gateway itself runs on, in a process that can reach nothing.

Linux only. Landlock, a filter of system calls and limits of resources hold each program; bubblewrap adds namespaces
where it works. All of it is tried before the first program, and where anything does not hold there is no such sandbox.
"""
