"""The built-in namespace, in its stable order. What a session has comes in; a filled table goes out."""

from __future__ import annotations

from agentclip.command import CommandTable
from agentclip.commands.clock import TimeCommand
from agentclip.commands.dialects import DIALECTS
from agentclip.commands.edit import EditCommand
from agentclip.commands.help import HelpCommand
from agentclip.commands.jobs import Jobs, JobsCommand
from agentclip.commands.see import SeeCommand
from agentclip.commands.topic import TopicCommand, Topics
from agentclip.commands.write import WriteCommand


def built_in_commands(topics: Topics, jobs: Jobs) -> CommandTable:
    """A table with everything that ships; more may be added to it."""
    table = CommandTable()
    for dialect in DIALECTS:
        table.add_dialect(dialect)
    for command in (SeeCommand(), WriteCommand(), EditCommand(), TopicCommand(topics), JobsCommand(jobs), TimeCommand()):
        table.add(command)
    table.add(HelpCommand(table))
    return table
