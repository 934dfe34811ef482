"""Step 3.7 (StepFun 2026), text and vision. Source of shapes: transformers/models/step3p7; names of
files: transformers/conversion_mapping.py.

A decoder with a gate per head on the attention's output, sliding layers with heads of their own
number, a shared expert and experts that files hold stacked; a ViT with layer scales and two
convolutions that shrink its grid (a trace).  The text layers lie right under ``model`` in files; a
saved ``Step3p7Model`` keeps ``language_model``.  ``num_local_experts`` has no effect in that class:
the default of ``n_routed_experts`` overwrites it.

Files on the Hub hold ``num_nextn_predict_layers`` more layers that predict further tokens: dense,
with a head of their own; transformers drops them.  Their names: vLLM's step3p5_mtp.py; the shapes
were published for Step-3.5-Flash.
"""

from collections.abc import Callable, Sequence

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, gated_mlp, grouped_attention, layer_overrides, rms_norms, size
from ..layers.experts import router
from ..layers.heads import lm_head, to_words
from ..layers.multimodal import linear_projector
from ..layers.windows import windows
from ..trees.catalog import builder, register
from ..trees.modules import Embedding, Layers, Linear, Module, Parameter, Weight

# ---- text


_hidden = size("hidden_size", default=4096)
_vocab = size("vocab_size", default=128815)
_norm = rms_norms("Step3p7RMSNorm", 1e-5)
#: The parts of a layer that hold its experts.
Sparse = Callable[[ModelConfig], dict[str, Module]]


def _predicted(c: ModelConfig) -> int:
    """How many layers more files hold, for further tokens."""
    return int(c.count("num_nextn_predict_layers", "num_mtp_layers", default=0))


def _per_layer(c: ModelConfig, key: str, usual: list[str]) -> Sequence[str]:
    """One word per layer; a list may go on with those of multi-token prediction."""
    found = c.strings(key, default=usual)
    if len(found) not in (len(usual), len(usual) + _predicted(c)):
        raise c.error(key, f"{len(found)} entries", f"one for each of {len(usual)} layers")
    return found[: len(usual)]


def _usual_and_sliding(c: ModelConfig) -> tuple[Dim, Dim]:
    """Heads of a layer, and of a sliding one: num_sliding_attention_heads (once
    attention_other_setting)."""
    usual = c.dim("num_attention_heads", default=64)
    other = c.section("attention_other_setting").dim("num_attention_heads", default=usual)
    return usual, c.dim("num_sliding_attention_heads", default=other)


def query_heads(c: ModelConfig, layers: int) -> list[Dim]:
    """per_layer_config, else by the layer's type."""
    if c.has("per_layer_config"):
        usual = c.dim("num_attention_heads", default=64)
        return [
            layer_overrides(c, i).dim("num_attention_heads", default=usual) for i in range(layers)
        ]
    usual, sliding = _usual_and_sliding(c)
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
    kv = c.dim("num_attention_groups", "num_key_value_heads", default=8)
    heads, h = Heads(query, kv, c.dim("head_dim", default=128)), _hidden(c)
    block = grouped_attention(
        "Step3p7Attention",
        h,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )
    block.children["g_proj"] = Linear(h, query, bias=False, kind="gate")
    return block


def expert_sizes(c: ModelConfig) -> tuple[Dim, Dim, Dim, Dim]:
    """Width, width inside an expert, experts, and how many of them a token meets."""
    keys = ("moe_num_experts", "n_routed_experts", "num_experts")
    per_token = c.dim("moe_top_k", "num_experts_per_tok", default=8)
    inner = c.dim("moe_intermediate_size", default=1280)
    return _hidden(c), inner, c.count(*keys, default=288, minimum=1), per_token


