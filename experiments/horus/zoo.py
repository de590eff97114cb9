"""What is measured: 84 training configurations of 27 families, built with random weights and synthetic data, without a network.

A configuration is an architecture with a batch size, a precision and an optimiser. `build(name)` gives the module, its batch and a function from outputs to a
loss. Nothing here needs a GPU.
"""

from dataclasses import dataclass, field
from typing import Callable

import torch
import torch.nn.functional as F
import torchvision
from torch import nn


@dataclass(frozen=True)
class Architecture:
    """A network, the inputs of a batch, and what is learned."""

    family: str
    module: Callable[[], nn.Module]
    inputs: Callable[[int], tuple]
    loss: Callable[..., torch.Tensor]
    seq: int = 1
    optimiser: str = "sgd"


@dataclass(frozen=True)
class Configuration:
    """An architecture as it is trained."""

    name: str
    architecture: str
    batch: int
    precision: str = "bf16"
    # Share of a step in which the GPU has something to do; below 1 the host waits.
    duty: float = 1.0
    # Milliseconds that the host needs for each step besides.
    host_ms: float = 0.0
    extra: dict = field(default_factory=dict)


# --- what is learned -------------------------------------------------------------------------------------------------------------

def classes(count):
    """Cross entropy against random classes."""

    def loss(output):
        if isinstance(output, tuple):
            output = output[0]
        if isinstance(output, dict):
            output = output["out"]
        target = torch.zeros(output.shape[:1] + output.shape[2:], dtype=torch.long, device=output.device)
        return F.cross_entropy(output.float(), target)

    return loss


def tokens(output):
    """Cross entropy of the next token."""
    flat = output.flatten(0, -2).float()
    return F.cross_entropy(flat, torch.zeros(flat.shape[0], dtype=torch.long, device=flat.device))


def numbers(output):
    """Squared error against nothing."""
    if isinstance(output, tuple):
        return sum(numbers(part) for part in output)
    return output.float().pow(2).mean()


def images(side, channels=3):
    return lambda batch: (torch.randn(batch, channels, side, side),)


def words(length, vocabulary):
    return lambda batch: (torch.randint(0, vocabulary, (batch, length)),)


# --- networks of our own ---------------------------------------------------------------------------------------------------------

class LanguageModel(nn.Module):
    def __init__(self, kind, vocabulary, width, layers, bidirectional=False, classes=None):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = getattr(nn, kind)(width, width, layers, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(width * (2 if bidirectional else 1), classes or vocabulary)

    def forward(self, words):
        return self.head(self.rnn(self.embed(words))[0])


class Seq2Seq(nn.Module):
    def __init__(self, vocabulary=10_000, width=512):
        super().__init__()
        self.source, self.target = nn.Embedding(vocabulary, width), nn.Embedding(vocabulary, width)
        self.encoder = nn.GRU(width, width, 2, batch_first=True)
        self.decoder = nn.GRU(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, words):
        _, state = self.encoder(self.source(words))
        return self.head(self.decoder(self.target(words), state)[0])


class Speech(nn.Module):
    """Convolutions and recurrent layers over spectrograms, after DeepSpeech 2."""

    def __init__(self, width=800):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20),
            nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20),
        )
        self.rnn = nn.GRU(32 * 41, width, 5, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, 29)

    def forward(self, spectrogram):
        features = self.convolutions(spectrogram)
        features = features.flatten(1, 2).transpose(1, 2)
        return self.head(self.rnn(features)[0])


class Dlrm(nn.Module):
    def __init__(self, tables=26, rows=20_000, width=64):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(pairs + width, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1))
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense, sparse):
        dense = self.bottom(dense)
        vectors = torch.stack([dense] + [table(sparse[:, at]) for at, table in enumerate(self.tables)], 1)
        products = vectors @ vectors.transpose(1, 2)
        return self.top(torch.cat([dense, products[:, self.pairs[0], self.pairs[1]]], 1))


