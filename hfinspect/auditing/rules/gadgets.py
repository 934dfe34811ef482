"""HI416 to HI423: what runs code, or leaves the folder, without any pickle."""

import re
from collections.abc import Iterator, Mapping

from ...checkpoints.one_file import Read
from ...core.text import clean
from ...formats.gguf.key_values import MAX_TEXT_BYTES
from ...formats.jinja.template_blocks import MAX_TEMPLATE_CHARS
from ...layers.sentence_modules import LIBRARIES
from ..facts.target import TargetFacts
from ..facts.templates import danger_in, templates
from ..facts.yaml_names import names_in
from ..registry import RuleFinding, rule

#: What diffusers looks a component's class up in, without any code of the repo: the libraries of
#: ``LOADABLE_CLASSES`` (diffusers/pipelines/pipeline_loading_utils.py) and, of version 0.42, the
#: modules of ``diffusers.pipelines``.
_PIPELINE_LIBRARIES = frozenset(
    """
    diffusers transformers onnxruntime optimum peft flax k_diffusion invisible_watermark ace_step
    allegro animatediff anyflow audioldm2 aura_flow bria bria_fibo bria_fibo2 chroma chronoedit
    cogvideo cogview3 cogview4 consisid consistency_models controlnet controlnet_hunyuandit
    controlnet_sd3 cosmos ddim ddpm deepfloyd_if deprecated diffusion_gemma dit dreamlite
    easyanimate ernie_image flux flux2 glm_image helios hidream_image hunyuan_image hunyuan_video
    hunyuan_video1_5 hunyuandit ideogram4 joyimage kandinsky kandinsky2_2 kandinsky3 kandinsky5
    kandinsky6 kolors krea2 latent_consistency_models latent_diffusion latte ledits_pp llada2
    longcat_audio_dit longcat_image ltx ltx2 lucy lumina lumina2 marigold mochi motif_video
    nucleusmoe_image omnigen ovis_image pag pixart_alpha prx qwenimage qwenimage21 rfd4_proteina
    sana sana_video sana_wm shap_e skyreels_v2 stable_audio stable_audio_3 stable_cascade
    stable_diffusion stable_diffusion_3 stable_diffusion_xl stable_video_diffusion t2i_adapter
    visualcloze wan z_image
    """.split()
)
#: Where the class of an adapter's base model may come from.
_BASE_LIBRARIES = frozenset(
    """transformers diffusers sentence_transformers timm torch torchvision peft trl open_clip
    speechbrain flair adapters optimum unsloth __main__""".split()
)


def _named(facts: TargetFacts, name: str) -> Iterator[Read[object]]:
    for path, fact in facts.json.items():
        if path.rpartition("/")[2] == name:
            yield fact


@rule("HI416", "class-by-name", "warning")
def class_by_name(facts: TargetFacts) -> Iterator[RuleFinding]:
    """modules.json, model_index.json or adapter_config.json names a class that no library defines.

    Why: the loader imports what is named: code of the repo with trust_remote_code, or any module
    that is installed. PEFT imports `parent_library` without being allowed to, so that an unknown
    one is an error.

    Fix: read the code, and pin the revision; or use a class of the library.
    """
    for fact in _named(facts, "modules.json"):
        for item in fact.value if isinstance(fact.value, list) else []:
            kind = item.get("type") if isinstance(item, dict) else None
            if isinstance(kind, str) and kind and kind.partition(".")[0] not in LIBRARIES:
                yield RuleFinding(f"a module's type is {clean(kind, 120)}", fact.path)
    for fact in _named(facts, "model_index.json"):
        for entry, value in (fact.mapping or {}).items():
            if entry == "_class_name" and isinstance(value, list):
                yield RuleFinding(f"the pipeline's class is {clean(str(value), 120)}", fact.path)
            elif isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
                root = value[0].partition(".")[0]
                file = f"{entry}/{value[0].replace('.', '/')}.py"
                if root not in _PIPELINE_LIBRARIES or file in facts.files:
                    text = f"{clean(entry, 60)} is {clean(f'{value[0]}.{value[1]}', 120)}"
                    yield RuleFinding(text, fact.path)
    for fact in _named(facts, "adapter_config.json"):
        mapping = (fact.mapping or {}).get("auto_mapping")
        library = mapping.get("parent_library") if isinstance(mapping, Mapping) else None
        if isinstance(library, str) and library.partition(".")[0] not in _BASE_LIBRARIES:
            severity = "warning" if library.startswith("transformers_modules.") else "error"
            text = f"auto_mapping.parent_library is {clean(library, 120)}"
            yield RuleFinding(text, fact.path, severity=severity)


