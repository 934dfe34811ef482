"""Samples of a third attack: forged dtypes, and texts of exported programs that sympy evaluates."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from .evil import EVIL_PICKLE, OPEN, Sample
from .opcodes import build, call, name, value

SCRIPTED = Path(__file__).parents[2] / "fixtures" / "trust" / "scripted.json"
EXPORTED = Path(__file__).parents[2] / "fixtures" / "trust" / "exported.json"
#: Flags that say that a type holds objects.
FORGED = (-1, 1, 63, 255)
#: What the loader evaluates where an expression stands.
EXPRESSIONS = {
    "a call by name": f"eval({OPEN!r})",
    "a call in an argument": f"Add(Integer(1), Integer(len(str({OPEN}))))",
    "an attribute": f"Integer(1).__class__.__base__ if {OPEN} else 1",
    "an import": "__import__('os').system('touch canary')",
    "in a symbol's name": f"Symbol(str({OPEN}))",
    "a lambda": f"(lambda: {OPEN})()",
}


#: What TorchScript runs as it is loaded, spelled in all the ways that its parser takes.
SCRIPTS = {
    "torch.save": '    torch.save(w, "canary")\n',
    "a text is saved": '    torch.save("hi", "canary")\n',
    "another name for torch": '    s = torch\n    s.save(w, "canary")\n',
    "another name for the operator": '    s = torch.save\n    s(w, "canary")\n',
    "by its namespace": '    ops.aten.save(w, "canary")\n',
    "a namespace under another name": '    o = ops.aten\n    o.save(w, "canary")\n',
    "torch.from_file": '    t = torch.from_file("canary", True, 64, dtype=0)\n'
    "    self.w = torch.add(t, 1)\n",
}
#: The same, for whoever looks for the text ``torch.save`` alone.
FORMED = {
    "getattr": '    getattr(torch, "save")(w, "canary")\n',
    "getattr of a text in parts": '    getattr(torch, "sa" "ve")(w, "canary")\n',
    "white space": '    torch . save(w, "canary")\n',
    "a line that goes on": '    torch.\\\n  save(w, "canary")\n',
    "a comment between": '    (torch. # x\n  save)(w, "canary")\n',
}


#: Without a sandbox each opens a file; none spells an attribute of Python's in one piece.
TEMPLATES = {
    "a loop variable": "{% for k in ['__in' ~ 'it__'] %}{% for g in ['__glo' ~ 'bals__'] %}"
    "{{ cycler('a')[k][g]['os'].system('touch canary') }}{% endfor %}{% endfor %}",
    "a macro's argument": "{% macro m(x, k, g) %}{{ x[k][g]['os'].system('touch canary') }}"
    "{% endmacro %}{{ m(cycler('a'), '__in' + 'it__', '__glo' + 'bals__') }}",
    "map by attribute": "{{ ([cycler('a')]|map(attribute='_' ~ '_init_' ~ '_')|map(attribute="
    "'_' ~ '_globals_' ~ '_')|first)['os'].system('touch canary') }}",
    "map('attr')": "{{ ([cycler('a')]|map('attr', '_' ~ '_init_' ~ '_')|map('attr',"
    "'_' ~ '_globals_' ~ '_')|first)['os'].system('touch canary') }}",
    "per cent": "{{ cycler('a')['%sinit%s' % ('_' * 2, '_' * 2)]"
    "['%sglobals%s' % ('_' * 2, '_' * 2)]['os'].system('touch canary') }}",
    "the key of a dict": "{{ cycler('a')[dict(_a=1)|list|first|replace('a', '_init_') ~ '_']"
    "['_' ~ (dict(_globals_=1)|list|first) ~ '_']['os'].system('touch canary') }}",
    "a number": "{% set u = '%c' % 95 %}{{ cycler('a')[u ~ u ~ 'init' ~ u ~ u]"
    "[u ~ u ~ 'globals' ~ u ~ u]['os'].system('touch canary') }}",
    "an entity": "{% set u = ('&#95;'|safe).unescape() %}{{ cycler('a')[u ~ u ~ 'init' ~ u ~ u]"
    "[u ~ u ~ 'globals' ~ u ~ u]['os'].system('touch canary') }}",
    "a namespace's attribute": "{% set ns = namespace(k='_') %}"
    "{% set ns.k = ns.k ~ '_init_' ~ '_' %}{{ cycler('a')[ns.k]['_' ~ '_globals_' ~ '_']['os']"
    ".system('touch canary') }}",
    "a block": "{% set k %}_{{ '_init_' }}_{% endset %}{% set g %}_{{ '_globals_' }}_{% endset %}"
    "{{ cycler('a')[k][g]['os'].system('touch canary') }}",
    "a bare name": "{% set x = [lipsum]|first %}{{ x['_' ~ '_globals_' ~ '_']['os']"
    ".system('touch canary') }}",
    "a bare name in a dict": "{{ {'a': lipsum}.a['_' ~ '_globals_' ~ '_']['os']"
    ".system('touch canary') }}",
    "groupby": "{{ ([cycler('a')]|groupby('_' ~ '_init_' ~ '_')|first|first)"
    "['_' ~ '_globals_' ~ '_']['os'].system('touch canary') }}",
    "a caller": "{% macro m() %}{{ caller('_' ~ '_init_' ~ '_', '_' ~ '_globals_' ~ '_') }}"
    "{% endmacro %}{% call(k, g) m() %}{{ cycler('a')[k][g]['os'].system('touch canary') }}"
    "{% endcall %}",
    "a default": "{% set k = nothing|default('_' ~ '_init_' ~ '_') %}{{ cycler('a')[k]"
    "[nothing|default('_' ~ '_globals_' ~ '_')]['os'].system('touch canary') }}",
    "with": "{% with k='_' ~ '_init_' ~ '_', g='_' ~ '_globals_' ~ '_' %}{{ cycler('a')[k][g]['os']"
    ".system('touch canary') }}{% endwith %}",
    "a condition": "{{ cycler('a')['_' ~ '_init_' ~ '_' if 1 else 'x']"
    "['x' if 0 else '_' ~ '_globals_' ~ '_']['os'].system('touch canary') }}",
    "undefined in front": "{{ cycler('a')[nothing ~ '_' ~ '_init_' ~ '_']"
    "[nothing ~ '_' ~ '_globals_' ~ '_']['os'].system('touch canary') }}",
    "letters of a text": "{% set t = 'x_initglobals' %}{{ cycler('a')"
    "[t[1] ~ t[1] ~ t[2:6] ~ t[1] ~ t[1]][t[1] ~ t[1] ~ t[6:] ~ t[1] ~ t[1]]['os']"
    ".system('touch canary') }}",
}


#: Settings, each with the loader that calls what they name.
YAML = {
    "apply of PyYAML": ("m.yaml", "yaml", "a: !!python/object/apply:os.system ['touch canary']\n"),
    "new of PyYAML": ("m.yml", "yaml", "a: !!python/object/new:os.system ['touch canary']\n"),
    "a tag in full": (
        "m.yaml",
        "yaml",
        "a: !<tag:yaml.org,2002:python/object/apply:os.system> ['touch canary']\n",
    ),
    "a tag in escapes": (
        "m.yaml",
        "yaml",
        "a: !!python/object/apply:%6fs.system ['touch canary']\n",
    ),
    "a handle of its own": (
        "m.yaml",
        "yaml",
        "%TAG !p! tag:yaml.org,2002:python/\n---\na: !p!object/apply:os.system ['touch canary']\n",
    ),
    "UTF-16": ("m.yaml", "yaml", "a: !!python/object/apply:os.system ['touch canary']\n"),
    "apply of hyperpyyaml": (
        "hyperparams.yaml",
        "hyperpyyaml",
        "a: !apply:os.system ['touch canary']\n",
    ),
    "new of hyperpyyaml": (
        "hyperparams.yaml",
        "hyperpyyaml",
        "a: !new:subprocess.Popen\n    args: ['touch', 'canary']\n",
    ),
    "hydra": ("config.yaml", "hydra", "_target_: os.system\ncommand: touch canary\n"),
    "hydra, quoted": ("config.yaml", "hydra", "{'_target_': 'os.system', command: touch canary}\n"),
}


def third_round() -> Iterator[Sample]:
    """Each an error, each run by its loader."""
    for flags in FORGED:
        for kind in ("f8", "V8"):
            title = f"{kind} with flags {flags}, which joblib unpickles"
            yield Sample("forged dtypes", title, "f.joblib", "joblib", _forged(kind, flags))
    for title, text in EXPRESSIONS.items():
        yield Sample("exported programs", title, "m.pt2", "exported", exported(text))
    for title, text in TEMPLATES.items():
        yield Sample("template flow", title, "chat_template.jinja", "jinja", text.encode())
    for title, (file, loader, text) in YAML.items():
        data = text.encode("utf-16" if title == "UTF-16" else "utf-8")
        yield Sample("YAML", title, file, loader, data)
    for title, code in SCRIPTS.items():
        yield Sample("TorchScript", title, "m.pt", "torchscript", scripted(code))
    for title, code in FORMED.items():
        yield Sample("TorchScript", title, "m.pt", "torchscript", scripted(code))
    yield Sample("programs", "a llamafile", "m.llamafile", "program", llamafile())
    yield Sample("programs", "a llamafile in capitals", "M.LLAMAFILE", "program", llamafile())
    escaped = exported(EXPRESSIONS["a call by name"], escaped=True)
    yield Sample("exported programs", "escaped in JSON", "m.pt2", "exported", escaped)


def _forged(kind: str, flags: int) -> bytes:
    size = 8 if kind == "V8" else -1
    dtype = build(
        call("numpy.dtype", kind, False, True),
        (3, "|", None, None, None, size, 1 if size > 0 else -1, flags),
    )
    state: dict[str, object] = {
        "subclass": name("numpy.ndarray"),
        "shape": (1,),
        "order": "C",
        "dtype": dtype,
        "allow_mmap": False,
        "numpy_array_alignment_bytes": None,
    }
    wrapper = name("joblib.numpy_pickle.NumpyArrayWrapper").code + b")\x81" + value(state) + b"b"
    return b"\x80\x04" + wrapper + EVIL_PICKLE + b"."


def exported(text: str, *, escaped: bool = False) -> bytes:
    """A program whose first expression is this text, and as JSON may escape its letters."""
    members = json.loads(EXPORTED.read_text(encoding="utf-8"))["members"]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, packed in members.items():
            data = base64.b64decode(packed)
            if path.endswith("models/model.json"):
                written = data.decode()
                first = json.dumps(text)[1:-1]
                if escaped:
                    first = first.replace("e", "\u0065")
                data = written.replace(_first(written), first).encode()
            archive.writestr(path, data)
    return out.getvalue()


def scripted(code: str) -> bytes:
    """A TorchScript archive whose ``__setstate__`` ends with this code."""
    members = json.loads(SCRIPTED.read_text(encoding="utf-8"))["members"]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, packed in members.items():
            data = base64.b64decode(packed)
            archive.writestr(path, data.replace(b"    pass\n", code.encode()))
    return out.getvalue()


def llamafile() -> bytes:
    """The head of a program that every shell runs, and weights in a zip archive behind it."""
    out = io.BytesIO(b"MZqFpD='\n'\ntouch canary\nexit 0\n")
    out.seek(0, io.SEEK_END)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("model.gguf", b"GGUF" + bytes(20))
        archive.writestr(".args", "-m\nmodel.gguf\n")
    return out.getvalue()


def _first(text: str) -> str:
    start = text.index('"expr_str": "') + len('"expr_str": "')
    return text[start : text.index('"', start)]
