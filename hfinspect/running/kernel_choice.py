"""The kernels that vLLM tries for packed linear layers, by generation of NVIDIA's cards."""

from typing import Final

from ..core.engine_answers import KernelRow
from .engine_lists import engine_lists
from .subject import Subject

#: Generation -> compute capabilities of its cards.
GENERATIONS: Final = (
    ("Turing", (75,)),
    ("Ampere", (80, 86)),
    ("Ada", (89,)),
    ("Hopper", (90,)),
    ("Blackwell", (100, 103)),
    ("Blackwell", (120, 121)),
)
#: The first ones of the list; the rest are for what these do not take.
_SHOWN: Final = 3
#: Format of compressed-tensors -> the format that kernels are listed under.
_COMPRESSED: Final = {
    "pack-quantized": "wna16",
    "float-quantized": "fp8",
    "int-quantized": "int8",
    "nvfp4-pack-quantized": "nvfp4",
    "mxfp4-pack-quantized": "mxfp4",
}


def kernel_format(subject: Subject) -> str | None:
    """The format of the packed linear layers, as vLLM lists kernels for it; None where it has no
    such list."""
    method = subject.method
    declared = subject.declared
    scheme = subject.scheme
    if method in ("awq", "gptq"):
        return "wna16"
    if method in ("fp8", "mxfp8"):
        if method == "mxfp8":
            return method
        return "fp8_block" if declared.names("weight_block_size") else "fp8"
    if method == "compressed-tensors":
        return _COMPRESSED.get(declared.text("format"))
    if method == "modelopt":
        for word, kind in (("NVFP4", "nvfp4"), ("MXFP8", "mxfp8"), ("FP8", "fp8")):
            if word in scheme:
                return kind
    return None


def kernels_of(kind: str, capability: int) -> tuple[str, ...]:
    """The kernels of a format on a card, in the order in which they are tried. One whose source
    names no card is left out after one that names this card: it need not run here."""
    names_card = False
    names: list[str] = []
    for name, least, families in engine_lists()["vllm"]["kernels"][kind]:
        family = capability // 10 * 10
        runs = capability >= least and (not families or {capability, family} & set(families))
        says = bool(least or families)
        if runs and (says or not names_card):
            names.append(name)
            names_card = names_card or says
    return tuple(names[:_SHOWN])


def kernel_rows(subject: Subject) -> tuple[KernelRow, ...]:
    """On the card that was named, else on each generation."""
    kind = kernel_format(subject)
    if kind is None or subject.maker not in ("", "nvidia"):
        return ()
    capability_here = subject.capability
    rows = []
    for generation, capabilities in GENERATIONS:
        for capability in capabilities:
            if capability_here not in (None, capability):
                continue
            names = kernels_of(kind, capability)
            if names:
                rows.append((generation, capability, names))
    if capability_here is not None and not rows and (names := kernels_of(kind, capability_here)):
        rows.append(("", capability_here, names))
    return _joined(rows)


def _joined(rows: list[tuple[str, int, tuple[str, ...]]]) -> tuple[KernelRow, ...]:
    """Cards of one generation with equal kernels in one row."""
    capabilities: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for generation, capability, names in rows:
        capabilities.setdefault((generation, names), []).append(capability)
    return tuple(
        KernelRow(f"{generation} {', '.join(map(spelled_capability, numbers))}".strip(), names)
        for (generation, names), numbers in capabilities.items()
    )


def spelled_capability(number: int) -> str:
    """``8.9`` for 89."""
    return f"{number // 10}.{number % 10}"
