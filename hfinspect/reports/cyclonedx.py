"""CycloneDX 1.6, a bill of materials: each target as a machine-learning model with its files.

https://cyclonedx.org/docs/1.6/json/: ``components`` with nested files, hashes, licences, the base
models as ``pedigree.ancestors``, and each finding as an annotation of its model. The same audit
gives the same text: the serial number is made from what is listed, and there is no time of day.
"""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid5

from .._version import __version__
from ..core.results import Failure
from ..core.verdicts import AuditFinding, AuditResult

#: Names of ours in RFC 9562's scheme of UUIDs made from names.
_NAMESPACE = UUID("6f0d9c1e-6f3e-5a57-9c53-9a7a6a3b1d10")
#: SPDX identifiers of the licences that model cards name most, by the card's spelling. Others are
#: given by name: the schema takes no identifier that SPDX does not have.
_SPDX = {
    "apache-2.0": "Apache-2.0",
    "mit": "MIT",
    "bsd": "0BSD",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "cc0-1.0": "CC0-1.0",
    "cc-by-2.0": "CC-BY-2.0",
    "cc-by-3.0": "CC-BY-3.0",
    "cc-by-4.0": "CC-BY-4.0",
    "cc-by-sa-3.0": "CC-BY-SA-3.0",
    "cc-by-sa-4.0": "CC-BY-SA-4.0",
    "cc-by-nc-4.0": "CC-BY-NC-4.0",
    "cc-by-nc-sa-4.0": "CC-BY-NC-SA-4.0",
    "cc-by-nc-nd-4.0": "CC-BY-NC-ND-4.0",
    "cc-by-nd-4.0": "CC-BY-ND-4.0",
    "gpl-2.0": "GPL-2.0-only",
    "gpl-3.0": "GPL-3.0-only",
    "agpl-3.0": "AGPL-3.0-only",
    "lgpl-3.0": "LGPL-3.0-only",
    "mpl-2.0": "MPL-2.0",
    "unlicense": "Unlicense",
    "wtfpl": "WTFPL",
    "artistic-2.0": "Artistic-2.0",
    "isc": "ISC",
    "zlib": "Zlib",
    "afl-3.0": "AFL-3.0",
    "ecl-2.0": "ECL-2.0",
    "epl-2.0": "EPL-2.0",
    "eupl-1.1": "EUPL-1.1",
    "eupl-1.2": "EUPL-1.2",
    "ms-pl": "MS-PL",
    "ncsa": "NCSA",
    "osl-3.0": "OSL-3.0",
    "postgresql": "PostgreSQL",
    "bsl-1.0": "BSL-1.0",
}


def render(results: Sequence[AuditResult | Failure]) -> str:
    """The audited targets as one bill; what could not be audited is no component of it."""
    audited = [result for result in results if isinstance(result, AuditResult)]
    refs = [f"model-{at}" for at in range(1, len(audited) + 1)]
    components = [_model(result, ref) for result, ref in zip(audited, refs, strict=True)]
    body: dict[str, Any] = {"components": components}
    annotations = [
        _annotation(finding, ref)
        for result, ref in zip(audited, refs, strict=True)
        for finding in result.findings
    ]
    if annotations:
        body["annotations"] = annotations
    serial = uuid5(_NAMESPACE, json.dumps(body, sort_keys=True, ensure_ascii=True))
    head = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "tools": {
                "components": [{"type": "application", "name": "hfinspect", "version": __version__}]
            }
        },
    }
    return json.dumps(head | body, indent=2)


def _model(result: AuditResult, ref: str) -> dict[str, Any]:
    origin = result.origin
    inventory = result.inventory
    component: dict[str, Any] = {
        "type": "machine-learning-model",
        "bom-ref": ref,
        "name": origin.repo_id or origin.name or result.target,
    }
    if origin.commit:
        component["version"] = origin.commit
    if origin.repo_id:
        component["purl"] = _purl(origin.repo_id, origin.commit)
    if inventory.licence:
        component["licenses"] = [{"license": _licence(inventory.licence)}]
    if inventory.base_models:
        component["pedigree"] = {"ancestors": [_ancestor(name) for name in inventory.base_models]}
    parameters: dict[str, Any] = {}
    if inventory.model_type:
        parameters["architectureFamily"] = inventory.model_type
    if inventory.architecture:
        parameters["modelArchitecture"] = inventory.architecture
    if parameters:
        component["modelCard"] = {"modelParameters": parameters}
    files = [
        _file(f"{ref}-file-{at}", file.path, file.size, file.sha256)
        for at, file in enumerate(inventory.files, 1)
    ]
    if files:
        component["components"] = files
    return component


def _file(ref: str, path: str, size: int | None, sha256: str | None) -> dict[str, Any]:
    component: dict[str, Any] = {"type": "file", "bom-ref": ref, "name": path}
    if sha256 is not None:
        component["hashes"] = [{"alg": "SHA-256", "content": sha256}]
    if size is not None:
        component["properties"] = [{"name": "hfinspect:size", "value": str(size)}]
    return component


def _licence(text: str) -> dict[str, str]:
    known = _SPDX.get(text.lower())
    return {"id": known} if known else {"name": text}


def _ancestor(name: str) -> dict[str, Any]:
    ancestor: dict[str, Any] = {"type": "machine-learning-model", "name": name}
    if name.count("/") == 1:
        ancestor["purl"] = _purl(name, None)
    return ancestor


def _purl(repo_id: str, commit: str | None) -> str:
    """Package URL of the type ``huggingface``: the version is a commit, in small letters."""
    name = "/".join(quote(part, safe="") for part in repo_id.split("/"))
    return f"pkg:huggingface/{name}" + (f"@{commit.lower()}" if commit else "")


def _annotation(finding: AuditFinding, ref: str) -> dict[str, Any]:
    place = ": ".join(part for part in (finding.file, finding.tensor) if part)
    expected = f" (expected: {finding.expected})" if finding.expected else ""
    text = f"{finding.severity} {finding.code}: {place + ': ' if place else ''}{finding.text}"
    tool = {"component": {"type": "application", "name": "hfinspect", "version": __version__}}
    return {
        "subjects": [ref],
        "annotator": tool,
        # The schema wants a time; an audit of the same files has to give the same text.
        "timestamp": "1970-01-01T00:00:00Z",
        "text": text + expected,
    }
