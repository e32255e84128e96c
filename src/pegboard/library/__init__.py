"""Pegboard within a program of your own: its functions on a board, listed and called as models would.

async with open_board(weather=[forecast, alerts]) as board:
    print([tool.name for tool in board.tools()])
    print((await board.call("forecast", {"city": "Oslo"})).text)
"""

from .board import Board, Found, Result, Shown, Told, open_board

__all__ = ["Board", "Found", "Result", "Shown", "Told", "open_board"]
