"""A pickle interpreter that executes nothing: opcodes, stack, memo, and the names it met.

``machine`` interprets, ``globals`` lists the names, ``nodes`` are what the machine makes in place
of objects. Imports errors alone, and knows nothing of tensors. A new opcode is a line
of the table in ``opcodes``.
"""
