#!/usr/bin/env python3
"""Chooses pairs and triples to be measured together, for `measure.py pairs`: every representative beside several others, some beside themselves, a few three times.

    python3 pairs.py --seed 1 --pairs 100 --triples 0 > pairs.txt

Lines with the same first name follow each other, so that one worker keeps what it has; otherwise the order is random, so that it does not matter much which
ones are left out when time is short.
"""

import argparse
import random

REPRESENTATIVES = """
resnet18.b32 resnet18.b512 resnet50.b64 resnet50.b256 vgg16.b32 densenet121.b32 mobilenet_v3_small.b64 mobilenet_v2.b64 efficientnet_b0.b128
shufflenet_v2.b128 convnext_tiny.b64 squeezenet.b128 vit_b_16.b16 vit_b_16.b256 swin_t.b64 bert_base_s128.b16 bert_base_s512.b32 tiny_bert_s128.b64
gpt2_s512.b4 gpt2_s1024.b8 t5_small_s128.b32 llama_1b_s1024.b2 lstm_650.b20 lstm_1500.b64 gru_seq2seq.b64 dlrm.b2048 neumf.b65536 wide_deep.b4096
autoencoder.b512 gcn.b20 gat.b10 dcgan.b64 ddpm_32.b64 ppo.b256 pointnet.b32 mlp.b4096 resnet50.b64.duty30 bert_base_s128.b16.duty60
lstm_650.b80.duty30 dlrm.b2048.duty30
""".split()
# Measured three times in every block: how far a pair is from itself.
REPEATED = [("resnet50.b64", "bert_base_s128.b16"), ("lstm_650.b20", "vgg16.b32"), ("mobilenet_v2.b64", "mobilenet_v2.b64")]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--pairs", type=int, default=100)
    options.add_argument("--triples", type=int, default=0)
    options.add_argument("--selves", type=int, default=12)
    chosen = options.parse_args()
    draw = random.Random(chosen.seed)
    found = {(name, name) for name in draw.sample(REPRESENTATIVES, chosen.selves)}
    # Rounds of a tournament: in each, everybody meets somebody.
    while len(found) < chosen.pairs:
        shuffled = draw.sample(REPRESENTATIVES, len(REPRESENTATIVES))
        for one, other in zip(shuffled[::2], shuffled[1::2]):
            if len(found) < chosen.pairs and (other, one) not in found:
                found.add((one, other))
    rank = {name: at for at, name in enumerate(draw.sample(REPRESENTATIVES, len(REPRESENTATIVES)))}
    lines = sorted([*found, *REPEATED, *REPEATED, *REPEATED], key=lambda line: (rank[line[0]], line[1]))
    print("\n".join(" ".join(line) for line in lines))
    for _ in range(chosen.triples):
        print(*draw.sample(REPRESENTATIVES, 3))


if __name__ == "__main__":
    main()
