"""What CUDA does and the CPU does not: fused dropout, fused attention, and autocast's lists.

On a machine without a GPU these stand in for it, so that autograd keeps what it keeps there:

- dropout keeps its mask as one byte an element;
- a fused kernel of attention keeps queries, keys, values, the bias, its output and one float32 a
  token and head; of its own dropout the state of random numbers, which is nothing here; a mask of
  booleans becomes a bias in the queries' dtype, anew in each call (``convert_boolean_attn_mask``
  in ATen's transformers/attention.cpp);
- autocast casts inputs by the lists of torch's ``autocast_mode.h`` (2.13), and keeps the 16-bit
  copies of weights that are trained until the step is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

#: Functions that autocast runs in 16 bits, in float32, and with a float32 result, by name.
LOWER = frozenset(
    {
        "linear",
        "matmul",
        "__matmul__",
        "__rmatmul__",
        "bmm",
        "mm",
        "addmm",
        "baddbmm",
        "conv1d",
        "conv2d",
        "einsum",
        "scaled_dot_product_attention",
    }
)
FLOAT32 = frozenset(
    {
        "pow",
        "__pow__",
        "rsqrt",
        "reciprocal",
        "exp",
        "log",
        "layer_norm",
        "softplus",
        "tan",
        "group_norm",
        "nll_loss",
        "logsumexp",
        "norm",
    }
)
RESULT_FLOAT32 = frozenset({"softmax", "log_softmax", "sum", "cumsum", "prod"})


def fused_dropout(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    import torch

    return torch.native_dropout(x, p, True)[0] if training and p else x


def fused_attention() -> Callable[..., Any]:
    import torch

    class Fused(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, q: Any, k: Any, v: Any, bias: Any) -> Any:
            sequences, heads, tokens, _ = q.shape
            # The kernels write the heads of a token next to each other.
            out = q.new_zeros((sequences, tokens, heads, v.shape[-1])).transpose(1, 2)
            lse = torch.zeros(q.shape[:-1], dtype=torch.float32)
            kept = [q, k, v, out, lse]
            ctx.save_for_backward(*kept, *([] if bias is None else [bias]))
            return out

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise NotImplementedError

    def attend(
        q: Any,
        k: Any,
        v: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: Any = None,
        enable_gqa: bool = False,
    ) -> Any:
        masked = attn_mask is not None and attn_mask.dtype == torch.bool
        bias = torch.zeros(attn_mask.shape, dtype=q.dtype) if masked else attn_mask
        return Fused.apply(q, k, v, bias)

    return attend


@contextmanager
def standing_in(*, autocast: bool) -> Iterator[None]:
    """Runs with CUDA's dropout, attention and, if wanted, autocast to bfloat16."""
    import torch
    from torch.overrides import TorchFunctionMode

    attend = fused_attention()
    cached: dict[int, Any] = {}

    def lower(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or x.dtype != torch.float32:
            return x
        if not (x.is_leaf and x.requires_grad):
            return x.to(torch.bfloat16)
        if id(x) not in cached:
            cached[id(x)] = x.to(torch.bfloat16)
        return cached[id(x)]

    def higher(x: Any) -> Any:
        low = isinstance(x, torch.Tensor) and x.dtype in (torch.bfloat16, torch.float16)
        return x.float() if low else x

    def mapped(change: Callable[[Any], Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        plain = [type(a)(map(change, a)) if type(a) in (list, tuple) else change(a) for a in args]
        return plain, {key: change(value) for key, value in kwargs.items()}

    class Stand(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = getattr(func, "__name__", "")
            kwargs = kwargs or {}
            if autocast and name in LOWER:
                args, kwargs = mapped(lower, args, kwargs)
            elif autocast and name in FLOAT32:
                args, kwargs = mapped(higher, args, kwargs)
            elif autocast and name in RESULT_FLOAT32 and not kwargs.get("dtype"):
                first = args[0]
                if isinstance(first, torch.Tensor) and first.is_floating_point():
                    kwargs = {**kwargs, "dtype": torch.float32}
            if name == "scaled_dot_product_attention":
                return attend(*args, **kwargs)
            if name == "dropout" and func is not torch.native_dropout:
                return fused_dropout(*args, **kwargs)
            return func(*args, **kwargs)

    with Stand():
        yield
