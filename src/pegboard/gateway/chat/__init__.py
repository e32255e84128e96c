"""Conversations with a model that calls tools. Loaded when the first chat starts.

Loaded for the first who chats.
"""
