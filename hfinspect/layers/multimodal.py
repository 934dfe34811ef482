"""What multimodal families share: towers from nested configs, and the decoder with its head.

Files of the LLaVA kind keep a whole causal model under ``language_model``, its head included; in
memory transformers 5 has ``model.language_model`` and ``lm_head``, and some files were written that
way. Source: transformers/conversion_mapping.py.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import pairwise
from typing import Any

from ..core.records import dataclass
from ..trees import Builder, Component, Dim, Linear, ModelConfig, Module, auto_class, auto_model
from ..trees.catalog import Family, builder, register, register_pair, register_part
from ..trees.modules import Activation, Parameter, Sequential, without_part
from .blocks import activation
from .composing import FormPart, composed, respelled
from .decoders import Decoder as TextDecoder
from .heads import causal_lm, to_words

#: Prefixes of files that spell the LLaVA kind as it is in memory, and towers as they once were.
LLAVA_ALIASES = {
    "model.language_model.": "language_model.model.",
    "model.vision_tower.vision_model.": "vision_tower.",
    "model.vision_tower.": "vision_tower.",
    "model.multi_modal_projector.": "multi_modal_projector.",
    "model.image_newline": "image_newline",
    "lm_head.": "language_model.lm_head.",
    "vision_tower.vision_model.": "vision_tower.",
}

#: Prefixes of files that spell the other kind in LLaVA's way, and towers as they once were.
INSIDE_ALIASES = {
    "language_model.model.": "model.language_model.",
    "language_model.lm_head.": "lm_head.",
    "vision_tower.vision_model.": "model.vision_tower.",
    "model.vision_tower.vision_model.": "model.vision_tower.",
    "vision_tower.": "model.vision_tower.",
    "multi_modal_projector.": "model.multi_modal_projector.",
}


def tied_section(c: ModelConfig) -> ModelConfig:
    """A section that ties its words where its own key or that of the whole says so: either
    suffices, as the decoder inside ties as well."""
    text = c.section("text_config")
    return text.with_values(tie_word_embeddings=c.tied() or text.tied())


def text_section(c: ModelConfig) -> ModelConfig:
    """The text model's keys: a section, or at the top in older configs."""
    return c.section("text_config") if c.has("text_config") else c


def within(key: str, build: Builder | str) -> Builder:
    """A part that the section under ``key`` describes: what builds it, or the name of its class."""
    return lambda c: (builder(build) if isinstance(build, str) else build)(c.section(key))


def any_model(
    key: str, default_type: str, part: str | None = None, defaults: Mapping[str, Any] | None = None
) -> Builder:
    """The base model of a section, of whatever type it names; an absent one has the ``defaults``
    that the composite's config class makes of nothing."""
    return lambda c: auto_model(
        c.section(key, default=defaults), default_type=default_type, part=part
    )


def any_causal(key: str, default_type: str) -> Builder:
    """The causal model of a section, of whatever type it names."""
    return lambda c: auto_class(c.section(key), "ForCausalLM", default_type=default_type)


def seeing(visual: Builder | str, text: Builder) -> dict[str, Builder]:
    """A tower and a decoder under the names that most have."""
    return {
        "visual": within("vision_config", visual),
        "language_model": within("text_config", text),
    }


#: Towers that double their width from stage to stage: their ``hidden_size`` is that of the last.
_DOUBLING = ("SwinModel", "Swinv2Model", "DonutSwinModel", "MaskFormerSwinModel", "DinatModel")


def tower_width(vision: Module) -> Dim:
    """The width of a vision tower: what its patch embedding puts out, or its last stage."""
    width = _width(vision, "patch", 0)
    if vision.class_name not in _DOUBLING:
        return width
    stages = len(vision.inside("encoder", "layers").children)
    return width * (1 << stages - 1)


def text_width(model: Module) -> Dim:
    """The width of a text model: that of the first table of tokens, at whatever depth."""
    return _width(model, "token", 1)


def _width(root: Module, kind: str, axis: int) -> Dim:
    for weight_kind, weight in _weights(root):
        if weight_kind == kind:
            return _dim(weight.shape[axis])
    raise without_part(root, f"{kind} embedding")


def _weights(module: Module, kind: str | None = None) -> Iterator[tuple[str | None, Parameter]]:
    """All weights below, each after its kind: that of the modules around it, unless it has one."""
    for child in module.children.values():
        if isinstance(child, Module):
            own_kind = child.kind or kind
            weight = child.children.get("weight")
            if isinstance(weight, Parameter):
                yield own_kind, weight
            yield from _weights(child, own_kind)


