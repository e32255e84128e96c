"""The program that runs a toolset's functions: started by the gateway, one process or several a toolset.

It loads what `pegboard.tools` needs and nothing of the gateway.
"""
