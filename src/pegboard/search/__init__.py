"""Ranking tools by words and meaning. Pure; numpy is the one thing from outside."""
