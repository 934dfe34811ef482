"""FLOPs of a forward pass, with the formula of each part. One multiply-add is two FLOPs."""

from __future__ import annotations

from .json_form import JsonForm
from .records import dataclass


@dataclass(frozen=True)
class Flops(
    JsonForm,
    after={
        "attention_causal": "attention_full",
        "forward": "attention_causal",
        "forward_causal": "forward",
        "step": "next_token",
        "six_nd_error": "six_nd",
    },
):
    """Matrix products alone, as torch's FlopCounterMode counts them; norms, activations, softmax
    and rotary positions are left out.

    Fields:
        tokens [tokens]: of each sequence
        batch [sequences]: at once
        matrix_parameters [parameters]: of the matrices that a token is multiplied with (k of n
            experts; a tied head counts as the product it is)
        matrices [FLOPs]: of the matrix products of all tokens
        attention_full [FLOPs]: of attention, the whole square of ``tokens``, as an eager kernel
            computes it
        next_token [FLOPs]: for one more token per sequence at that context, windows heeded
        six_nd [FLOPs]: the rule of thumb for a step of training: 6 · N · D, of the parameters N
            that are active for a token and the same tokens
        formula: of ``matrices``
        attention_formula: of ``attention_full``
    """

    tokens: int
    batch: int
    matrix_parameters: int
    matrices: int
    attention_full: int
    next_token: int
    six_nd: int
    formula: str
    attention_formula: str

    @property
    def attention_causal(self) -> int:
        """Half the square, of kernels that skip the upper triangle."""
        return self.attention_full // 2

    @property
    def forward(self) -> int:
        """Prefill of ``batch`` × ``tokens`` with the full square, logits of every position."""
        return self.matrices + self.attention_full

    @property
    def forward_causal(self) -> int:
        """The same with half the square."""
        return self.matrices + self.attention_causal

    @property
    def step(self) -> int:
        """Forward and backward: the backward pass has two products for each one."""
        return 3 * self.forward

    @property
    def six_nd_error(self) -> float:
        """How far 6ND is from ``step``: -0.05 is five percent too little."""
        return round(self.six_nd / self.step - 1, 6)
