"""Step 3.7 (StepFun 2026), text and vision. Source of shapes: transformers/models/step3p7; names of
files: transformers/conversion_mapping.py.

Files on the Hub hold more layers that predict further tokens, dense, with a head of their own;
transformers drops them. Their names: vLLM's step3p5_mtp.py; the shapes were published for
Step-3.5-Flash.
"""

from collections.abc import Callable, Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import mixtures as m
from ..layers.blocks import Heads, gated_mlp, grouped_attention, layer_overrides, size
from ..layers.decoders import Decoder
from ..layers.heads import to_words
from ..layers.multimodal import linear_projector, text_section
from ..layers.windows import windows
from ..trees.catalog import builder, register
from ..trees.modules import Linear, Module, Weight

# ---- text


_predicted = m.counts("num_nextn_predict_layers", "num_mtp_layers", default=0)


def _per_layer(c: ModelConfig, key: str, usual: list[str]) -> Sequence[str]:
    """One word per layer; a list may go on with those of multi-token prediction."""
    found = c.strings(key, default=usual)
    if len(found) not in (len(usual), len(usual) + _predicted(c)):
        raise c.miscounted(key, len(found), f"one for each of {len(usual)} layers")
    return found[: len(usual)]


def _usual_and_sliding(c: ModelConfig) -> tuple[Dim, Dim]:
    """Heads of a layer, and of a sliding one: num_sliding_attention_heads (once
    attention_other_setting)."""
    usual = c.dim("num_attention_heads", default=64)
    other = c.section("attention_other_setting").dim("num_attention_heads", default=usual)
    return usual, c.dim("num_sliding_attention_heads", default=other)


def _query_heads(c: ModelConfig, layers: int) -> list[Dim]:
    """per_layer_config, else by the layer's type."""
    if c.has("per_layer_config"):
        usual, key = c.dim("num_attention_heads", default=64), "num_attention_heads"
        return [layer_overrides(c, i).dim(key, default=usual) for i in range(layers)]
    usual, sliding = _usual_and_sliding(c)
    types = _per_layer(c, "layer_types", ["full_attention"] * layers)
    return [sliding if kind == "sliding_attention" else usual for kind in types]


def _mlp_types(c: ModelConfig, layers: int) -> Sequence[str]:
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


def _attention(d: Decoder, c: ModelConfig, query: Dim) -> Module:
    kv = c.dim("num_attention_groups", "num_key_value_heads", default=8)
    heads, h = Heads(query, kv, c.dim("head_dim", default=128)), d.width(c)
    norm, gate = d.norm(d, c, heads.dim), Linear(h, query, bias=False, kind="gate")
    block = grouped_attention(
        f"{d.name}Attention", h, heads, bias=c.flag("attention_bias", default=False)
    )
    return block.adding(q_norm=norm, k_norm=norm, g_proj=gate)


def shared_mlp(x: m.Mixture) -> Module:
    inner = x.c.dim("share_expert_dims", "share_expert_dim", default=1280)
    bias = x.c.flag("mlp_bias", default=False)
    return gated_mlp(f"{x.d.name}MLP", x.width, inner, bias=bias, kind="shared_expert")


def moe(**parts: m.Part) -> Callable[[Decoder, ModelConfig], Module]:
    """``num_local_experts`` has no effect: the default of ``n_routed_experts`` overwrites it."""
    keys = ("moe_num_experts", "n_routed_experts", "num_experts")
    return m.sparse(
        "SparseMoeBlock", parts, count=m.counts(*keys, default=288, minimum=1),
        used=size("moe_top_k", "num_experts_per_tok", default=8), inner=1280,
    )  # fmt: skip


def _stacked(*, down: bool = False) -> m.Part:
    def part(x: m.Mixture) -> Module:
        weight = Weight(x.count, *((x.width, x.inner) if down else (x.inner, x.width)))
        return Module("Step3p7MoELinear", weight=weight, kind="expert", active=x.active)

    return part