def _mlp(c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    bias = c.flag("mlp_bias", default=False)
    return gated_mlp("Step3p7MLP", _hidden(c), inner, bias=bias, kind=kind)


def shared_mlp(c: ModelConfig) -> Module:
    inner = c.dim("share_expert_dims", "share_expert_dim", default=1280)
    return _mlp(c, inner, "shared_expert")


def sparse_mlp(c: ModelConfig) -> dict[str, Module]:
    h, inner, count, per_token = expert_sizes(c)
    shapes = {
        "gate_proj": (count, inner, h),
        "up_proj": (count, inner, h),
        "down_proj": (count, h, inner),
    }
    used = (min(int(per_token), int(count)), int(count))
    routed = {
        name: Module("Step3p7MoELinear", weight=Weight(*shape), kind="expert", active=used)
        for name, shape in shapes.items()
    }
    bias = Parameter((count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER)
    gate = router("Step3p7TopKRouter", h, count)
    parts: dict[str, Module | Parameter] = {"gate": gate, "router_bias": bias, **routed}
    moe = Module("Step3p7SparseMoeBlock", dict(parts), component=Component.MLP)
    return {"moe": moe, "share_expert": shared_mlp(c)}


def layer(c: ModelConfig, query: Dim, kind: str, sparse: Sparse = sparse_mlp) -> Module:
    dense = {"mlp": _mlp(c, c.dim("intermediate_size", default=11264))}
    return Module(
        "Step3p7DecoderLayer",
        {
            "self_attn": attention(c, query),
            **(sparse(c) if kind == "sparse" else dense),
            "input_layernorm": _norm(c, _hidden(c)),
            "post_attention_layernorm": _norm(c, _hidden(c)),
        },
    )


def next_token_layers(c: ModelConfig, layers: int) -> list[Module]:
    """Dense layers, with sliding attention where ``layer_types`` does not go on to them."""
    count, h = _predicted(c), _hidden(c)
    if not count:
        return []
    usual, sliding = _usual_and_sliding(c)
    listed = c.strings("layer_types", default=())[layers : layers + count]
    kinds = listed or ("sliding_attention",) * count
    head = Module("SharedHead", norm=_norm(c, h), output=to_words(h, _vocab(c)))

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
    rows = [distinct[entry] for entry in described] + next_token_layers(c, count)
    return Module(
        class_name,
        embed_tokens=Embedding(_vocab(c), _hidden(c)),
        layers=Layers(rows, windows=windows(c, None, lambda _i, _n: True)),
        norm=_norm(c, _hidden(c)),
    )


# ---- vision

#: Keys of the released configs -> those of the tower's config class.
_RENAMED = {"width": "hidden_size", "layers": "num_hidden_layers"}


def vision_model(c: ModelConfig) -> Module:
    values = {_RENAMED.get(key, key): value for key, value in c.values.items()}
    values.pop("ls_init_value", None)  # what the scales begin with
    return builder("Step3p7VisionModel")(ModelConfig(values, c.path))


# ---- both


_width = size("width", "hidden_size", default=1536)


def _projector(c: ModelConfig) -> Module:
    width, out = _width(c.section("vision_config")) * 4, _hidden(c.section("text_config"))
    return linear_projector(width, out, bias=c.flag("projector_bias", default=False))


def flash(c: ModelConfig, *, tying: ModelConfig | None = None) -> Module:
    """The text tower alone, its keys at the top of the config; ``tying`` decides about the head."""
    text = c.section("text_config") if c.has("text_config") else c
    head = lm_head(
        tying or text, _hidden(text), _vocab(text), tied_to="model.embed_tokens.weight",
        tied_default=False,
    )  # fmt: skip
    whole = {"model": text_model(text, "Step3p7Model"), "lm_head": head}
    return Module("Step3p7FlashForCausalLM", dict(whole))


def conditional_generation(c: ModelConfig) -> Module:
    return Module(
        "Step3p7ForConditionalGeneration",
        {
            "vision_model": vision_model(c.section("vision_config")),
            "vit_large_projector": _projector(c),
            **flash(c.section("text_config"), tying=c).children,
        },
    )


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
