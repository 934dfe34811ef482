"""Inkling 2 Loop's text tower (2026; transformers/models/inkling2_loop): Inkling 2's, of which a
token goes through some layers several times, each pass with a cache of its own; gates in these
layers mix in what the pass before made."""

from ..core.config import MAX_COUNT
from ..trees import Dim, Layers, ModelConfig, Module, Weight, config_defaults, register
from ..trees.modules import each_module, once
from . import inkling2_text

_DEFAULTS = config_defaults("inkling2_loop_text")


def _loop(c: ModelConfig, key: str, first: str, default: int, minimum: int = 1) -> Dim:
    """A number of the loop; the first release says it in ``loop_config``."""
    loop = c.section("loop_config")
    if loop.has(first):
        return loop.dim(first, minimum=minimum)
    return c.dim(key, default=default, minimum=minimum)


def _looped(layers: Layers, c: ModelConfig, h: Dim, start: int, end: int) -> Layers:
    """These layers with gates where the loop is; ``like`` says what all passes keep."""
    rank = _loop(c, "loop_gate_rank", "gate_rank", 64)
    passes = int(_loop(c, "loop_num_passes", "num_passes", 3))
    blocks = [layers.inside(str(i)) for i in range(len(layers.children))]
    if passes * len(blocks) > MAX_COUNT:
        expected = f"at most {MAX_COUNT:,} layers on the way of a token"
        raise c.error("loop_num_passes", passes, expected)
    up = Weight(h, rank, kind="gate")
    parts = {"down_weight": Weight(rank, h * 2), "gain_weight": up, "forget_weight": up}
    gates = {name: Module("Inkling2MessageGate", parts) for name in ("attn", "k", "v", "mlp")}

    def gated(block: Module) -> Module:
        name = block.class_name.replace("DecoderLayer", "LoopDecoderLayer")
        return Module(name, block.children, controllers=Module("MessageGates", gates))

    blocks[start:end] = once(blocks[start:end], gated)
    once_through = Layers(blocks, windows=layers.windows)
    far = layers.windows(len(blocks)) if layers.windows else ()
    windows = (*far, *tuple(far[start:end]) * (passes - 1))
    all_passes = [*blocks, *blocks[start:end] * (passes - 1)]
    once_through.like = Layers(all_passes, windows=lambda _: windows)
    return once_through


def model(c: ModelConfig) -> Module:
    c = c.with_defaults(**_DEFAULTS)
    root = inkling2_text.model(c)
    h = c.dim("hidden_size")
    start = _loop(c, "loop_layer_index_start", "core_start", 6)
    end = _loop(c, "loop_layer_index_end", "core_end", 18, minimum=int(start))
    layers = root.inside("layers")
    assert isinstance(layers, Layers)
    root.children["layers"] = _looped(layers, c, h, int(start), int(end))
    queries = Weight((end - start) * 2, h)
    for name in ("queries", "kv_queries"):
        root.children[f"middle_cycle_cross_pass_{name}"] = queries
    for module in each_module(root):
        if module.class_name.startswith("Inkling2"):
            module.class_name = module.class_name.replace("Inkling2", "Inkling2Loop", 1)
    return root


def causal(c: ModelConfig) -> Module:
    """As Inkling 2's, with rows of padding in the head."""
    llm = model(c)
    unembed = inkling2_text.words(c.with_defaults(**_DEFAULTS))
    base = Module("Inkling2LoopTextModel", llm=llm.adding(unembed=unembed))
    return Module("Inkling2LoopForCausalLM", model=base)


_CLASSES = {"Inkling2LoopForCausalLM": causal, "Inkling2LoopTextModel": model}
register("inkling2_loop_text", _CLASSES, base_prefix="model.llm", category="text decoder")
