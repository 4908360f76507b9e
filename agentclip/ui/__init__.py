"""The screen. It reads events and talks to the agent; it never names shell, commands, present or model."""