class NeuMf(nn.Module):
    def __init__(self, users=138_000, items=27_000, width=64):
        super().__init__()
        self.user, self.item = nn.Embedding(users, 2 * width), nn.Embedding(items, 2 * width)
        self.layers = nn.Sequential(nn.Linear(2 * width, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, width), nn.ReLU())
        self.head, self.width = nn.Linear(2 * width, 1), width

    def forward(self, user, item):
        user, item = self.user(user), self.item(item)
        product = user[:, : self.width] * item[:, : self.width]
        deep = self.layers(torch.cat([user[:, self.width :], item[:, self.width :]], 1))
        return self.head(torch.cat([product, deep], 1))


class WideDeep(nn.Module):
    def __init__(self, fields=40, rows=10_000, width=32):
        super().__init__()
        self.wide, self.deep = nn.Embedding(fields * rows, 1), nn.Embedding(fields * rows, width)
        self.layers = nn.Sequential(nn.Linear(fields * width, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, fields):
        return self.layers(self.deep(fields).flatten(1)) + self.wide(fields).sum(1)


def chain(*widths):
    layers = []
    for inner, outer in zip(widths, widths[1:]):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Graph(nn.Module):
    """Message passing over a fixed random graph: GCN, GraphSAGE, GIN or GAT. A batch is so many thousand nodes of ten edges each."""

    def __init__(self, kind, width=256, layers=3, heads=4):
        super().__init__()
        self.kind, self.heads = kind, heads
        inner = {"sage": 2 * width}.get(kind, width)
        self.layers = nn.ModuleList(chain(inner, width, width) if kind == "gin" else nn.Linear(inner, width) for _ in range(layers))
        self.attention = nn.ModuleList(nn.Linear(2 * width // heads, 1) for _ in range(layers))
        self.head = nn.Linear(width, 40)

    def gather(self, nodes, edges, weights=None):
        messages = nodes[edges[0]]
        if weights is not None:
            messages = messages * weights
        return torch.zeros_like(nodes).index_add(0, edges[1], messages.to(nodes.dtype))

    def forward(self, nodes, edges):
        for layer, attention in zip(self.layers, self.attention):
            if self.kind == "sage":
                nodes = layer(torch.cat([nodes, self.gather(nodes, edges) / 10], 1))
            elif self.kind == "gat":
                values = layer(nodes).unflatten(1, (self.heads, -1))
                both = torch.cat([values[edges[0]], values[edges[1]]], 2)
                score = F.leaky_relu(attention(both)).sigmoid()
                nodes = self.gather(values.to(score.dtype), edges, score).flatten(1)
            else:
                nodes = layer(nodes + self.gather(nodes, edges) / 10)
            nodes = F.relu(nodes)
        return self.head(nodes)


def neighbours(batch):
    nodes, edges = batch * 1000, batch * 10_000
    generator = torch.Generator().manual_seed(1)
    return torch.randn(nodes, 256), torch.randint(0, nodes, (2, edges), generator=generator)


class Generator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        sizes = [(100, 8, 1, 0), (8, 4, 2, 1), (4, 2, 2, 1), (2, 1, 2, 1)]
        layers = []
        for inner, outer, stride, pad in sizes:
            inner = inner if inner == 100 else inner * width
            layers += [nn.ConvTranspose2d(inner, outer * width, 4, stride, pad, bias=False), nn.BatchNorm2d(outer * width), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())

    def forward(self, noise):
        return self.layers(noise)


class Discriminator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        layers = [nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2)]
        for step in (1, 2, 4):
            layers += [nn.Conv2d(step * width, 2 * step * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * step * width), nn.LeakyReLU(0.2)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(8 * width, 1, 4))

    def forward(self, images):
        return self.layers(images)


class DcGan(nn.Module):
    """Both networks: the discriminator sees made-up and real images."""

    def __init__(self):
        super().__init__()
        self.generator, self.discriminator = Generator(), Discriminator()

    def forward(self, noise, real):
        return self.discriminator(self.generator(noise)), self.discriminator(real)


class Translator(nn.Module):
    """A generator of CycleGAN: down, nine residual blocks, up."""

    def __init__(self, width=64, blocks=6):
        super().__init__()

        def layer(inner, outer, size, stride=1, pad=0, up=False):
            convolution = nn.ConvTranspose2d(inner, outer, size, stride, pad, 1) if up else nn.Conv2d(inner, outer, size, stride, pad)
            return nn.Sequential(convolution, nn.InstanceNorm2d(outer), nn.ReLU())

        self.down = nn.Sequential(layer(3, width, 7, 1, 3), layer(width, 2 * width, 3, 2, 1), layer(2 * width, 4 * width, 3, 2, 1))
        self.blocks = nn.ModuleList(nn.Sequential(layer(4 * width, 4 * width, 3, 1, 1), nn.Conv2d(4 * width, 4 * width, 3, 1, 1)) for _ in range(blocks))
        self.up = nn.Sequential(layer(4 * width, 2 * width, 3, 2, 1, True), layer(2 * width, width, 3, 2, 1, True), nn.Conv2d(width, 3, 7, 1, 3))

    def forward(self, images):
        images = self.down(images)
        for block in self.blocks:
            images = images + block(images)
        return self.up(images)


class CycleGan(nn.Module):
    def __init__(self):
        super().__init__()
        self.there, self.back = Translator(), Translator()

    def forward(self, images):
        made = self.there(images)
        return made, self.back(made)


class ResidualBlock(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, inner), nn.SiLU(), nn.Conv2d(inner, outer, 3, padding=1))
        self.second = nn.Sequential(nn.GroupNorm(8, outer), nn.SiLU(), nn.Conv2d(outer, outer, 3, padding=1))
        self.skip = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, images):
        return self.skip(images) + self.second(self.first(images))


