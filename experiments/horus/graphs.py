"""Exports the architectures of `zoo.py` as ONNX graphs without weights, for the data that predictors are trained on.

    python3 graphs.py data/graphs [NAME ...]

Needs what `export.py` needs; no network and no GPU. Training mode, the batch symbolic, the sequence as it was measured; the networks over graphs have fixed
sizes. The script exporter is asked first: it keeps what training keeps; where it cannot, the dynamo exporter.
"""

import gzip
import pathlib
import sys
import tempfile
import warnings

import torch
from export import strip
from zoo import ARCHITECTURES, PLAN, Logits

warnings.filterwarnings("ignore")


class Masked(torch.nn.Module):
    """A language model with a mask given: the script exporter cannot write how the library finds out that there is none."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, words):
        inner, mask = self.inner, torch.ones_like(words)
        if inner.both:
            return inner.model(input_ids=words, attention_mask=mask, decoder_input_ids=words, use_cache=False).logits
        options = {} if "Bert" in type(inner.model).__name__ else {"use_cache": False}
        return inner.model(input_ids=words, attention_mask=mask, **options).logits


def by_script(module, inputs, fixed, path):
    names = [f"input{at}" for at in range(len(inputs))]
    axes = {} if fixed else {name: {0: "batch"} for name in names}
    torch.onnx.export(module, inputs, path, dynamo=False, opset_version=17, training=torch.onnx.TrainingMode.TRAINING,
                      input_names=names, do_constant_folding=False, dynamic_axes=axes)


def by_dynamo(module, inputs, fixed, path):
    batch = torch.export.Dim("batch", min=2, max=1 << 20)
    shapes = None if fixed else tuple({0: batch} for _ in inputs)
    torch.onnx.export(module, inputs, dynamo=True, dynamic_shapes=shapes, verbose=False).save(path)


def graph_of(name):
    """The graph of an architecture, and which exporter wrote it."""
    architecture = ARCHITECTURES[name]
    fixed = architecture.family == "gnn"
    batch = next(found.batch for found in PLAN.values() if found.architecture == name) if fixed else 2
    last = None
    for exporter in (by_script, by_dynamo):
        module, inputs = architecture.module().train(), architecture.inputs(batch)
        module = Masked(module) if isinstance(module, Logits) else module
        try:
            with tempfile.TemporaryDirectory() as scratch:
                path = str(pathlib.Path(scratch, "graph.onnx"))
                exporter(module, inputs, fixed, path)
                return strip(path), exporter.__name__
        except Exception as error:  # noqa: BLE001 - an exporter fails in many ways; the other one may not
            last = f"{type(error).__name__}: {str(error)[:200]}"
            print(name, exporter.__name__, last, file=sys.stderr, flush=True)
    raise RuntimeError(f"{name}: {last}")


def main():
    folder, *names = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    used = [name for name in ARCHITECTURES if any(found.architecture == name for found in PLAN.values())]
    for name in names or used:
        try:
            model, exporter = graph_of(name)
        except RuntimeError as error:
            print(f"left out: {error}", flush=True)
            continue
        # Without the time of day in it, the same graph is the same file.
        packed = gzip.compress(model.SerializeToString(deterministic=True), mtime=0)
        (folder / f"{name}.onnx.gz").write_bytes(packed)
        print(f"{name}: {exporter}, {len(model.graph.node)} nodes, {len(packed) / 1e3:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
