"""Structured memory: how a conversation that grew too long becomes a short one without losing what matters."""
