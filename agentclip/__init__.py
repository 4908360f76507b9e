"""agentclip: a terminal agent whose model has one tool, `run(command="...")`."""

__version__ = "0.1.0"
