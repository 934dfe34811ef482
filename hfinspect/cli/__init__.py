"""The command line, and the only room that prints, exits or reads the environment.

One thin file a command, named after it. Imports everything. A new command is a file with
``register`` and its name in ``app.COMMANDS``; options that several commands share are in
``options``.
"""