@dataclass(frozen=True)
class TextModel:
    """A text model on its own: the base model, its class with a head, sizes, and whether that
    class would tie its head."""

    base: Module
    class_name: str
    hidden: Dim
    vocab: Dim
    tied: bool


def decoder(
    c: ModelConfig,
    default_type: str,
    *,
    key: str = "text_config",
    defaults: Mapping[str, Any] | None = None,
) -> TextModel:
    """The causal model of a nested config, taken apart. Raises UnknownArchitectureError."""
    section = c.section(key, default=defaults)
    causal = auto_class(section, "ForCausalLM", default_type=default_type)
    base = next(
        child for child in causal.children.values() if isinstance(child, Module) and child.children
    )
    assert isinstance(base, Module)
    table = _of_kind(base, "token")
    if table is None:
        raise without_part(base, "token embedding")
    vocab, hidden = table.shape
    head = _of_kind(causal, "lm_head")
    base.scope = True
    return TextModel(
        base, causal.class_name, _dim(hidden), _dim(vocab), head is not None and bool(head.tied_to)
    )


def _dim(size: int) -> Dim:
    return size if isinstance(size, Dim) else Dim(size)


def _of_kind(module: Module, kind: str) -> Parameter | None:
    for child in module.children.values():
        if isinstance(child, Module) and child.kind == kind:
            return child.tensor()
    return None


def language_model(text: TextModel, *, head: bool, tied: bool) -> Module:
    """``language_model`` of files of the LLaVA kind: the decoder and, with ``head``, its head."""
    to = "language_model.model.embed_tokens.weight" if tied else None
    words = to_words(text.hidden, text.vocab, to) if head else None
    return Module(text.class_name, model=text.base, lm_head=words, part="text")


def two_layer_projector(
    class_name: str,
    c: ModelConfig,
    vision_width: Dim,
    hidden: Dim,
    *,
    bias: bool = True,
    **before: Any,
) -> Module:
    """linear_2(act(linear_1(x))) from the vision tower's width to the text's: V·H + H² weights.

    Where ``vision_feature_layer`` lists several layers their outputs stand side by side.
    """
    layers = c.raw("vision_feature_layer")
    count = len(layers) if isinstance(layers, list) else 1
    inputs = vision_width * count if count != 1 else vision_width
    return two_linears(class_name, c, inputs, hidden, hidden, bias=bias, **before)


def two_linears(
    class_name: str,
    c: ModelConfig,
    inputs: int,
    inner: int,
    out: int,
    *,
    bias: bool = True,
    act: Module | None = None,
    names: Sequence[str] = ("linear_1", "act", "linear_2"),
    **before: Module | None,
) -> Module:
    """linear_2(act(linear_1(x))) behind what stands ``before``, with the config's activation;
    ``names`` are those of the three."""
    return projector(
        class_name,
        **before,
        **{
            names[0]: Linear(inputs, inner, bias=bias),
            names[1]: act or activation(c.text("projector_hidden_act", default="gelu")),
            names[2]: Linear(inner, out, bias=bias),
        },
    )


# ---- whole families: a tower, a projector, any decoder

#: Further parts of a family, from the config, the tower's width and the decoder.
Beside = Callable[[ModelConfig, Dim, TextModel], "dict[str, Module | Parameter | None]"]


def two_layers(j: "Joined", c: ModelConfig, width: Dim, text: Dim) -> Module:
    """LLaVA's projector."""
    bias = c.flag("multimodal_projector_bias", default=True)
    return two_layer_projector(f"{j.name}MultiModalProjector", c, width, text, bias=bias)


@dataclass(frozen=True)
class Joined:
    """A family that joins a tower to a decoder: LLaVA, and what is LLaVA with differences.

    ``vision`` and ``text`` are the types of sections that name none, ``..._defaults`` their keys.
    ``projector`` is built from the config, the tower's width and the decoder's.  ``tied`` is the
    config class's default at the top; ``text_ties``: the text section's own word counts as well.
    ``towers`` and ``project`` are attribute names; ``beside`` gives parts that stand before the
    tower.  ``tying`` lists the keys that tie, the newest last.  ``inside``: files spell it as it is
    in memory, all parts in ``model`` and the head next to it; else in LLaVA's way.
    """

    name: str
    vision: str
    text: str
    projector: "Callable[[Joined, ModelConfig, Dim, Dim], Module]" = two_layers
    vision_defaults: Mapping[str, Any] = field(default_factory=dict)
    text_defaults: Mapping[str, Any] = field(default_factory=dict)
    tied: bool = True
    tying: tuple[str, ...] = ("tie_word_embeddings",)
    text_ties: bool = False
    towers: tuple[str, ...] = ("vision_tower",)
    project: str = "multi_modal_projector"
    beside: Beside = lambda *_: {}
    inside: bool = False

    def like(self, name: str, **differences: Any) -> "Joined":
        """The same family but for its name and the fields given."""
        return replace(self, name=name, **differences)

    def register(self, model_type: str | tuple[str, ...]) -> "Joined":
        """Add its two classes to the catalog; returns it."""
        register(
            model_type,
            {
                f"{self.name}ForConditionalGeneration": partial(_generation, self),
                f"{self.name}Model": partial(_joined, self),
            },
            base=f"{self.name}Model",
            base_prefix="model" if self.inside else "",
            aliases=INSIDE_ALIASES if self.inside else LLAVA_ALIASES,
            category="multimodal",
        )
        return self


