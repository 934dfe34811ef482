"""The words that code compares a key with."""

from tests.oracle.tracing.comparing import _of_source

CODE = """
class Head:
    def forward(self, kind, rate):
        if self.config.pooling in ["bos", "mean"] or "late" == self.pooling:
            return kind != "plain"
        return rate == 2 and self.pooling is None
"""


def test_words_are_those_of_every_method() -> None:
    assert _of_source(CODE) == {"pooling": {"bos", "mean", "late"}, "kind": {"plain"}}
