"""Writes ``fixtures/trust/saved_models.json``: SavedModels of TensorFlow that write a file.

    python -m tests.trust.make_saved_models fixtures/trust/saved_models.json

Needs tensorflow. Each is one saved_model.pb without variables, kept as LZMA in base64; the file is
written while the model is loaded, by its initialisation, or when its signature is called.
"""

from __future__ import annotations

import base64
import json
import lzma
import sys
import tempfile
from pathlib import Path
from typing import Any


def main(target: Path) -> None:
    import tensorflow as tf

    v1: Any = tf.compat.v1
    v1.disable_eager_execution()
    files = {}
    for title in ("initialisation", "signature", "function"):
        graph = v1.Graph()
        with graph.as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [], "x")
            main_op = None
            if title == "initialisation":
                main_op = tf.io.write_file("canary", "x")
                y = tf.identity(x)
            elif title == "signature":
                with tf.control_dependencies([tf.io.write_file("canary", "x")]):
                    y = tf.identity(x)
            else:

                @tf.function  # type: ignore[untyped-decorator]
                def inner(value: Any) -> Any:
                    tf.io.write_file("canary", "x")
                    return tf.identity(value)

                y = inner(x)
            tag = "serving_default"
            signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary) / "m"
                builder = v1.saved_model.Builder(str(folder))
                builder.add_meta_graph_and_variables(
                    session, ["serve"], {tag: signature}, main_op=main_op
                )
                builder.save()
                content = (folder / "saved_model.pb").read_bytes()
        packed = lzma.compress(content, lzma.FORMAT_ALONE)
        files[title] = base64.b64encode(packed).decode()
    text = json.dumps({"made_by": {"tensorflow": tf.__version__}, "files": files}, indent=1)
    target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