def _joined_parts(j: Joined, c: ModelConfig) -> tuple[dict[str, Module | Parameter | None], bool]:
    """All parts, the decoder last, and whether its head is tied."""
    text = decoder(c, j.text, defaults=j.text_defaults)
    tower = any_model("vision_config", j.vision, "vision", j.vision_defaults)
    towers = [tower(c) for _ in j.towers]
    width = tower_width(towers[0])
    tied = c.flag(*j.tying, default=j.tied) or (j.text_ties and text.tied)
    return {
        **j.beside(c, width, text),
        **dict(zip(j.towers, towers, strict=True)),
        j.project: j.projector(j, c, width, text.hidden),
        "language_model": language_model(text, head=True, tied=tied),
    }, tied


def _joined(j: Joined, c: ModelConfig) -> Module:
    """The model without its head."""
    parts, _ = _joined_parts(j, c)
    model = parts["language_model"]
    assert isinstance(model, Module)
    if j.inside:
        parts["language_model"] = model["model"]
    else:
        del model.children["lm_head"]
        # A file of the model alone has no prefix before what a whole file keeps in ``model``.
        within = parts.pop("model", None)
        parts |= dict(within.children) if isinstance(within, Module) else {}
    return Module(f"{j.name}Model", parts)


def _generation(j: Joined, c: ModelConfig) -> Module:
    """The model and its head."""
    name = f"{j.name}ForConditionalGeneration"
    parts, tied = _joined_parts(j, c)
    if not j.inside:
        return Module(name, parts)
    text = decoder(c, j.text, defaults=j.text_defaults)
    to = "model.language_model.embed_tokens.weight" if tied else None
    return Module(name, model=_joined(j, c), lm_head=to_words(text.hidden, text.vocab, to))


def register_worded(
    model_type: str | tuple[str, ...],
    name: str,
    model: Builder | Mapping[str, FormPart],
    *,
    tied: bool | None = None,
    text: str = "language_model",
    text_ties: bool = False,
    head: FormPart | None = None,
    alone: Builder | None = None,
) -> Family:
    """Add a composite of two classes: ``{name}Model``, built by ``model`` or of its parts, and one
    with a head over the words of its decoder, the part ``text`` (without a name: it itself), or
    another ``head``. ``tied`` is the default of the config class (None: never tied), ``text_ties``:
    the text section's own word counts as well. ``alone``: its decoder has a model_type of its own,
    ``{model_type}_text``."""
    base = composed({f"{name}Model": model})[f"{name}Model"]
    ending = "ForConditionalGeneration"

    def with_words(c: ModelConfig) -> Module:
        if head:
            return Module(f"{name}{ending}", model=base(c), lm_head=head(c))
        inside = text_ties and c.section("text_config").tied(default=False)
        config = ModelConfig({"tie_word_embeddings": True}) if inside else c
        return worded(f"{name}{ending}", lambda _: base(c), tied=tied, text=text)(config)

    if alone:
        register_part(f"{model_type}_text", f"{name}TextModel", alone, "text decoder")
    return register_pair(model_type, name, with_words, base, "multimodal")


def worded(
    name: str, model: Builder, *, tied: bool | None, text: str = "language_model"
) -> Builder:
    """A class of a composite that has a head over the words of its decoder."""
    table = f"{text}.embed_tokens" if text else "embed_tokens"
    return causal_lm(name, model, embedding=table, tied_default=tied)


