"""The answers of all engines that were named, about one model."""

from ..core.engine_answers import EngineAnswers, TrainingLaunch
from ..core.fitting import NamedDevice
from ..core.precision import precision
from ..core.results import Inspection
from ..core.runs_options import RunsOptions
from ..sizing.devices import parse_device, parse_tokens
from ..trees.prediction import Prediction
from .registry import find_loaders
from .subject import Subject


def checked_options(options: RunsOptions) -> None:
    """Raises UsageError before anything is read."""
    find_loaders(options.engine)
    if options.on is not None:
        parse_device(options.on)
    if options.context is not None:
        parse_tokens(options.context)


def answered(
    inspection: Inspection, prediction: Prediction | None, options: RunsOptions
) -> EngineAnswers:
    """What each engine does with the model. Raises UsageError for options that are not possible."""
    device = None if options.on is None else parse_device(options.on)
    subject = Subject(inspection, prediction, options, device)
    answers = tuple(loader.answer(subject) for loader in find_loaders(options.engine))
    training: tuple[TrainingLaunch, ...] = ()
    unknown = ""
    if options.train is not None:
        from .training_launch import training_launches  # most questions are not about training

        training, unknown = training_launches(subject)
    return EngineAnswers(
        target=inspection.target,
        origin=inspection.origin,
        whole=inspection.whole,
        problems=inspection.problems,
        architecture=inspection.architecture,
        model_type=inspection.model_type,
        precision=precision(inspection),
        answers=answers,
        device=None if device is None else NamedDevice(device.name, device.nbytes, device.count),
        training=training,
        training_unknown=unknown,
    )
