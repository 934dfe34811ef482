"""``hfinspect tree MODEL``: the structure that print(model) shows."""

from typing import Annotated

import typer

from ..core.read_fields import ConfigPart
from . import options
from .option_groups import arguments_of, grouped


def register(app: typer.Typer) -> None:
    app.command("tree", epilog="Example: hfinspect tree openai-community/gpt2 --depth 3")(tree)


@grouped
def tree(
    model: options.Model,
    *,
    part: ConfigPart,
    depth: Annotated[
        int | None, typer.Option("--depth", min=0, help="Number of levels to show; 0 is the model.")
    ] = None,
    format_: options.Format = "table",
    output: options.Output = None,
    access: options.AccessFlags,
) -> None:
    """Show the module tree with shapes and parameters."""
    from .. import api
    from ..core.overrides import titled
    from ..errors import HfinspectError
    from ..reports.module_tree import ModuleTrees, PartTree, lay_out
    from ..trees.structure import outline
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    with reading_line(model, revision=part.revision, what="config.json"):
        answer, origin = api.predict_parts(model, **arguments_of(part), **access.arguments())
    parts = [
        PartTree(one.name, one.declared, str(one.prediction))
        if isinstance(one.prediction, HfinspectError)
        else PartTree(
            one.name, one.declared, None, outline(one.prediction.root, one.prediction.specs, depth)
        )
        for one in answer
    ]
    changes = tuple(change for one in answer for change in one.overrides)
    notes = tuple(finding.text for one in answer for finding in one.findings)
    trees = ModuleTrees(model, changes, notes, parts)
    emit(format_, lambda: lay_out(titled(origin.name, changes), trees), trees.to_dict, output)
