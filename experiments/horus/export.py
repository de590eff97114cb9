"""Exports well-known models as ONNX graphs without their weights, by both exporters of PyTorch.

    python experiments/horus/export.py crates/graph/tests/graphs [NAME ...]

Needs torch, torchvision, transformers, onnx and onnxscript; no network and no GPU. Weights are random and are taken out
again: an initialiser keeps its name, its shape and its type. Small integers stay, because shapes are computed from them.
Written as NAME.dynamo.onnx and NAME.script.onnx, in training mode where the exporter can, else as said on stderr.
"""

import contextlib
import io
import logging
import os
import sys
import tempfile
import warnings

import onnx
import torch
import torchvision
import transformers
from torch import nn

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

KEPT_BYTES = 4096
KEPT_FLOATS = 16


class LanguageModel(nn.Module):
    """The medium LSTM language model of Zaremba et al.: two layers of 650, a vocabulary of 10,000."""

    def __init__(self, vocabulary=10_000, width=650, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, dropout=0.5, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        states, _ = self.lstm(self.embedding(tokens))
        return self.head(states)


class Only(nn.Module):
    """A transformer whose result is one tensor.

    The mask is given, since the script exporter cannot write how the library finds packed sequences without one.
    """

    def __init__(self, model, pick):
        super().__init__()
        self.model = model
        self.pick = pick

    def forward(self, input_ids):
        return self.pick(self.model(input_ids=input_ids, attention_mask=torch.ones_like(input_ids)))


def image():
    return torch.randn(2, 3, 224, 224)


def tokens(length, vocabulary):
    return torch.randint(0, vocabulary, (2, length))


def bert():
    config = transformers.BertConfig()
    model = transformers.BertModel(config, add_pooling_layer=False)
    return Only(model, lambda out: out.last_hidden_state), tokens(128, 30_522), True


def gpt2():
    config = transformers.GPT2Config(use_cache=False)
    return Only(transformers.GPT2LMHeadModel(config), lambda out: out.logits), tokens(512, 50_257), True


MODELS = {
    "resnet50": lambda: (torchvision.models.resnet50(), image(), False),
    "vit_b_16": lambda: (torchvision.models.vit_b_16(), image(), False),
    "bert_base": bert,
    "gpt2": gpt2,
    "lstm_lm": lambda: (LanguageModel(), tokens(35, 10_000), True),
}


def axes_of(sequence):
    return {0: "batch", 1: "sequence"} if sequence else {0: "batch"}


def by_dynamo(model, sample, axes, path):
    dims = {place: torch.export.Dim(name, min=2, max=4096) for place, name in axes.items()}
    program = torch.onnx.export(model, (sample,), dynamo=True, dynamic_shapes=(dims,), verbose=False)
    program.save(path)


def by_script(model, sample, axes, path):
    mode = torch.onnx.TrainingMode.TRAINING if model.training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(
        model, (sample,), path, dynamo=False, opset_version=17, training=mode, input_names=["input"],
        do_constant_folding=not model.training, dynamic_axes={"input": axes},
    )


EXPORTERS = {"dynamo": by_dynamo, "script": by_script}


def strip_tensor(tensor):
    elements = 1
    for dim in tensor.dims:
        elements *= dim
    floats = tensor.data_type in (1, 10, 11, 16)
    if elements <= KEPT_FLOATS or (not floats and elements * 8 <= KEPT_BYTES):
        return
    for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "external_data"):
        tensor.ClearField(field)
    tensor.ClearField("data_location")


def strip_graph(graph):
    for tensor in graph.initializer:
        strip_tensor(tensor)
    graph.ClearField("doc_string")
    graph.ClearField("metadata_props")
    for value in [*graph.value_info, *graph.input, *graph.output]:
        value.ClearField("metadata_props")
        value.ClearField("doc_string")
    strip_nodes(graph.node)


def strip_nodes(nodes):
    for node in nodes:
        node.ClearField("doc_string")
        node.ClearField("metadata_props")
        node.ClearField("name")
        for attribute in node.attribute:
            if attribute.HasField("t"):
                strip_tensor(attribute.t)
            if attribute.HasField("g"):
                strip_graph(attribute.g)


def strip(path):
    model = onnx.load(path)
    strip_graph(model.graph)
    model.ClearField("metadata_props")
    for function in model.functions:
        function.ClearField("doc_string")
        function.ClearField("metadata_props")
        strip_nodes(function.node)
    return model


def export(name, exporter, folder, keep=None):
    """Training mode with both lengths symbolic if the exporter can; then without the one, then without the other."""
    last = None
    for training in (True, False):
        model, sample, sequence = MODELS[name]()
        model.train(training)
        for symbols in [True, False] if sequence else [False]:
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    path = os.path.join(keep or scratch, f"{name}.{exporter}.onnx")
                    EXPORTERS[exporter](model, sample, axes_of(symbols), path)
                    stripped = strip(path)
                onnx.save(stripped, os.path.join(folder, f"{name}.{exporter}.onnx"))
                return f"training={training} symbolic_sequence={symbols} nodes={len(stripped.graph.node)}"
            except Exception as error:  # An exporter fails in many ways; the next attempt asks for less.
                last = f"{type(error).__name__}: {str(error)[:300]}"
                print(f"{name} {exporter} training={training} symbols={symbols}: {last}", file=sys.stderr, flush=True)
    return f"failed: {last}"


def main():
    folder, *names = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    for name in names or MODELS:
        for exporter in EXPORTERS:
            quiet = io.StringIO()
            with contextlib.redirect_stdout(quiet):
                said = export(name, exporter, folder, os.environ.get("KEEP_WEIGHTS_IN"))
            print(f"{name} {exporter}: {said}", flush=True)


if __name__ == "__main__":
    main()