def layer(d: Decoder, c: ModelConfig, form: tuple[Dim, str]) -> Module:
    """A layer of so many heads, sparse or dense, or one for further tokens (``mtp``)."""
    (query, kind), h = form, d.width(c)
    norm, mlp = d.norm(d, c, h), d.feed_forward(c, kind)
    shared = None
    if kind == "sparse" and "share_expert" in mlp.children:  # files keep it next to the others
        shared = mlp.children.pop("share_expert")
    block = Module(
        f"{d.name}DecoderLayer",
        {
            "self_attn": _attention(d, c, query),
            "mlp" if shared is None else "moe": mlp,
            "share_expert": shared,
            "input_layernorm": norm,
            "post_attention_layernorm": norm,
        },
    )
    if kind != "mtp":
        return block
    head = Module("SharedHead", norm=norm, output=to_words(h, d.size(c, "vocab_size")))
    joint = Linear(h * 2, h, bias=False, component=Component.PROJECTOR)
    after = Module("Step3p5MTPTransformer", shared_head=head)
    parts = {"enorm": norm, "hnorm": norm, "eh_proj": joint, **block.children, "transformer": after}
    return Module("Step3p5MTPLayer", dict(parts), part="mtp", kind="mtp", saved=False)


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[Dim, str]]:
    """Heads and MLP of each layer; those of further tokens are dense, with sliding attention where
    ``layer_types`` does not go on to them."""
    found = list(zip(_query_heads(c, layers), _mlp_types(c, layers), strict=True))
    usual, sliding = _usual_and_sliding(c)
    count = int(_predicted(c))
    listed = c.strings("layer_types", default=())[layers : layers + count] if count else ()
    more = listed or ("sliding_attention",) * count
    return found + [(sliding if kind == "sliding_attention" else usual, "mtp") for kind in more]


TEXT = Decoder(
    "Step3p7", vocab_size=128815, intermediate_size=11264, num_hidden_layers=45, rms_norm_eps=1e-5,
    mlp_bias=False, kinds=_kinds, layer=layer, rotary=False,
    windows=lambda c: windows(c, None, lambda _i, _n: True),
    moe=moe(
        gate=m.scores(), router_bias=m.correction, gate_proj=_stacked(), up_proj=_stacked(),
        down_proj=_stacked(down=True), share_expert=shared_mlp,
    ),
)  # fmt: skip


# ---- vision and both

#: Keys of the released configs -> those of the tower's config class.
_RENAMED = {"width": "hidden_size", "layers": "num_hidden_layers"}


def _seen(c: ModelConfig, project: str, **words: Module) -> dict[str, Module]:
    vision, text = c.section("vision_config"), c.section("text_config")
    values = {_RENAMED.get(key, key): value for key, value in vision.values.items()}
    values.pop("ls_init_value", None)  # what the scales begin with
    width = vision.dim("width", "hidden_size", default=1536) * 4
    bias = c.flag("projector_bias", default=False)
    tower = builder("Step3p7VisionModel")(ModelConfig(values, vision.path))
    return {
        "vision_model": tower,
        **words,
        project: linear_projector(width, TEXT.width(text), bias=bias),
    }


def flash(c: ModelConfig, *, tying: ModelConfig | None = None) -> Module:
    """The text tower alone, its keys at the top of the config; ``tying`` decides about the head."""
    text = text_section(c)
    tied = (tying or text).tied(default=False)
    head = TEXT.words(text, "model.embed_tokens.weight" if tied else None)
    return Module("Step3p7FlashForCausalLM", model=TEXT.model(text), lm_head=head)


def _generation(c: ModelConfig) -> Module:
    root = Module("Step3p7ForConditionalGeneration", dict(_seen(c, "vit_large_projector")))
    return root.adding(**flash(c.section("text_config"), tying=c).children)


def _model(c: ModelConfig) -> Module:
    words = TEXT.named("Step3p7TextModel", c.section("text_config"))
    return Module("Step3p7Model", {**_seen(c, "multi_modal_projector", language_model=words)})


register(
    "step3p7",
    {
        "Step3p7ForConditionalGeneration": _generation,
        "Step3p7Model": _model,
        "Step3p7FlashForCausalLM": flash,
    },
    category="multimodal",
)