def register_flat(
    model_type: str,
    name: str,
    text: TextDecoder,
    towers: Mapping[str, str | Callable[[ModelConfig, Dim], Module]],
    *,
    tied: bool,
    files: Mapping[str, str] | None = None,
) -> Family:
    """Add a composite whose files keep the first release's names: the decoder under ``model`` and
    the ``towers`` next to it, classes of ``vision_config`` or what builds them of the config and
    the decoder's width; ``files`` has other names of parts. A save of ``{name}Model`` alone has the
    names of its attributes."""
    spelled = files or {}

    def towers_of(c: ModelConfig) -> dict[str, Module]:
        vision = c.section("vision_config")
        width = text.width(text_section(c))
        return {
            at: builder(build)(vision) if isinstance(build, str) else build(c, width)
            for at, build in towers.items()
        }

    def with_words(c: ModelConfig) -> Module:
        section = text_section(c)
        ties = c.tied(default=tied) or section.tied(default=tied)
        root = respelled(Module(f"{name}ForConditionalGeneration", dict(towers_of(c))), spelled)
        to = "model.embed_tokens.weight" if ties else None
        words = text.named(f"{name}Model", section)  # what it is in memory
        return root.adding(model=words, lm_head=text.words(section, to))

    def model(c: ModelConfig) -> Module:
        words = text.named(f"{text.name}TextModel", text_section(c))
        return Module(f"{name}Model", {**towers_of(c), "language_model": words})

    classes = {f"{name}ForConditionalGeneration": with_words, f"{name}Model": model}
    aliases = {f"model.{at}.": f"{spelled.get(at, at)}." for at in towers}
    return register(
        model_type,
        classes,
        base=next(iter(classes)) if files else "",
        aliases={"model.language_model.": "model.", **aliases},
        category="multimodal",
    )


def register_headed(
    model_type: str | tuple[str, ...],
    name: str,
    parts: Callable[[ModelConfig, bool], Mapping[str, Module]],
    *towers: str,
    more: Mapping[str, Builder] | None = None,
    ending: str = "ForConditionalGeneration",
) -> Family:
    """Add a composite that files spell in LLaVA's way: ``{name}{ending}``, whose ``parts`` have a
    decoder with a head, and ``{name}Model``, whose have one without. ``towers`` are further parts
    that stand in ``model`` where a file spells it as it is in memory, ``more`` further classes."""

    def class_of(class_name: str, head: bool) -> Builder:
        return lambda c: Module(class_name, {**parts(c, head)})

    headed = {f"{name}{ending}": True, f"{name}Model": False}
    classes = {class_name: class_of(class_name, head) for class_name, head in headed.items()}
    aliases = {**LLAVA_ALIASES, **{f"model.{tower}.": f"{tower}." for tower in towers}}
    return register(model_type, {**classes, **(more or {})}, aliases=aliases, category="multimodal")


def register_listener(
    model_type: str,
    name: str,
    text: str,
    tower: Builder | str,
    project: Callable[[ModelConfig, ModelConfig, Dim], Module],
    defaults: Mapping[str, Any] | None = None,
    *,
    tied: Callable[[ModelConfig], bool] = lambda _: False,
) -> Family:
    """Add such a composite of a ``tower`` for sound, what ``project``s to the width of a decoder,
    and that: of the type ``text``, its ``defaults`` under whatever its section says."""

    def parts(c: ModelConfig, head: bool) -> dict[str, Module]:
        values = {**(defaults or {}), **c.section("text_config").values}
        decoding = decoder(c.with_values(text_config=values), text)
        return {
            "audio_tower": within("audio_config", tower)(c),
            "language_model": language_model(decoding, head=head, tied=tied(c)),
            "multi_modal_projector": project(c, c.section("audio_config"), decoding.hidden),
        }

    return register_headed(model_type, name, parts, "audio_tower")


def projector(name: str, **parts: Module | Parameter | None) -> Module:
    """A module between tower and decoder."""
    return Module(name, parts, component=Component.PROJECTOR, part="projector")


def linear_row(widths: Sequence[int], act: str = "GELU") -> Module:
    """A linear layer from each width to the next, between every two an activation of that class."""
    row: list[Module] = []
    for inputs, outputs in pairwise(widths):
        row += [Activation(act), Linear(inputs, outputs)]
    return Sequential(*row[1:])


def projecting(module: Module) -> Module:
    """All matrices below count as the projector's, whatever they do inside of it."""
    if module.component in (Component.ATTENTION, Component.MLP):
        module.component = Component.PROJECTOR
    for child in module.children.values():
        if isinstance(child, Module):
            projecting(child)
    return module


def as_projector(module: Module) -> Module:
    """``module``, which stands between tower and decoder, in place."""
    module.component = Component.PROJECTOR
    module.part = "projector"
    return module


def linear_projector(inputs: int, outputs: int, *, bias: bool = True) -> Module:
    """One linear layer between tower and decoder."""
    return as_projector(Linear(inputs, outputs, bias=bias))
