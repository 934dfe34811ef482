"""Recording a family from the library's own constructor: see ``tests.oracle.trace``."""
