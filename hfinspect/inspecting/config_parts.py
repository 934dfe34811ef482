"""What config.json alone predicts: of a pipeline each part, of any other model the one."""

from collections.abc import Mapping
from typing import Any

from ..checkpoints.choose import choose
from ..checkpoints.one_file import read_config
from ..checkpoints.read import folder_of
from ..checkpoints.repo_layout import Layout
from ..checkpoints.sub_models import refuse_models_below
from ..core.given_config import config_given
from ..core.read_fields import ConfigPart
from ..core.refs import Origin
from ..sources.opening import Access
from .assumed import assumed_class, assumed_finding
from .config_alone import no_config
from .inspect_run import is_config_file, json_of, of_pipeline
from .overriding import changed
from .pipelines import DeclaredPart, declared_model, several_models


def declared_parts(
    target: Any, access: Access, part: ConfigPart
) -> tuple[tuple[DeclaredPart, ...], Origin]:
    """What ``hfinspect.api.predict_parts`` returns."""
    config_values = config_given(target)
    if config_values is not None:
        return (_only_part(config_values, part.overrides),), Origin("mapping", "config")
    overrides = part.overrides
    ref = of_pipeline(access.resolve(target, part.revision))
    with access.opened(ref) as opened:
        picked = json_of(ref) or ref.file or part.file
        files = opened.list_files()
        if is_config_file(picked):
            config: Mapping[str, Any] | None = read_config(opened, picked)
        else:
            if picked is not None:
                choose(files, picked)  # a file that is not there is an error
            beside = f"{folder_of(files, picked)}config.json"
            config = read_config(opened, beside if beside in files else "config.json")
        model = None if picked else declared_model(opened, overrides)
        if model is not None and overrides and model.layout is Layout.PIPELINE:
            raise several_models(str(target), [(one.name, one.declared) for one in model.parts])
        if model is not None and model.parts and not model.is_single:
            return model.parts, opened.origin
        if config is None:
            refuse_models_below(opened.origin, files)
            raise no_config(str(target), files)
        return (_only_part(config, overrides),), opened.origin


def _only_part(config: Mapping[str, Any], overrides: Mapping[str, Any] | None) -> DeclaredPart:
    changed_config = changed(config, overrides)
    assumed = assumed_class(changed_config.prediction, changed_config.config)
    notes = (*changed_config.findings, *assumed_finding(assumed, changed_config.prediction))
    return DeclaredPart(
        "", "", changed_config.config, changed_config.prediction, changed_config.overrides, notes
    )
