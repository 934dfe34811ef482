"""Step 3.7 (StepFun 2026), text and vision. Source of shapes: transformers/models/step3p7; names of
files: transformers/conversion_mapping.py.

A decoder with a gate per head on the attention's output, sliding layers with heads of their own
number, a shared expert and experts that files hold stacked; a ViT with layer scales and two
convolutions that shrink its grid.  The text layers lie right under ``model`` in files; a saved
``Step3p7Model`` keeps ``language_model``.  ``num_local_experts`` has no effect in that class: the
default of ``n_routed_experts`` overwrites it.

Files on the Hub hold ``num_nextn_predict_layers`` more layers that predict further tokens: dense,
with a head of their own; transformers drops them.  Their names: vLLM's step3p5_mtp.py; the shapes
were published for Step-3.5-Flash.
"""

from collections.abc import Callable, Sequence

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import Heads, gated_mlp, grouped_attention, layer_overrides
from ..layers.heads import lm_head, to_words
from ..layers.vision import pair, patch_conv, patch_count
from ..layers.windows import windows
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
    RMSNorm,
    Weight,
)

# ---- text


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, size: int) -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-5), class_name="Step3p7RMSNorm")


def _per_layer(c: ModelConfig, key: str, usual: list[str]) -> Sequence[str]:
    """One word per layer; a list may go on with those of multi-token prediction."""
    found = c.strings(key, default=usual)
    more = int(c.count("num_nextn_predict_layers", "num_mtp_layers", default=0))
    if len(found) not in (len(usual), len(usual) + more):
        raise c.error(key, f"{len(found)} entries", f"one for each of {len(usual)} layers")
    return found[: len(usual)]


def query_heads(c: ModelConfig, layers: int) -> list[Dim]:
    """per_layer_config, else num_sliding_attention_heads (once attention_other_setting) in sliding
    layers."""
    usual = c.dim("num_attention_heads", default=64)
    if c.has("per_layer_config"):
        return [
            layer_overrides(c, i).dim("num_attention_heads", default=usual) for i in range(layers)
        ]
    other = c.section("attention_other_setting").dim("num_attention_heads", default=usual)
    sliding = c.dim("num_sliding_attention_heads", default=other)
    types = _per_layer(c, "layer_types", ["full_attention"] * layers)
    return [sliding if kind == "sliding_attention" else usual for kind in types]


def mlp_types(c: ModelConfig, layers: int) -> Sequence[str]:
    """mlp_layer_types, else the layers of moe_layers_enum ("3,4,5") are sparse, else all from the
    fourth on."""
    listed = c.raw("moe_layers_enum")
    if isinstance(listed, str):
        numbers = [item.strip() for item in listed.split(",") if item.strip()]
        if not all(number.isdecimal() for number in numbers):
            raise c.error("moe_layers_enum", listed, "layer numbers with commas between them")
        sparse = {int(number) for number in numbers}
    else:
        sparse = {int(i) for i in c.dims("moe_layers_enum", default=range(3, layers), minimum=0)}
    usual = ["sparse" if i in sparse else "dense" for i in range(layers)]
    return _per_layer(c, "mlp_layer_types", usual)


def attention(c: ModelConfig, query: Dim) -> Module:
    h = _hidden(c)
    kv = c.dim("num_attention_groups", "num_key_value_heads", default=8)
    heads = Heads(query, kv, c.dim("head_dim", default=128))
    block = grouped_attention(
        "Step3p7Attention",
        h,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )
    block.children["g_proj"] = Linear(h, query, bias=False, kind="gate")
    return block


#: The parts of a layer that hold its experts.
Sparse = Callable[[ModelConfig], dict[str, Module]]


def _stacked(*shape: int) -> Module:
    return Module("Step3p7MoELinear", weight=Weight(*shape))


