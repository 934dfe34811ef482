"""The first two lines of a report: how large, in what dtype, and how the model is built."""

from collections.abc import Iterator

from ..core.model_facts import ModelFacts
from ..core.precision import precision
from ..core.results import Inspection
from ..core.text import byte_size, rounded_count


def summary(inspection: Inspection) -> str:
    """``70.6 B parameters, BF16, 141 GB``; what is unknown is left out or said to be."""
    count = inspection.parameters
    least = "" if inspection.holds_all_files else "at least "
    texts = [
        "parameters unknown" if count is None else f"{least}{rounded_count(count)} parameters",
        _active(inspection),
        precision(inspection),
        "" if inspection.nbytes is None else byte_size(inspection.nbytes),
    ]
    return ", ".join(text for text in texts if text)


def _active(inspection: Inspection) -> str:
    active = inspection.active_parameters
    return "" if active is None else f"{rounded_count(active)} active"


def build(facts: ModelFacts) -> str:
    """``80 layers, width 8,192, 64/8 heads, vocabulary 128,256, context 131,072``."""
    return ", ".join(_build(facts))


def _build(facts: ModelFacts) -> Iterator[str]:
    if facts.layers and facts.single_layers:
        yield f"{facts.layers} + {facts.single_layers} layers"
    elif facts.layers:
        yield _counted(facts.layers, "layer")
    sides = {"encoder": facts.encoder_layers, "decoder": facts.decoder_layers}
    known = {side: count for side, count in sides.items() if count}
    if known:
        last = next(reversed(known.values()))
        texts = " and ".join(f"{count} {side}" for side, count in known.items())
        yield f"{texts} layer{'' if last == 1 else 's'}"
    if facts.depths:
        yield f"{' + '.join(map(str, facts.depths))} layers"
    if facts.width:
        yield f"width {facts.width:,}"
    if facts.widths:
        yield f"widths {_listed(facts.widths)}"
    if facts.heads:
        yield _heads(facts)
    if facts.experts:
        used = f", {facts.experts_per_token} per token" if facts.experts_per_token else ""
        yield f"{facts.experts:,} experts{used}"
    if facts.vocabulary:
        yield f"vocabulary {facts.vocabulary:,}"
    if facts.context:
        yield f"context {facts.context:,}"
    yield from _inputs(facts)
    yield from _diffusion(facts)


def _heads(facts: ModelFacts) -> str:
    """Key and value heads after a stroke, where there are fewer of them."""
    shared = f"/{facts.kv_heads}" if facts.kv_heads not in (None, facts.heads) else ""
    decoder = f" ({facts.decoder_heads} in the decoder)" if facts.decoder_heads else ""
    return f"{facts.heads}{shared} head{'' if facts.heads == 1 else 's'}{decoder}"


def _inputs(facts: ModelFacts) -> Iterator[str]:
    if facts.image_size:
        yield f"image {_side(facts.image_size)}"
    if facts.patch_size:
        yield f"patch {_side(facts.patch_size)}"
    if facts.vision_layers:
        width = f" of width {facts.vision_width:,}" if facts.vision_width else ""
        yield f"{_counted(facts.vision_layers, 'vision layer')}{width}"
    if facts.mel_bins:
        yield f"{facts.mel_bins} mel bins"
    if facts.audio_layers:
        width = f" of width {facts.audio_width:,}" if facts.audio_width else ""
        yield f"{_counted(facts.audio_layers, 'audio layer')}{width}"


def _diffusion(facts: ModelFacts) -> Iterator[str]:
    if facts.block_channels:
        yield f"channels {_listed(facts.block_channels)}"
    if facts.in_channels:
        yield f"{facts.in_channels} in"
    if facts.latent_channels:
        yield f"{facts.latent_channels} latent"
    if facts.sample_size:
        yield f"sample {_side(facts.sample_size)}"
    if facts.cross_attention_width:
        yield f"text width {facts.cross_attention_width:,}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _listed(numbers: tuple[int, ...]) -> str:
    return "-".join(map(str, numbers))


def _side(size: int | tuple[int, ...]) -> str:
    return "x".join(map(str, size)) if isinstance(size, tuple) else str(size)


def hub_line(inspection: Inspection) -> str:
    """Licence and kin as the Hub has them; empty where it was not asked."""
    info = inspection.origin.hub
    if info is None:
        return ""
    tags = [tag for tag in info.tags if ":" not in tag and tag not in (info.library, info.task)]
    shown = " ".join(tags[:4]) + (f" and {len(tags) - 4} more" if len(tags) > 4 else "")
    how = f" ({info.gated})" if isinstance(info.gated, str) else ""
    texts = [
        f"licence {info.license}" if info.license else "",
        f"gated{how}" if info.gated else "",
        info.library or "",
        info.task or "",
        f"modified {info.last_modified[:10]}" if info.last_modified else "",
        f"tags {shown}" if tags else "",
    ]
    return ", ".join(text for text in texts if text)
