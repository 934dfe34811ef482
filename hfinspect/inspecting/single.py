"""One model: its weights, and what its config predicts of them."""

from collections.abc import Mapping

from ..analysis.folding import answered_by_groups
from ..analysis.labels.routing import routing_of
from ..analysis.quantization.decode import decode
from ..analysis.renamed import with_known_names
from ..analysis.tensor_table import TensorTable
from ..core.checkpoint import Checkpoint, Finding
from ..core.collector import collector_paused
from ..core.refs import Origin
from ..errors import ConfigError, UnknownArchitectureError
from .build import NOTHING_MORE, Inspected, ReadContext
from .declared_class import predict_as
from .from_checkpoint import from_checkpoint

_NONE: Mapping[str, Mapping[str, object]] = {}


def inspect_weights(
    name: str,
    origin: Origin,
    checkpoint: Checkpoint,
    config: Mapping[str, object] | None,
    companions: Mapping[str, Mapping[str, object]] = _NONE,
    *,
    declared: str | None = None,
    where: str = "config.json",
    known: ReadContext = NOTHING_MORE,
) -> Inspected:
    """What the headers hold, next to what ``config`` (the file ``where``) predicts if it is known.

    ``declared`` is the class that the repo says it is. An unknown architecture or a malformed
    config is a finding: labels then come from names.
    """
    prediction = None
    if config is not None:
        try:
            prediction = predict_as(declared, config)
        except (ConfigError, UnknownArchitectureError) as error:
            text = f"{error}; labels come from tensor names"
            unknown = Finding(error.kind, text, where, severity="note")
            known = known._replace(findings=(*known.findings, unknown))
            if isinstance(error, ConfigError):
                known = known._replace(config_error=str(error))
    labels = None if checkpoint.format == "gguf" else prediction  # GGUF has names of its own
    renamed = None
    if known.layout != "adapter":  # whose names are PEFT's
        checkpoint, renamed = with_known_names(checkpoint, labels)

    def answer(table: TensorTable) -> Inspected:
        decoding = decode(table, config, companions, labels)
        return from_checkpoint(
            name,
            origin,
            checkpoint,
            table,
            prediction,
            decoding,
            config=config,
            known=known,
            companions=companions,
            where=where,
            renamed=renamed,
        )

    with collector_paused():
        return answered_by_groups(checkpoint.shards, labels, routing_of(config, {}), answer)