def expert_sizes(c: ModelConfig) -> tuple[Dim, Dim, Dim, Dim]:
    """Width, width inside an expert, experts, and how many of them a token meets."""
    count = c.count(
        "moe_num_experts", "n_routed_experts", "num_experts", default=288, minimum=1
    )  # fmt: skip
    per_token = c.dim("moe_top_k", "num_experts_per_tok", default=8)
    return _hidden(c), c.dim("moe_intermediate_size", default=1280), count, per_token


def shared_mlp(c: ModelConfig) -> Module:
    return gated_mlp(
        "Step3p7MLP",
        _hidden(c),
        c.dim("share_expert_dims", "share_expert_dim", default=1280),
        bias=c.flag("mlp_bias", default=False),
        kind="shared_expert",
    )


def sparse_mlp(c: ModelConfig) -> dict[str, Module]:
    h, inner, count, per_token = expert_sizes(c)
    bias = Parameter((count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER)
    routed = {
        "gate_proj": _stacked(count, inner, h),
        "up_proj": _stacked(count, inner, h),
        "down_proj": _stacked(count, h, inner),
    }
    for part in routed.values():
        part.kind = "expert"
        part.active = (min(int(per_token), int(count)), int(count))
    gate = Module("Step3p7TopKRouter", weight=Weight(count, h), component=Component.ROUTER)
    return {
        "moe": Module(
            "Step3p7SparseMoeBlock",
            {"gate": gate, "router_bias": bias, **routed},
            component=Component.MLP,
        ),
        "share_expert": shared_mlp(c),
    }


def layer(c: ModelConfig, query: Dim, kind: str, sparse: Sparse = sparse_mlp) -> Module:
    bias = c.flag("mlp_bias", default=False)
    inner = c.dim("intermediate_size", default=11264)
    mlp = (
        sparse(c)
        if kind == "sparse"
        else {"mlp": gated_mlp("Step3p7MLP", _hidden(c), inner, bias=bias)}
    )
    return Module(
        "Step3p7DecoderLayer",
        {
            "self_attn": attention(c, query),
            **mlp,
            "input_layernorm": _norm(c, _hidden(c)),
            "post_attention_layernorm": _norm(c, _hidden(c)),
        },
    )


def next_token_layers(c: ModelConfig, layers: int) -> list[Module]:
    """Dense layers, with sliding attention where ``layer_types`` does not go on to them."""
    count = int(c.count("num_nextn_predict_layers", "num_mtp_layers", default=0))
    if not count:
        return []
    h, vocab = _hidden(c), c.dim("vocab_size", default=128815)
    usual = c.dim("num_attention_heads", default=64)
    other = c.section("attention_other_setting").dim("num_attention_heads", default=usual)
    sliding = c.dim("num_sliding_attention_heads", default=other)
    listed = c.strings("layer_types", default=())[layers : layers + count]
    kinds = listed or ("sliding_attention",) * count
    head = Module(
        "SharedHead",
        norm=_norm(c, h),
        output=to_words(h, vocab),
    )

    def row(query: Dim) -> Module:
        return Module(
            "Step3p5MTPLayer",
            {
                "enorm": _norm(c, h),
                "hnorm": _norm(c, h),
                "eh_proj": Linear(h * 2, h, bias=False, component=Component.PROJECTOR),
                **layer(c, query, "dense").children,
                "transformer": Module("Step3p5MTPTransformer", shared_head=head),
            },
            part="mtp",
            kind="mtp",
            saved=False,
        )

    made = {kind: row(sliding if kind == "sliding_attention" else usual) for kind in set(kinds)}
    return [made[kind] for kind in kinds]


def text_model(
    c: ModelConfig, class_name: str = "Step3p7TextModel", sparse: Sparse = sparse_mlp
) -> Module:
    count = int(c.count("num_hidden_layers", default=45))
    described = list(zip(query_heads(c, count), mlp_types(c, count), strict=True))
    distinct = {entry: layer(c, *entry, sparse) for entry in dict.fromkeys(described)}
    rows = [distinct[entry] for entry in described]
    return Module(
        class_name,
        embed_tokens=Embedding(c.dim("vocab_size", default=128815), _hidden(c)),
        layers=Layers(
            rows + next_token_layers(c, count), windows=windows(c, None, lambda _i, _n: True)
        ),
        norm=_norm(c, _hidden(c)),
    )


# ---- vision


def _width(c: ModelConfig) -> Dim:
    return c.dim("width", "hidden_size", default=1536)


def vision_layer(c: ModelConfig) -> Module:
    h, eps = _width(c), c.number("layer_norm_eps", default=1e-5)
    ratio = c.number("mlp_ratio", default=8960 / 1536)
    inner = named(int(h * ratio), "intermediate_size", "int(hidden_size · mlp_ratio)")
    if inner < 1:
        raise c.error("mlp_ratio", ratio, "a ratio that leaves a width")
    return Module(
        "Step3p7VisionEncoderLayer",
        attn=Module(
            "Step3p7VisionAttention",
            in_proj_weight=Weight(h * 3, h, kind="qkv"),
            in_proj_bias=Weight(h * 3, kind="qkv"),
            out_proj=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "Step3p7VisionMLP",
            c_fc=Linear(h, inner, kind="up"),
            c_proj=Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
        ln_1=LayerNorm(h, eps=eps),
        ln_2=LayerNorm(h, eps=eps),
        ls_1=Module("LayerScale", gamma=Weight(h, kind="scale")),
        ls_2=Module("LayerScale", gamma=Weight(h, kind="scale")),
    )


def vision_model(c: ModelConfig) -> Module:
    h, patch = _width(c), pair(c, "patch_size", default=14)
    patches = patch_count(pair(c, "image_size", default=728), patch)
    layers = Layers.of(c.count("layers", "num_hidden_layers", default=47), vision_layer(c))
    return Module(
        "Step3p7VisionModel",
        conv1=patch_conv(c.dim("num_channels", default=3), h, patch, bias=False),
        positional_embedding=Weight(patches, h, component=Component.EMBEDDING, kind="position"),
        ln_pre=LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-5)),
        transformer=Module("Transformer", resblocks=layers),
        vit_downsampler1=Conv(h, h * 2, 3, stride=2),
        vit_downsampler2=Conv(h * 2, h * 4, 3, stride=2),
        part="vision",
    )


