"""A pickle interpreter that executes nothing: opcodes, stack, memo and the names it met."""
