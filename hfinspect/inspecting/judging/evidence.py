"""What a judgement rests on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.checkpoint import Checkpoint
from ...core.expectation import Expectation
from ...core.refs import Origin
from ...core.tensor import TensorInfo
from ...trees.prediction import Prediction

if TYPE_CHECKING:
    from ...analysis.quantization.decoding import Decoding
    from ...analysis.renamed import Renamed
    from ...sources.source import FileEntry


class Evidence(NamedTuple):
    """One checkpoint as it was read, next to what its config promises.

    ``checkpoint`` are its files, ``tensors`` what they hold, with labels; ``prediction`` is what
    the config (``where``) promises, ``expectation`` how both differ: each None where nothing
    promises anything. ``decoding`` is how the weights are packed, ``companions`` the small JSON
    files next to them by name, ``files`` the listing of the repo or folder, ``layout`` what kind
    of model it is, as in ``Inspection.layout``. ``origin`` is where it lies, ``unfinished`` what an
    interrupted download left there, ``config_error`` why no class can be built from the config,
    ``dtypes`` those of the tensors. ``renamed`` are tensors that
    have other names in the files than in ``checkpoint``; ``base_config`` is that of an adapter's
    base.
    """

    checkpoint: Checkpoint
    tensors: Sequence[TensorInfo]
    prediction: Prediction | None = None
    expectation: Expectation | None = None
    decoding: Decoding | None = None
    config: Mapping[str, Any] | None = None
    companions: Mapping[str, Mapping[str, object]] = {}
    files: Mapping[str, FileEntry] = {}
    layout: str = "model"
    where: str = "config.json"
    origin: Origin | None = None
    config_error: str = ""
    dtypes: Collection[str] = ()
    unfinished: Sequence[str] = ()
    renamed: Renamed | None = None
    base_config: Mapping[str, Any] | None = None