class ImageAttention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.norm, self.heads = nn.GroupNorm(8, width), heads
        self.inwards, self.outwards = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, images):
        batch, width, height, _ = images.shape
        flat = self.norm(images).flatten(2).transpose(1, 2)
        query, key, value = self.inwards(flat).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        return images + self.outwards(mixed).transpose(1, 2).unflatten(2, (height, -1))


class Unet(nn.Module):
    """Of diffusion models: down and up with skips, attention at the bottom."""

    def __init__(self, channels=3, width=128, steps=(1, 2, 2)):
        super().__init__()
        widths = [width * step for step in steps]
        self.inwards = nn.Conv2d(channels, width, 3, padding=1)
        self.down = nn.ModuleList(ResidualBlock(inner, outer) for inner, outer in zip([width, *widths], widths))
        self.middle = nn.Sequential(ResidualBlock(widths[-1], widths[-1]), ImageAttention(widths[-1]), ResidualBlock(widths[-1], widths[-1]))
        self.up = nn.ModuleList(ResidualBlock(2 * outer, inner) for inner, outer in zip([width, *widths], widths))
        self.outwards = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, images):
        images, skips = self.inwards(images), []
        for block in self.down:
            images = block(images)
            skips.append(images)
            images = F.avg_pool2d(images, 2)
        images = self.middle(images)
        for block, skip in zip(reversed(self.up), reversed(skips)):
            images = block(torch.cat([F.interpolate(images, scale_factor=2.0), skip], 1))
        return self.outwards(images)


class Actor(nn.Module):
    """Policy and value of reinforcement learning, from pixels or from a few numbers."""

    def __init__(self, pixels, width=256, actions=18):
        super().__init__()
        if pixels:
            self.eyes = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU())
        else:
            self.eyes = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 512), nn.ReLU())
        self.policy, self.value = nn.Linear(512, actions), nn.Linear(512, 1)

    def forward(self, seen):
        seen = self.eyes(seen)
        return self.policy(seen), self.value(seen)


class Twins(nn.Module):
    """Two critics and an actor of TD3."""

    def __init__(self):
        super().__init__()
        self.actor, self.one, self.two = chain(64, 256, 256, 8), chain(72, 256, 256, 1), chain(72, 256, 256, 1)

    def forward(self, seen):
        both = torch.cat([seen, self.actor(seen).tanh()], 1)
        return self.one(both), self.two(both)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()

        def layer(inner, outer):
            return nn.Sequential(nn.Conv1d(inner, outer, 1), nn.BatchNorm1d(outer), nn.ReLU())

        self.points = nn.Sequential(layer(3, 64), layer(64, 64), layer(64, 128), layer(128, 1024))
        self.head = nn.Sequential(nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 40))

    def forward(self, points):
        return self.head(self.points(points).amax(2))


