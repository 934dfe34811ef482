"""FLOPs of a forward pass, with the formula of each part. One multiply-add is two FLOPs."""

from __future__ import annotations

from typing import Any

from .records import dataclass


@dataclass(frozen=True)
class Flops:
    """Matrix products alone, as torch's FlopCounterMode counts them; norms, activations, softmax
    and rotary positions are left out.

    ``matrix_parameters`` are the elements of the matrices that a token is multiplied with (k of n
    experts; a tied head counts as the product it is). ``attention_full`` is the whole square of
    ``tokens`` × ``tokens``, which an eager kernel computes; ``attention_causal`` half of it, as
    kernels that skip the upper triangle. ``next_token`` is one more token of each sequence at that
    context, windows heeded. ``six_nd`` is the rule of thumb 6 · N · D for a training step over the
    same tokens (N: parameters that are active for a token);
    ``step`` is three forward passes, counted with the full square.

    Fields:
        tokens [tokens]: of each sequence
        batch [sequences]: at once
        matrix_parameters [parameters]: of the matrices that a token meets
        matrices [FLOPs]: of the matrix products of all tokens
        attention_full [FLOPs]: of attention, full square
        next_token [FLOPs]: for one more token per sequence
        six_nd [FLOPs]: the rule of thumb for a step of training
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
        return self.attention_full // 2

    @property
    def forward(self) -> int:
        """Prefill of ``batch`` × ``tokens`` with the full square, logits of every position."""
        return self.matrices + self.attention_full

    @property
    def forward_causal(self) -> int:
        return self.matrices + self.attention_causal

    @property
    def step(self) -> int:
        """Forward and backward: the backward pass has two products for each one."""
        return 3 * self.forward

    @property
    def six_nd_error(self) -> float:
        """How far 6ND is from ``step``: -0.05 is five percent too little."""
        return self.six_nd / self.step - 1

    def to_dict(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens,
            "batch": self.batch,
            "matrix_parameters": self.matrix_parameters,
            "matrices": self.matrices,
            "attention_full": self.attention_full,
            "attention_causal": self.attention_causal,
            "forward": self.forward,
            "forward_causal": self.forward_causal,
            "next_token": self.next_token,
            "step": self.step,
            "six_nd": self.six_nd,
            "six_nd_error": round(self.six_nd_error, 6),
            "formula": self.formula,
            "attention_formula": self.attention_formula,
        }