#: transformers/integrations/hub_kernels.py, ``is_kernel``; a prefix with a bar may precede it.
_KERNEL = re.compile(r"(?:[\w-]+\|)?[^/:]+/[^/:]+(?:@[^/:]+)?(?::[^/:]+)?")
_KERNEL_KEYS = frozenset(
    """_attn_implementation attn_implementation _attn_implementation_internal
    _experts_implementation experts_implementation""".split()
)


#: Whose kernels transformers 5 takes without being allowed to.
_TRUSTED_KERNELS = re.compile(r"(?:[\w-]+\|)?kernels-community/")


@rule("HI417", "hub-kernel", "error")
def hub_kernel(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A config's attention implementation is a kernel of another repo.

    Why: transformers downloads it and runs its code, before version 5 without being allowed to;
    whoever owns that repo decides what runs here. One of kernels-community is a warning.

    Fix: remove the key; choose a kernel when the model is loaded.
    """
    for fact in facts.json.values():
        seen: set[str] = set()
        pending: list[object] = [fact.value]
        while pending:
            section = pending.pop()
            if isinstance(section, list):
                pending += section
            if not isinstance(section, Mapping):
                continue
            for key, value in section.items():
                values = value.values() if isinstance(value, Mapping) else [value]
                for text in values if key in _KERNEL_KEYS else []:
                    if isinstance(text, str) and _KERNEL.fullmatch(text) and text not in seen:
                        seen.add(text)
                        severity = "warning" if _TRUSTED_KERNELS.match(text) else "error"
                        setting = f"{key} is {clean(text, 120)}"
                        yield RuleFinding(setting, fact.path, severity=severity)
                pending.append(value)


@rule("HI418", "custom-generate", "warning")
def custom_generate(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A folder `custom_generate` holds a way to generate text of the repo's own.

    Why: with trust_remote_code transformers runs its generate.py in place of its own, although no
    config names it.

    Fix: read the code, and pin the revision.
    """
    for path in facts.files:
        if path.startswith("custom_generate/") and path.endswith(".py"):
            yield RuleFinding("code that replaces generate()", path)


@rule("HI419", "chat-template", "error")
def chat_template(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A chat template reaches for Python's insides, such as `__class__` or `__globals__`.

    Why: a template is a program. Where one is rendered without a sandbox, these attributes lead to
    any code; no conversation needs them.

    Fix: do not use the template; restore the original.
    """
    for path, name, text in templates(facts):
        danger = danger_in(text)
        if danger is not None:
            described = f"{clean(name, 80)} {clean(danger, 120)}"
            yield RuleFinding(f"{described} (the sandbox of transformers stops it)", path)
        elif len(text) >= MAX_TEMPLATE_CHARS or (
            path in facts.weights and len(text.encode("utf-8", "replace")) >= MAX_TEXT_BYTES
        ):
            described = f"{clean(name, 80)} is too long: its end is not looked at"
            yield RuleFinding(described, path)


@rule("HI420", "onnx-outside", "error")
def onnx_outside(facts: TargetFacts) -> Iterator[RuleFinding]:
    """An ONNX file takes weights from a file outside of its folder.

    Why: the loader opens that file of the machine, and what it holds becomes part of the model.

    Fix: do not load the file; keep external data next to it.
    """
    for gadget in facts.gadgets:
        if gadget.rule == "onnx-outside":
            yield RuleFinding(gadget.text, gadget.path, severity=gadget.severity)


@rule("HI421", "graph-files", "error")
def graph_files(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A SavedModel holds operators that read, write or list files, or call Python.

    Why: a graph is a program; these run with the user's rights when the model is loaded or used.

    Fix: do not load it unless you know what the operators are for.
    """
    for gadget in facts.gadgets:
        if gadget.rule == "graph-files":
            yield RuleFinding(gadget.text, gadget.path, severity=gadget.severity)


@rule("HI423", "yaml-code", "error")
def yaml_code(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A file of YAML names what its loader imports or calls: a tag of Python, hyperpyyaml or hydra.

    Why: PyYAML's unsafe loaders, SpeechBrain, NeMo and hydra call what such a tag or `_target_`
    names, with the arguments below it, before anything of the model is looked at. A class of an
    unknown package is a warning.

    Fix: read the file; load it with yaml.safe_load, or take the settings from a source you trust.
    """
    for path, text in facts.yaml.items():
        for name in names_in(text):
            severity = "error" if name.runs else "warning"
            yield RuleFinding(clean(name.text, 200), path, severity=severity)
