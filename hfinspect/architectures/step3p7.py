"""Step 3.7 (StepFun 2026; transformers/models/step3p7), text and vision; names of files:
conversion_mapping.py. Files on the Hub hold more layers, for further tokens, with a head of their
own. Their names: vLLM's step3p5_mtp.py; the shapes were published for Step-3.5-Flash."""

from collections.abc import Callable, Sequence

from ..layers import mixtures as m
from ..layers.blocks import Heads, gated_mlp, grouped_attention, layer_overrides, size
from ..layers.decoders import Decoder
from ..layers.heads import to_words
from ..layers.multimodal import linear_projector, text_section
from ..layers.windows import windows
from ..trees import Component, Dim, Linear, ModelConfig, Module, Weight, builder, register
from ..trees.config_defaults import config_defaults

_predicted = m.counts("num_nextn_predict_layers", "num_mtp_layers", default=0)


def _per_layer(c: ModelConfig, key: str, usual: list[str]) -> Sequence[str]:
    """One word per layer; a list may go on with those of multi-token prediction."""
    kinds = c.strings(key, default=usual)
    if len(kinds) not in (len(usual), len(usual) + _predicted(c)):
        raise c.miscounted(key, len(kinds), f"one for each of {len(usual)} layers")
    return kinds[: len(usual)]


def _mlp_types(c: ModelConfig, layers: int) -> Sequence[str]:
    """mlp_layer_types, else sparse where moe_layers_enum ("3,4,5") says, else from the fourth."""
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
    heads = Heads(query, kv, c.dim("head_dim", default=128))
    h = d.width(c)
    norm = d.norm(d, c, heads.dim)
    gate = Linear(h, query, bias=False, kind="gate")
    bias = c.flag("attention_bias", default=False)
    block = grouped_attention(f"{d.name}Attention", h, heads, bias=bias)
    return block.adding(q_norm=norm, k_norm=norm, g_proj=gate)


def shared_mlp(x: m.Mixture) -> Module:
    inner = x.c.dim("share_expert_dims", "share_expert_dim", default=1280)
    bias = x.c.flag("mlp_bias", default=False)
    return gated_mlp(f"{x.d.name}MLP", x.width, inner, bias=bias, kind="shared_expert")


def moe(**parts: m.MixturePart) -> Callable[[Decoder, ModelConfig], Module]:
    """``num_local_experts`` has no effect: the default of ``n_routed_experts`` overwrites it."""
    keys = ("moe_num_experts", "n_routed_experts", "num_experts")
    count = m.counts(*keys, default=288, minimum=1)
    used = size("moe_top_k", "num_experts_per_tok", default=8)
    return m.sparse("SparseMoeBlock", parts, count=count, used=used, inner=1280)


def _stacked(x: m.Mixture, rows: Dim, columns: Dim) -> Module:
    weight = Weight(x.count, rows, columns)
    return Module("Step3p7MoELinear", weight=weight, kind="expert", active=x.active)


def layer(d: Decoder, c: ModelConfig, form: tuple[Dim, str]) -> Module:
    """A layer of so many heads, sparse or dense, or one for further tokens (``mtp``)."""
    (query, kind) = form
    h = d.width(c)
    norm = d.norm(d, c, h)
    mlp = d.feed_forward(c, kind)
    shared = mlp.children.pop("share_expert", None)  # files keep it next to the others
    first = {"self_attn": _attention(d, c, query), "mlp" if shared is None else "moe": mlp}
    block = Module(f"{d.name}DecoderLayer", first, share_expert=shared)
    block.adding(input_layernorm=norm, post_attention_layernorm=norm)
    if kind != "mtp":
        return block
    head = Module("SharedHead", norm=norm, output=to_words(h, d.size(c, "vocab_size")))
    joint = Linear(h * 2, h, bias=False, component=Component.PROJECTOR)
    after = Module("Step3p5MTPTransformer", shared_head=head)
    parts = {"enorm": norm, "hnorm": norm, "eh_proj": joint, **block.children, "transformer": after}
    return Module("Step3p5MTPLayer", dict(parts), part="mtp", kind="mtp", saved=False)


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[Dim, str]]:
    """Heads (per_layer_config, else by the layer's type) and MLP of each layer; those of further
    tokens are dense, with sliding attention where ``layer_types`` does not go on to them."""
    key = "num_attention_heads"
    count = int(_predicted(c))
    usual = c.dim(key, default=64)
    window = c.section("attention_other_setting").dim(key, default=usual)  # the older spelling
    heads = {"sliding_attention": c.dim("num_sliding_attention_heads", default=window)}
    if c.has("per_layer_config"):
        queries = [layer_overrides(c, i).dim(key, default=usual) for i in range(layers)]
    else:
        types = _per_layer(c, "layer_types", ["full_attention"] * layers)
        queries = [heads.get(kind, usual) for kind in types]
    listed = c.strings("layer_types", default=())[layers : layers + count] if count else ()
    more = [heads.get(kind, usual) for kind in listed or ("sliding_attention",) * count]
    return [*zip(queries, _mlp_types(c, layers), strict=True), *((query, "mtp") for query in more)]


TEXT = Decoder(
    "Step3p7",
    **config_defaults("step3p7"),
    kinds=_kinds,
    layer=layer,
    rotary=False,
    windows=lambda c: windows(c, None, lambda _i, _n: True),
    moe=moe(
        gate=m.scores(),
        router_bias=m.correction,
        gate_proj=lambda x: _stacked(x, x.inner, x.width),
        up_proj=lambda x: _stacked(x, x.inner, x.width),
        down_proj=lambda x: _stacked(x, x.width, x.inner),
        share_expert=shared_mlp,
    ),
)
#: Keys of the released configs -> those of the tower's config class.
_RENAMED = {"width": "hidden_size", "layers": "num_hidden_layers"}


def _seen(c: ModelConfig, project: str, **words: Module) -> dict[str, Module]:
    vision = c.section("vision_config")
    text = c.section("text_config")
    values = {_RENAMED.get(key, key): value for key, value in vision.values.items()}
    values.pop("ls_init_value", None)  # what the scales begin with
    width = vision.dim("width", "hidden_size", default=1536) * 4
    bias = c.flag("projector_bias", default=False)
    tower = builder("Step3p7VisionModel")(ModelConfig(values, vision.path))
    joining = linear_projector(width, TEXT.width(text), bias=bias)
    return {"vision_model": tower, **words, project: joining}


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


_CLASSES = {"Step3p7ForConditionalGeneration": _generation, "Step3p7Model": _model}
register("step3p7", {**_CLASSES, "Step3p7FlashForCausalLM": flash}, category="multimodal")
