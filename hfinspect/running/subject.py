"""The model that engines are asked about, and the card that it should run on."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..analysis.quantization.declared import Declared, declared_in
from ..core.footprint import Memory
from ..core.memory_options import InferenceOptions
from ..core.records import dataclass
from ..core.results import Inspection
from ..core.runs_options import RunsOptions
from ..core.text import clean
from ..errors import UsageError
from ..formats.gguf.file_kinds import MODEL, in_words, kind_of_file
from ..sizing.cards import Card, cards
from ..sizing.devices import Device
from ..sizing.memory_request import inference_request
from ..sizing.plan import plan
from ..trees.prediction import Prediction

#: Tokens that a line should at least offer where nobody names a context.
LEAST_CONTEXT: Final = 8192
#: A word of a config that a reason repeats.
_MAX_WORD: Final = 60


@dataclass(frozen=True)
class Subject:
    """What was read of a model, and what its user has.

    Fields:
        inspection: what was read
        prediction: of its config; None where the catalog does not know the class
        options: what the user named
        device: the card, or its bytes; None where none was named
    """

    inspection: Inspection
    prediction: Prediction | None
    options: RunsOptions
    device: Device | None

    @property
    def architecture(self) -> str:
        """The class; empty where the config names none."""
        return clean(self.inspection.architecture or "", _MAX_WORD)

    @property
    def model_type(self) -> str:
        """Of config.json, of a GGUF file its architecture; empty where there is neither."""
        return clean(self.inspection.model_type or "", _MAX_WORD)

    @property
    def is_gguf(self) -> bool:
        return self.inspection.format == "gguf"

    @property
    def other_kind(self) -> str:
        """What a GGUF file is that is no model, in words; empty of all else."""
        if not self.is_gguf:
            return ""
        kind = kind_of_file(self.inspection.metadata)
        return "" if kind == MODEL else in_words(kind)

    @property
    def is_pipeline(self) -> bool:
        """Whether it is several models, of which no engine here takes the whole."""
        inspection = self.inspection
        return bool(inspection.members) and inspection.layout != "sentence-transformers"

    @property
    def of_diffusers(self) -> bool:
        """Whether the config is that of a module of diffusers, which has no model_type."""
        return not self.model_type and "_class_name" in (self.inspection.config or {})

    @property
    def own_code(self) -> bool:
        """Whether the config names classes of the repo's own code."""
        return isinstance((self.inspection.config or {}).get("auto_map"), dict)

    @property
    def method(self) -> str:
        """How the weights are packed, as the config spells it; empty where they are not."""
        packed = self.inspection.quantization
        return "" if packed is None else clean(packed.method, _MAX_WORD)

    @property
    def declared(self) -> Declared:
        """What the config says of the packing."""
        return declared_in(self.inspection.config, {})

    @property
    def scheme(self) -> str:
        """What was found of the packing, or what ModelOpt calls it: ``NVFP4``, ``FP8``."""
        packed = self.inspection.quantization
        scheme = "" if packed is None else packed.scheme
        return (scheme or self.declared.text("quant_algo")).upper()

    @property
    def card(self) -> Card | None:
        """The row of the card's table; None for a size alone."""
        return None if self.device is None else cards().get(self.device.name)

    @property
    def capability(self) -> int | None:
        """CUDA's compute capability, 89 for 8.9; None for a size, and for cards of others."""
        family = "" if self.card is None else self.card.family
        major, _, minor = family.partition(".")
        return int(major) * 10 + int(minor) if major.isdigit() and minor.isdigit() else None

    @property
    def maker(self) -> str:
        """``nvidia``, ``amd``, ``apple``, ``other``; empty where no card is known."""
        if self.card is None:
            return ""
        if self.capability is not None:
            return "nvidia"
        if self.card.kind == "apple":
            return "apple"
        return "amd" if self.card.family.startswith("gfx") else "other"

    @property
    def name(self) -> str:
        """The model as a command takes it, quoted for a shell."""
        return shlex.quote(self.place)

    @property
    def place(self) -> str:
        """The repo, or the folder or file as it was named; ``MODEL`` of a config in Python."""
        origin = self.inspection.origin
        if origin.kind == "mapping":
            return "MODEL"
        if origin.repo_id is not None:
            return origin.repo_id
        target = self.inspection.target
        is_config = origin.kind == "file" and self.inspection.source == "config"
        return str(Path(target).parent) if is_config else target

    @property
    def revision(self) -> str:
        """``--revision`` and its value, with a space before; empty where none was named."""
        revision = self.inspection.origin.revision
        return f" --revision {shlex.quote(revision)}" if revision else ""

    @property
    def format_of_packing(self) -> str:
        """What compressed-tensors calls the packing; empty where the config does not say it."""
        return clean(self.declared.text("format"), _MAX_WORD)

    def sized(
        self, engine: str, context: int | str | None = None, nbytes: int | None = None, **more: Any
    ) -> Memory | str:
        """The sum of memory under an engine of ``memory``, or why there is none. ``nbytes``: what
        it has of each device, where that is less than the engine of ``memory`` takes."""
        options = self.options
        inference = InferenceOptions(
            engine=engine,
            on=options.on,
            context=options.context if context is None else context,
            batch=options.batch,
            tensor_parallel=options.tensor_parallel,
            pipeline_parallel=options.pipeline_parallel,
        )
        try:
            request = inference_request(replace(inference, **more))
            if nbytes is not None and request.device is not None:
                request = replace(request, device=replace(request.device, nbytes=nbytes))
            return plan(self.inspection, self.prediction, request)
        except UsageError as error:
            return f"{error}: {error.hint}" if error.hint else str(error)
