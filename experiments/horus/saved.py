"""Holds `evenhand graph` against PyTorch itself: operations, parameters, and what autograd keeps.

    python experiments/horus/saved.py target/release/evenhand crates/graph/tests/graphs

Runs the models of export.py on the CPU, in fp32 with a batch of 2. Attention without dropout, so that PyTorch takes its fused kernel on
the CPU too; dropout masks are counted as one byte per element, as on a GPU (the CPU keeps four). Three ratios are off for a reason:
PyTorch's counter leaves fused attention out (3 to 8 % of the operations), GPT-2 computes its GELU in pieces and keeps them, and an LSTM on
the CPU is not the one of cuDNN.
"""

import json
import subprocess
import sys

import torch
from torch.utils.flop_counter import FlopCounterMode

from export import MODELS


def without_attention_dropout(model):
    for module in model.modules():
        for name in ("attn_pdrop", "attention_dropout", "dropout_prob"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
        if type(module).__name__ in ("GPT2Attention", "BertSelfAttention"):
            for name in ("attn_dropout", "dropout"):
                if isinstance(getattr(module, name, None), torch.nn.Dropout):
                    getattr(module, name).p = 0.0


def kept_bytes(model, sample):
    own = {tensor.untyped_storage().data_ptr() for tensor in [*model.parameters(), *model.buffers()]}
    kept, masks = {}, 0

    def note(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    def note_mask(module, _, result):
        nonlocal masks
        masks += result.numel() if module.p > 0 and module.training else 0

    hooks = [m.register_forward_hook(note_mask) for m in model.modules() if isinstance(m, torch.nn.Dropout)]
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        model(sample)
    for hook in hooks:
        hook.remove()
    return sum(size for size, _ in kept.values()) - 3 * masks


def main():
    program, folder = sys.argv[1:]
    print(f"{'model':10} {'exporter':8} {'FLOP of products':>17} {'parameters':>11} {'kept':>6}   (ours / PyTorch's)")
    for name, make in MODELS.items():
        model, sample, _ = make()
        without_attention_dropout(model)
        kept = kept_bytes(model.train(), sample)
        with FlopCounterMode(display=False) as counter:
            model.eval()(sample)
        parameters = sum(tensor.numel() for tensor in model.parameters())
        for exporter in ("dynamo", "script"):
            line = [program, "graph", f"{folder}/{name}.{exporter}.onnx", "--batch", "2", "--precision", "fp32", "--json"]
            found = json.loads(subprocess.run([*line, "--seq", str(sample.shape[1])], capture_output=True, check=True).stdout)
            products = sum(
                operator["forward_flop"] for operator in found["operators"] if operator["name"] in ("Conv", "Gemm", "MatMul")
            )
            ratios = [products / counter.get_total_flops(), found["parameters"] / parameters, found["saved_bytes"] / kept]
            print(f"{name:10} {exporter:8} {ratios[0]:17.3f} {ratios[1]:11.3f} {ratios[2]:6.2f}", flush=True)


if __name__ == "__main__":
    main()
