"""Pegboard within a program of your own: its functions on a board, listed and called as models would.

async with open_board(weather=[forecast, alerts]) as board:
    print([tool.name for tool in board.tools()])
    print((await board.call("forecast", {"city": "Oslo"})).text)
"""

from pegboard.library.board import Board, PromptAndRequest, ToolDescription, ToolResult, ToolSearchResult, open_board

__all__ = ["Board", "PromptAndRequest", "ToolDescription", "ToolResult", "ToolSearchResult", "open_board"]
