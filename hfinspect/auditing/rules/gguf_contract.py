"""HI345: a GGUF file against what llama.cpp's loader asks of it."""

from collections.abc import Iterator

from ..facts.problems import finding_of
from ..facts.target import TargetFacts
from ..registry import RuleFinding, rule


@rule("HI345", "gguf-contract", "error")
def gguf_contract(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A GGUF file lacks keys, tensors or a tokenizer that llama.cpp requires of its architecture,
    or has tensors of other shapes, or more of them.

    Why: llama.cpp refuses the file, and so does every program that is built on it.

    Fix: convert the model again with a current converter, or download the file again.
    """
    for folder in facts.folders:
        copy = folder.main
        if copy is None or (facts.single and copy.sharded):
            continue
        for problem in folder.judged.gguf_problems:
            yield finding_of(folder, problem)
