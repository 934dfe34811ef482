"""The derivation of a parameter count: letters, ledger, conventions, remarks, reconciliation.

Pure functions from a tree of modules to an Explanation. Imports sizing, analysis and below; a
new remark goes to ``notes``, a new way to count to ``conventions``.
"""
