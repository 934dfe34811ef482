"""What ``generate()`` of transformers takes next to weights and cache, at most.

It runs the whole prompt at once. For b sequences of N tokens in a bytes a number, h the width, the
largest of these moments is the limit; of tokens, T = b·N:

- A feed-forward layer: the table's rows, the residual stream before and after attention, what
  attention gave, the norm's output and the sum (6·h, of which most types hold 4), and its arrays:
  three of the inner width where a gate multiplies, four where gate and up are one matrix, two where
  the activation is one kernel and five where it is written out (``gelu_new``, BLOOM's; three of
  ``relu2``). Next to shared experts two rows more.
- Experts (``grouped_mm`` in integrations/moe.py): for each of the k that serve a token its row and
  four arrays of the inner width (nine in gpt-oss), or four rows (six where a router with a
  correction of its scores weights them in float32); and the router's scores.
- Attention: 4·h, the projections, three copies of queries while they are rotated, six where that is
  in float32 (Cohere, ERNIE 4.5); with a mask four of queries and two of keys, as keys and values
  are repeated for each query head. Where latents become heads, three copies of queries more.
- A norm in float32: 8·h.
- The scores of eager attention: heads · b · N² of two float32 and one array (three where attention
  is written in float32), and keys and values repeated; one array stays during the feed-forward
  layer. Falcon's one key head has no fused kernel: torch computes it in float32.
- Sampling: the last position's logits, and five copies in float32; where ``forward`` has no
  ``logits_to_keep``, logits of all positions.

Next to each: rotary tables and positions (GPT-J's for all positions it has); masks of one byte for
b·N² (of a where eager) for each kind of window, where sequences are padded, a window is shorter
than the prompt, or the cache is static; and the rows of windowed layers that a DynamicCache lets go
with the next token only (``DynamicSlidingWindowLayer`` keeps a view of all). The step after the
prompt takes less.

Source: models/*/modeling_*.py, generation/utils.py (``_sample``), cache_utils.py, masking_utils.py,
integrations/sdpa_attention.py of transformers 5.23.0, read on 2026-11-28 and
compared with fixtures/oracle/transformers_workspace.json. ``state_pass.py`` has layers with states,
``encoder_pass.py`` encoders with a decoder.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Final, NamedTuple

from ...core.footprint import Workspace
from ...core.once import once_each
from ...trees.modules import each_module
from ..matrices import Matrix, matrices
from ..workspace import RUNTIME_BYTES, WorkspaceLimit
from .encoder_pass import Widths, encoder_pass
from .state_pass import state_pass

#: Types whose ``_supports_sdpa`` is False.
WITHOUT_SDPA: Final = frozenset(
    """big_bird bigbird_pegasus blip bloom codegen cpmant deepseek_v4 falcon_mamba flint fsmt gemma2
    git got_ocr2 gpt_neo gpt_neox_japanese gpt_oss gptj granite_swa granitemoe_swa hy_v4 inkling2
    inkling2_text led longt5 mamba mamba2 megatron-bert mimo_v2_flash mpt mvp nllb-moe openai-gpt
    pegasus_x pp_chart2table prophetnet reformer rembert roformer rwkv speech_to_text
    switch_transformers t5gemma trocr vaultgemma xglm xlm xlnet xlstm""".split()
)
#: Types whose ``forward`` has no ``logits_to_keep``.
ALL_LOGITS: Final = frozenset(
    """blip-2 diffusion_gemma encoder-decoder fsmt gemma4_assistant gemma4_unified_assistant
    instructblip instructblipvideo led longt5 m2m_100 minicpm_ocr minicpmv4_6 mt5 musicgen
    musicgen_melody nemotron_h_omni nllb-moe pegasus_x pi0 pix2struct prophetnet
    qwen2_5_omni_thinker qwen2_audio qwen3_omni_moe_thinker seamless_m4t seamless_m4t_v2
    switch_transformers t5 trocr udop umt5 video_llama_3 vision-encoder-decoder whisper
    xlstm""".split()
)
#: Types with ``_supports_sdpa`` whose shapes no fused kernel takes.
_FALLS_BACK: Final = frozenset({"falcon"})
#: Types without sdpa whose scores are in float32 for the softmax alone.
_FLOAT32_ONCE: Final = frozenset({"codegen", "gemma2", "gpt_oss"})
#: Decoders whose softmax is in the model's dtype: two arrays of it.
_SAME_WIDTH: Final = frozenset({"biogpt", "xglm"})
#: Types that rotate queries and keys in float32.
_FLOAT32_ROTATED: Final = frozenset(
    """codegen cohere cohere2 cohere2_moe cohere_compass dots3_note ernie4_5 ernie4_5_moe
    ernie4_5_vl_moe exaone4_5 hunyuan_vl inkling2 modernbert_decoder paddleocr_vl""".split()
)
#: Types that compute their scores from queries and keys in float32.
_FLOAT32_KEYS: Final = frozenset({"codegen"})
#: Types that copy their table of positions for each sequence.
_COPIED_POSITIONS: Final = frozenset({"gptj"})
#: Arrays of the inner width that an expert holds, where they are not four.
_EXPERT_ARRAYS: Final[Mapping[str, int]] = {"gpt_oss": 9}
#: Types with states or an encoder whose rule was compared with what they take. Others keep what
#: no rule counts (ProphetNet's buckets of all pairs, guidance that doubles a batch), or may.
_COMPARED: Final = frozenset(
    """bamba bart bigbird_pegasus blenderbot blenderbot-small falcon_h1 falcon_mamba fsmt
    granitemoehybrid jamba kimi_linear led longt5 m2m_100 mamba mamba2 marian mbart minimax
    moonshine mt5 mvp nemotron_h nllb-moe olmo_hybrid pegasus pegasus_x plbart qwen3_5
    qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen3_next recurrent_gemma rwkv speech_to_text
    switch_transformers t5 umt5 whisper xlstm zamba zamba2""".split()
)
#: Activations that are one kernel of torch.
_ONE_KERNEL: Final = frozenset({"relu", "gelu", "gelu_pytorch_tanh", "silu", "swish", "tanh"})
_ACTIVATION_KEYS: Final = (
    *("hidden_act", "activation_function", "hidden_activation", "activation"),
    *("mlp_hidden_act", "feed_forward_proj", "dense_act_fn", "encoder_hidden_act"),
)
#: Copies of the last logits in float32 while a token is sampled.
_COPIES: Final = 5
#: Bytes of ids and positions for each token.
_IDS: Final = 32


def widths(limit: WorkspaceLimit, hidden: int) -> Widths:
    """Of a model's blocks, as one device has them."""
    blocks: defaultdict[str, list[Matrix]] = defaultdict(list)
    for matrix in matrices(limit.root):
        blocks[matrix.path.rpartition(".")[0]].append(matrix)
    activations = {str(limit.config.get(key)) for key in _ACTIVATION_KEYS}
    plain = 2 if activations & _ONE_KERNEL else 3 if "relu2" in activations else 5
    modules = each_module(limit.root)
    corrected = any("e_score_correction_bias" in module.children for module in modules)
    keys = [int(item.key) for layer in limit.layers for item in layer.keys_values]
    dense = encoder = experts = projected = queries = 0
    for path, block in blocks.items():
        kinds = {matrix.kind for matrix in block}
        if "expert" in kinds:
            arrays = _EXPERT_ARRAYS.get(limit.name, 4)
            each = _of_experts(block, hidden, arrays, 6 if corrected else 4)
            if limit.name == "nllb-moe":  # a row for each token and expert
                of = (block[0].active or (1, 1))[1]
                each = of * (2 * block[0].rows + 2 * hidden + 4 * of)
            experts = max(experts, each)
        elif kinds & {"up", "gate_up", "gate", "shared_expert"}:
            inner = _of_dense(block, hidden, plain, written="gated-gelu" in activations)
            if "encoder" in path.split("."):
                encoder = max(encoder, inner)
            else:
                dense = max(dense, inner)
        elif kinds & {"query", "qkv", "query_up"}:
            rows = [m.rows for m in block if m.linear and m.kind != "output"]
            heads = [m.columns for m in block if m.kind == "output"]
            heads += [m.rows for m in block if m.kind in {"query", "query_up"}]
            wide = max(heads, default=hidden)
            queries = max(queries, wide)
            projected = max(projected, sum(rows) + (3 * wide if "kv_up" in kinds else 0))
    return Widths(
        *(
            -(-n // limit.ranks)
            for n in (dense, encoder, experts, projected, queries, max(keys, default=0))
        )
    )


def _of_dense(block: list[Matrix], hidden: int, plain: int, *, written: bool) -> int:
    """``plain``: arrays of the inner width where no gate multiplies, ``written``: the activation
    of the gate is written out (T5's ``gated-gelu``)."""
    down = [m.columns for m in block if m.kind == "down"]
    rows = [m.rows for m in block if m.linear and m.kind in {"up", "gate", "gate_up"}]
    if any(m.kind == "shared_expert" for m in block):
        rows = sorted((m.rows for m in block if m.linear), reverse=True)
        rows, down = rows[:-1], rows[:1]
    inner = max(down, default=max(rows, default=0))
    if any(m.kind == "shared_expert" for m in block):
        return 3 * inner + 2 * hidden
    if any(m.kind == "gate_up" for m in block) or (len(rows) == 1 and rows[0] == 2 * inner):
        return 4 * inner
    if len(rows) > 1:
        return (plain if written else 3) * inner
    return plain * inner


def _of_experts(block: list[Matrix], hidden: int, arrays: int, rows: int) -> int:
    """Of the experts that serve a token."""
    sides = [m.columns if m.rows == hidden else m.rows for m in block if m.kind == "expert"]
    served, of = max(m.active or (1, 1) for m in block)
    return served * (max(arrays * min(sides) + hidden, rows * hidden) + 16) + 2 * of


class _Moments(NamedTuple):
    """Bytes of the moments of a pass."""

    layer: int
    sampling: int
    formula: str


def is_eager(name: str) -> bool:
    """Whether a type computes its scores whole where nobody chose a kernel."""
    return name in WITHOUT_SDPA or name in _FALLS_BACK


@once_each
def has_rule(limit: WorkspaceLimit) -> bool:
    """Whether the limit may be given: layers with states, and encoders, differ by their code."""
    text = limit.config.get("text_config")
    inner = text.get("model_type") if isinstance(text, Mapping) else None
    recurrent = any(s.name == "recurrent" for layer in limit.layers for s in layer.states)
    return not (limit.encodes or recurrent) or not _COMPARED.isdisjoint({limit.name, str(inner)})


def prompt_pass(
    limit: WorkspaceLimit, tokens: int, batch: int, *, eager: bool, static: bool
) -> Workspace:
    """The limit for prompts of ``tokens`` tokens each."""
    moments = _moments(limit, tokens, batch, eager=eager, static=static)
    return Workspace(
        logits=moments.sampling,
        activation=max(0, moments.layer - moments.sampling),
        runtime=RUNTIME_BYTES,
        formula=f"{moments.formula} + {RUNTIME_BYTES:,}",
    )


def _moments(
    limit: WorkspaceLimit, tokens: int, batch: int, *, eager: bool, static: bool
) -> _Moments:
    vocabulary, hidden = limit.token_table
    if "widths" not in limit.by_rule:  # once, however many contexts are tried
        limit.by_rule["widths"] = widths(limit, hidden)
    size, blocks = limit.size, limit.by_rule["widths"]
    heads = -(-(limit.facts.heads or 1) // limit.ranks)
    square = batch * tokens**2 if limit.windows else 0
    sampling = batch * vocabulary * (size + 4 * _COPIES)
    if limit.encodes:
        each, text = encoder_pass(limit, blocks, tokens, batch, eager=eager)
        return _Moments(math.ceil(each), math.ceil(sampling), text)
    windows = limit.windows
    masked = static or batch > 1 or any(one is not None and one <= tokens for one in windows)
    masks = len(windows) * square * (size if eager else 1) if masked or eager else Fraction(0)

    turned = 6 if limit.name in _FLOAT32_ROTATED else 3
    attention = 4 * hidden + blocks.projected + turned * blocks.queries
    scores = weights = Fraction(0)
    if eager:
        attention = max(attention, 4 * hidden + 3 * blocks.queries + 2 * blocks.keys)
        attention += 5 * blocks.queries if limit.name in _FALLS_BACK else 0
        attention += 2 * blocks.keys if limit.name in _FLOAT32_KEYS else 0
        once = limit.name not in WITHOUT_SDPA or limit.name in _FLOAT32_ONCE
        same = limit.name in _SAME_WIDTH
        scores = heads * square * (2 * size if same else size + (8 if once else 12))
        weights = heads * square * size * (1 if once or same else 2)
    elif masked:
        attention = max(attention, 4 * hidden + 4 * blocks.queries + 2 * blocks.keys)
        scores = square * size  # the mask as numbers
    block = 6 * hidden + max(blocks.dense, blocks.experts, 2 * hidden)
    if limit.name in ALL_LOGITS:
        copies = 6 if limit.name == "xlstm" else 1  # three in float32
        block = max(block, 2 * hidden + copies * vocabulary)
    per_token = batch * tokens
    # Tables of cosines and sines in float32, one pair for each kind of layer.
    rotary = 2 * 4 * max(1, len(windows)) * (blocks.queries // heads)
    next_to = per_token * (rotary + _IDS) + masks + _let_go(limit, tokens, batch)
    if limit.name in _COPIED_POSITIONS:
        own = limit.config.get("rotary_dim")
        width = own if type(own) is int and own > 0 else blocks.queries // heads
        next_to += batch * (limit.facts.context or 0) * width * 4
    states = state_pass(limit, tokens, batch)
    layer = max(per_token * block * size + weights, per_token * attention * size + scores, states)
    layer += next_to
    numbers = (
        f"{per_token:,} × max({block:,}, {attention:,}) × {size}, {math.ceil(scores):,} of scores, "
        + (f"at least {math.ceil(states):,} of states, " if states else "")
        + f"{math.ceil(next_to):,} of masks, positions and rows that go; at least {batch:,} × "
        f"{vocabulary:,} × {size + 4 * _COPIES} of logits"
    )
    return _Moments(math.ceil(layer), math.ceil(sampling), numbers)


def _let_go(limit: WorkspaceLimit, tokens: int, batch: int) -> Fraction:
    """Rows of windowed layers that go after the prompt."""
    windowed = _elements_by_window(limit).items()
    elements = sum(each * max(0, tokens - (window - 1)) for window, each in windowed)
    return -(-batch * elements // limit.ranks) * limit.size


@once_each
def _elements_by_window(limit: WorkspaceLimit) -> Counter[int]:
    """What a token's rows have in all layers of a window."""
    counts: Counter[int] = Counter()
    for layer in limit.layers:
        if layer.window is not None:
            rows = (item for item in layer.keys_values if not item.cross)
            counts[int(layer.window)] += sum(int(item.key) + int(item.value) for item in rows)
    return counts
