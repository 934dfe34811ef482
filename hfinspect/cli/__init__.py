"""The command line: one thin file per command. Prints, exits and reads the environment."""