class Mixer(nn.Module):
    def __init__(self, width=512, blocks=8, patches=196):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * blocks))
        self.across = nn.ModuleList(nn.Sequential(nn.Linear(patches, 256), nn.GELU(), nn.Linear(256, patches)) for _ in range(blocks))
        self.along = nn.ModuleList(nn.Sequential(nn.Linear(width, 2048), nn.GELU(), nn.Linear(2048, width)) for _ in range(blocks))
        self.head = nn.Linear(width, 1000)

    def forward(self, images):
        mixed = self.patches(images).flatten(2).transpose(1, 2)
        for at, (across, along) in enumerate(zip(self.across, self.along)):
            mixed = mixed + across(self.norms[2 * at](mixed).transpose(1, 2)).transpose(1, 2)
            mixed = mixed + along(self.norms[2 * at + 1](mixed))
        return self.head(mixed.mean(1))


# --- networks of libraries -------------------------------------------------------------------------------------------------------

def vision(name, **options):
    return lambda: torchvision.models.get_model(name, weights=None, **options)


def segmentation(name):
    return lambda: torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=21)


def cifar(name):
    return lambda: torchvision.models.get_model(name, weights=None, num_classes=10)


class Logits(nn.Module):
    """A language model of the transformers library, from words to logits alone."""

    def __init__(self, kind, config, both=False):
        super().__init__()
        import transformers

        # The cache is for generating; training has no use for it.
        self.model, self.both = getattr(transformers, kind)(config), both

    def forward(self, words):
        if self.both:
            return self.model(input_ids=words, decoder_input_ids=words, use_cache=False).logits
        options = {} if "Bert" in type(self.model).__name__ else {"use_cache": False}
        return self.model(input_ids=words, **options).logits


def text(kind, config, both=False, **options):
    def module():
        import transformers

        return Logits(kind, getattr(transformers, config)(**options), both)

    return module


BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
BERT_TINY = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
GPT_MEDIUM = {"n_embd": 1024, "n_layer": 24, "n_head": 16}
T5_BASE = {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
LLAMA = {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32_000}


def bert(length, **options):
    return Architecture("bert", text("BertForMaskedLM", "BertConfig", **options), words(length, 30_000), tokens, length, "adamw")


def gpt(length, **options):
    return Architecture("gpt", text("GPT2LMHeadModel", "GPT2Config", **options), words(length, 50_000), tokens, length, "adamw")


def picture(family, name, side=224, **options):
    return Architecture(family, vision(name, **options), images(side), classes(1000))


def transformer(family, name):
    return Architecture(family, vision(name), images(224), classes(1000), 1, "adamw")


ARCHITECTURES = {
    "resnet18": picture("resnet", "resnet18"),
    "resnet50": picture("resnet", "resnet50"),
    "resnet152": picture("resnet", "resnet152"),
    "vgg16": picture("vgg", "vgg16"),
    "densenet121": picture("densenet", "densenet121"),
    "mobilenet_v3_small": picture("mobilenet", "mobilenet_v3_small"),
    "mobilenet_v2": picture("mobilenet", "mobilenet_v2"),
    "efficientnet_b0": picture("efficientnet", "efficientnet_b0"),
    "shufflenet_v2": picture("shufflenet", "shufflenet_v2_x1_0"),
    "convnext_tiny": picture("convnext", "convnext_tiny"),
    "inception_v3": picture("inception", "inception_v3", 299, aux_logits=False, init_weights=False),
    "squeezenet": picture("squeezenet", "squeezenet1_1"),
    "cifar_resnet18": Architecture("resnet", cifar("resnet18"), images(32), classes(10)),
    "cifar_vgg11": Architecture("vgg", cifar("vgg11_bn"), images(32), classes(10)),
    "fcn_resnet50": Architecture("segmentation", segmentation("fcn_resnet50"), images(256), classes(21)),
    "deeplabv3_mobilenet": Architecture("segmentation", segmentation("deeplabv3_mobilenet_v3_large"), images(256), classes(21)),
    "vit_b_16": transformer("vit", "vit_b_16"),
    "vit_l_16": transformer("vit", "vit_l_16"),
    "swin_t": transformer("swin", "swin_t"),
    "bert_base_s128": bert(128),
    "bert_base_s512": bert(512),
    "bert_large_s128": bert(128, **BERT_LARGE),
    "distilbert_s128": Architecture("bert", text("DistilBertForMaskedLM", "DistilBertConfig"), words(128, 30_000), tokens, 128, "adamw"),
    "tiny_bert_s128": bert(128, **BERT_TINY),
    "gpt2_s512": gpt(512),
    "gpt2_s1024": gpt(1024),
    "gpt2_medium_s512": gpt(512, **GPT_MEDIUM),
    "t5_small_s128": Architecture("t5", text("T5ForConditionalGeneration", "T5Config", True), words(128, 32_000), tokens, 128, "adamw"),
    "t5_base_s128": Architecture("t5", text("T5ForConditionalGeneration", "T5Config", True, **T5_BASE), words(128, 32_000), tokens, 128, "adamw"),
    "llama_1b_s1024": Architecture("llama", text("LlamaForCausalLM", "LlamaConfig", **LLAMA), words(1024, 32_000), tokens, 1024, "adamw"),
    "lstm_650": Architecture("rnn", lambda: LanguageModel("LSTM", 10_000, 650, 2), words(35, 10_000), tokens, 35),
    "lstm_1500": Architecture("rnn", lambda: LanguageModel("LSTM", 10_000, 1500, 2), words(35, 10_000), tokens, 35),
    "gru_seq2seq": Architecture("rnn", Seq2Seq, words(50, 10_000), tokens, 50),
    "bilstm_tagger": Architecture("rnn", lambda: LanguageModel("LSTM", 20_000, 256, 2, True, 50), words(60, 20_000), tokens, 60),
    "deepspeech2": Architecture("speech", Speech, lambda batch: (torch.randn(batch, 1, 161, 400),), tokens, 400),
    "dlrm": Architecture("recommendation", Dlrm, lambda batch: (torch.randn(batch, 13), torch.randint(0, 20_000, (batch, 26))), numbers),
    "neumf": Architecture("recommendation", NeuMf, lambda batch: (torch.randint(0, 138_000, (batch,)), torch.randint(0, 27_000, (batch,))), numbers, 1, "adamw"),
    "wide_deep": Architecture("recommendation", WideDeep, lambda batch: (torch.randint(0, 400_000, (batch, 40)),), numbers, 1, "adamw"),
    "autoencoder": Architecture("autoencoder", lambda: chain(20_000, 600, 200, 600, 20_000), lambda batch: (torch.rand(batch, 20_000),), numbers, 1, "adamw"),
    "gcn": Architecture("gnn", lambda: Graph("gcn"), neighbours, numbers, 1, "adamw"),
    "sage": Architecture("gnn", lambda: Graph("sage"), neighbours, numbers, 1, "adamw"),
    "gat": Architecture("gnn", lambda: Graph("gat"), neighbours, numbers, 1, "adamw"),
    "gin": Architecture("gnn", lambda: Graph("gin"), neighbours, numbers, 1, "adamw"),
    "dcgan": Architecture("gan", DcGan, lambda batch: (torch.randn(batch, 100, 1, 1), torch.randn(batch, 3, 64, 64)), numbers, 1, "adamw"),
    "cyclegan": Architecture("gan", CycleGan, images(128), numbers, 1, "adamw"),
    "ddpm_32": Architecture("diffusion", Unet, images(32), numbers, 1, "adamw"),
    "ddpm_64": Architecture("diffusion", lambda: Unet(3, 128, (1, 2, 2, 4)), images(64), numbers, 1, "adamw"),
    "latent_unet": Architecture("diffusion", lambda: Unet(4, 256, (1, 2, 4)), images(32, 4), numbers, 1, "adamw"),
    "actor_pixels": Architecture("rl", lambda: Actor(True), lambda batch: (torch.randn(batch, 4, 84, 84),), numbers, 1, "adamw"),
    "actor": Architecture("rl", lambda: Actor(False), lambda batch: (torch.randn(batch, 64),), numbers, 1, "adamw"),
    "td3": Architecture("rl", Twins, lambda batch: (torch.randn(batch, 64),), numbers, 1, "adamw"),
    "pointnet": Architecture("pointnet", PointNet, lambda batch: (torch.randn(batch, 3, 2048),), classes(40), 1, "adamw"),
    "mixer": Architecture("mixer", Mixer, images(224), classes(1000), 1, "adamw"),
    "mlp": Architecture("mlp", lambda: chain(4096, 4096, 4096, 4096, 4096), lambda batch: (torch.randn(batch, 4096),), numbers),
}


def plan():
    """All configurations, in the order of the plan."""
    table = [
        ("resnet18", (32, 128, 512)), ("resnet50", (16, 64, 256)), ("resnet152", (32,)), ("vgg16", (32, 128)), ("densenet121", (32, 128)),
        ("mobilenet_v3_small", (64, 512)), ("mobilenet_v2", (64,)), ("efficientnet_b0", (32, 128)), ("shufflenet_v2", (128,)),
        ("convnext_tiny", (64,)), ("inception_v3", (64,)), ("squeezenet", (128,)),
        ("fcn_resnet50", (8,)), ("deeplabv3_mobilenet", (16,)),
        ("vit_b_16", (16, 64, 256)), ("vit_l_16", (32,)), ("swin_t", (64,)),
        ("bert_base_s128", (16, 64)), ("bert_base_s512", (8, 32)), ("bert_large_s128", (16,)), ("distilbert_s128", (32,)), ("tiny_bert_s128", (64,)),
        ("gpt2_s512", (4, 16)), ("gpt2_s1024", (8,)), ("gpt2_medium_s512", (8,)), ("t5_small_s128", (32,)), ("t5_base_s128", (16,)),
        ("llama_1b_s1024", (2, 8)),
        ("lstm_650", (20, 80)), ("lstm_1500", (64,)), ("gru_seq2seq", (64,)), ("bilstm_tagger", (32,)), ("deepspeech2", (16,)),
        ("dlrm", (2048, 16384)), ("neumf", (4096, 65536)), ("wide_deep", (4096,)), ("autoencoder", (512,)),
        ("gcn", (20,)), ("sage", (20,)), ("gat", (10,)), ("gin", (20,)),
        ("dcgan", (64, 256)), ("cyclegan", (4,)), ("ddpm_32", (64,)), ("ddpm_64", (32,)), ("latent_unet", (16,)),
        ("pointnet", (32, 128)), ("mixer", (64,)), ("mlp", (256, 4096)),
    ]
    found = [Configuration(f"{name}.b{batch}", name, batch) for name, batches in table for batch in batches]
    found += [Configuration(f"{name}.b{batch}.fp32", name, batch, "fp32") for name, batch in (("cifar_resnet18", 64), ("cifar_resnet18", 256), ("cifar_vgg11", 128))]
    hosts = [("ppo", "actor_pixels", 256, 1.0), ("a3c", "actor_pixels", 32, 2.0), ("td3", "td3", 256, 0.5), ("dqn", "actor_pixels", 64, 0.5)]
    found += [Configuration(f"{name}.b{batch}", architecture, batch, "fp32", host_ms=host) for name, architecture, batch, host in hosts]
    idle = [("resnet50", 64), ("bert_base_s128", 16), ("lstm_650", 80), ("dlrm", 2048)]
    found += [Configuration(f"{name}.b{batch}.duty{int(duty * 100)}", name, batch, duty=duty) for name, batch in idle for duty in (0.6, 0.3)]
    return {configuration.name: configuration for configuration in found}


PLAN = plan()

if __name__ == "__main__":
    # A newcomer's check: every architecture learns something from a batch of two.
    for name, architecture in ARCHITECTURES.items():
        module = architecture.module()
        loss = architecture.loss(module(*architecture.inputs(2)))
        loss.backward()
        print(f"{name:22} {sum(p.numel() for p in module.parameters()) / 1e6:8.1f} M  loss {loss.item():.3f}", flush=True)
    print(len(PLAN), "configurations of", len({a.family for a in ARCHITECTURES.values()}), "families")