# ---- both


def _projector(c: ModelConfig) -> Module:
    linear = Linear(
        _width(c.section("vision_config")) * 4,
        _hidden(c.section("text_config")),
        bias=c.flag("projector_bias", default=False),
        component=Component.PROJECTOR,
    )
    linear.part = "projector"
    return linear


def _text_with_head(c: ModelConfig, outer: ModelConfig) -> dict[str, Module]:
    vocab = c.dim("vocab_size", default=128815)
    tied_to = "model.embed_tokens.weight"
    head = lm_head(outer, _hidden(c), vocab, tied_to=tied_to, tied_default=False)
    return {"model": text_model(c, "Step3p7Model"), "lm_head": head}


def conditional_generation(c: ModelConfig) -> Module:
    return Module(
        "Step3p7ForConditionalGeneration",
        {
            "vision_model": vision_model(c.section("vision_config")),
            "vit_large_projector": _projector(c),
            **_text_with_head(c.section("text_config"), c),
        },
    )


def flash(c: ModelConfig) -> Module:
    """The text tower alone, its keys at the top of the config."""
    text = c.section("text_config") if c.has("text_config") else c
    return Module("Step3p7FlashForCausalLM", _text_with_head(text, text))


def model(c: ModelConfig) -> Module:
    return Module(
        "Step3p7Model",
        vision_model=vision_model(c.section("vision_config")),
        language_model=text_model(c.section("text_config")),
        multi_modal_projector=_projector(c),
    )


register(
    "step3p7",
    {
        "Step3p7ForConditionalGeneration": conditional_generation,
        "Step3p7Model": model,
        "Step3p7FlashForCausalLM": flash,
    },
    category="multimodal",
)
register_part("step3p5_vision", "Step3p7VisionModel", vision_model, "vision")
