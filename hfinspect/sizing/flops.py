"""FLOPs of a forward pass: 2 · matrix parameters for each token, and attention.

Each layer's attention multiplies queries with keys and weights with values, for each of the
``tokens`` × ``tokens`` pairs 2 · (heads · d_qk + heads · d_v). Sources: torch's FlopCounterMode on
transformers' own models (eager attention), and nanoGPT's sizing notebook, which agree to the FLOP.
"""

from collections.abc import Iterable, Sequence

from ..core.flop_count import Flops
from ..trees.modules import Module, Parameter
from ..trees.prediction import Prediction
from .cache_request import CachedLayer
from .kv_cache import decoder_blocks
from .matrices import Matrix, matrices


def count_flops(
    prediction: Prediction, layers: Sequence[CachedLayer], tokens: int, batch: int
) -> Flops | str:
    """FLOPs for ``batch`` sequences of ``tokens``, or the reason why they are not known."""
    if prediction.family is None or prediction.family.category != "text decoder":
        return "FLOPs are counted for text decoders only"
    all_matrices = list(matrices(prediction.root))
    odd = next((matrix for matrix in all_matrices if not matrix.plain), None)
    if odd is not None:
        return f"{odd.path} is not a plain product of each token with a matrix"
    widths = _widths(prediction.root, layers)
    if isinstance(widths, str):
        return widths
    used = active_elements(all_matrices)
    if used is None:
        return "how many of its experts are used per token is not known"
    total = sum(widths)
    lengths = [tokens if layer.window is None else min(tokens, layer.window) for layer in layers]
    later = sum(2 * length * width for length, width in zip(lengths, widths, strict=True))
    return Flops(
        tokens=tokens,
        batch=batch,
        matrix_parameters=used,
        matrices=2 * batch * tokens * used,
        attention_full=2 * batch * tokens * tokens * total,
        next_token=batch * (2 * used + later),
        six_nd=6 * prediction.active_parameters * batch * tokens,
        formula=f"2 × {batch} × {tokens:,} × {used:,}",
        attention_formula=f"2 × {batch} × {tokens:,}² × {total:,}",
    )


def active_elements(several: Iterable[Matrix]) -> int | None:
    """Elements of the matrices that one token meets; None if that is not a whole number."""
    total = 0
    for matrix in several:
        part, all_experts = matrix.active or (1, 1)
        share, rest = divmod(matrix.elements * part, all_experts)
        if rest or (matrix.times > 1 and matrix.active is None):
            return None
        total += share
    return total


def _widths(root: Module, layers: Sequence[CachedLayer]) -> list[int] | str:
    """For each layer heads · d_qk + heads · d_v, or why they are not known."""
    blocks = decoder_blocks(root)
    if len(blocks) != len(layers):
        return "its layers are used more than once for a token"
    widths: list[int] = []
    # Equal layers are one block listed many times.
    rows_of: dict[int, list[dict[str, tuple[int, int]]]] = {}
    for i, (block, layer) in enumerate(zip(blocks, layers, strict=True)):
        if layer.states or len(layer.keys_values) != len(layer.cache):
            return f"layer {i} mixes tokens by other means than attention"
        if not layer.cache:
            return f"layer {i} takes keys and values of an earlier one"
        if id(block) not in rows_of:
            rows_of[id(block)] = attentions(block)
        rows = rows_of[id(block)]
        if len(rows) != 1 or any(item.cross or item.name for item in layer.keys_values):
            return f"layer {i} has no single attention whose products are known"
        width = _width(rows[0])
        if width is None:
            return f"the queries of layer {i} hold more than one part a head"
        widths.append(width)
    return widths


def attentions(module: Module) -> list[dict[str, tuple[int, int]]]:
    """Projections by kind, (outputs, inputs), of each attention below ``module``."""
    shapes: dict[str, tuple[int, int]] = {}
    blocks: list[dict[str, tuple[int, int]]] = []
    for child in module.children.values():
        if not isinstance(child, Module) or not child.saved:
            continue
        weight = child.children.get("weight")
        if child.kind and isinstance(weight, Parameter) and len(weight.shape) == 2:
            rows, columns = weight.shape
            turned = child.class_name == "Conv1D"
            shapes[child.kind] = (columns, rows) if turned else (rows, columns)
        else:
            blocks += attentions(child)
    if "output" in shapes and shapes.keys() & {"query", "query_up", "qkv"}:
        blocks.append(shapes)
    return blocks


def _width(shapes: dict[str, tuple[int, int]]) -> int | None:
    """Queries are as wide as the output projection's input, but for latent attention, where keys
    and values have widths of their own."""
    values = shapes["output"][1]
    if "kv_up" in shapes:
        queries = shapes.get("query_up") or shapes.get("query")
        return None if queries is None else queries[0] + values
    if "query" in shapes and shapes["query"][0] != values:
        return None
    return 2 * values
