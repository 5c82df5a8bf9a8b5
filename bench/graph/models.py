#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures zrt against PyTorch on convolutions, networks of them, and single operators, row by row, in one run.

Each row is a module of PyTorch with random weights. PyTorch exports it to ONNX, zrt runs the file. Both run in turn,
block after block, on the same inputs and the same number of threads; a block's ratio is that of its medians, a row's
the median of its blocks'. PyTorch runs eagerly and, with --traced, also as a frozen trace; the faster one counts.

The results are compared as well. The program fails where they differ by more than 1e-4 of the largest magnitude.
"""
import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile
import warnings

import measure

TOLERANCE = 1e-4
OPSET = 16


def convolutions(torch):
    """Name, module and shape of the input."""
    nn = torch.nn
    conv = nn.Conv2d
    return [
        ("1x1 64-256 56", conv(64, 256, 1), (1, 64, 56, 56)),
        ("1x1 32-16 112", conv(32, 16, 1), (1, 32, 112, 112)),
        ("1x1 960-320 7", conv(960, 320, 1), (1, 960, 7, 7)),
        ("1x1/2 256-512 56", conv(256, 512, 1, 2), (1, 256, 56, 56)),
        ("3x3 64-64 56", conv(64, 64, 3, 1, 1), (1, 64, 56, 56)),
        ("3x3 512-512 7", conv(512, 512, 3, 1, 1), (1, 512, 7, 7)),
        ("3x3/2 64-128 56", conv(64, 128, 3, 2, 1), (1, 64, 56, 56)),
        ("7x7/2 3-64 224", conv(3, 64, 7, 2, 3), (1, 3, 224, 224)),
        ("depthwise 3x3 96 112", conv(96, 96, 3, 1, 1, groups=96), (1, 96, 112, 112)),
        ("depthwise 3x3/2 96 112", conv(96, 96, 3, 2, 1, groups=96), (1, 96, 112, 112)),
        ("depthwise 3x3 960 7", conv(960, 960, 3, 1, 1, groups=960), (1, 960, 7, 7)),
        ("depthwise 7x7 96 56", conv(96, 96, 7, 1, 3, groups=96), (1, 96, 56, 56)),
        ("grouped 3x3 128/32 56", conv(128, 128, 3, 1, 1, groups=32), (1, 128, 56, 56)),
        ("dilated 3x3 64-64 56", conv(64, 64, 3, 1, 2, dilation=2), (1, 64, 56, 56)),
        ("transposed 4x4/2 64-32 28", nn.ConvTranspose2d(64, 32, 4, 2, 1), (1, 64, 28, 28)),
        ("one axis 9 64-128 1024", nn.Conv1d(64, 128, 9, 1, 4), (1, 64, 1024)),
        ("three axes 3x3x3 16-32 16", nn.Conv3d(16, 32, 3, 1, 1), (1, 16, 16, 16, 16)),
        ("batch of 4, 3x3 64-64 28", conv(64, 64, 3, 1, 1), (4, 64, 28, 28)),
    ]


def conv_bn(nn, cin, cout, kernel, stride=1, groups=1, act=None):
    layers = [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(cout)]
    return nn.Sequential(*layers, *([act()] if act else []))


def networks(torch):
    """As convolutions, of the usual sizes."""
    nn = torch.nn
    functional = nn.functional
    relu, relu6, silu, hardswish = nn.ReLU, nn.ReLU6, nn.SiLU, nn.Hardswish
    bn = lambda *args, **named: conv_bn(nn, *args, **named)

    def head(cin, *hidden):
        """Behind the last convolution: means of the planes, then projections."""
        layers = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        for cout, act in hidden:
            layers += [nn.Linear(cin, cout), act()]
            cin = cout
        return [*layers, nn.Linear(cin, 1000)]

    class Residual(nn.Module):
        """relu(body + skip), the skip a convolution where the shape changes."""

        def __init__(self, body, cin, cout, stride):
            super().__init__()
            self.body = body
            self.skip = bn(cin, cout, 1, stride) if stride != 1 or cin != cout else nn.Identity()

        def forward(self, x):
            return torch.relu(self.body(x) + self.skip(x))

    class Excite(nn.Module):
        """Each channel times a gate of all channels' means."""

        def __init__(self, wide, narrow, act, gate):
            super().__init__()
            self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, narrow, 1), act(),
                                      nn.Conv2d(narrow, wide, 1), gate())

        def forward(self, x):
            return x * self.gate(x)

    class Inverted(nn.Module):
        def __init__(self, cin, wide, cout, kernel, stride, act, excite=None):
            super().__init__()
            grow = [bn(cin, wide, 1, act=act)] if wide != cin else []
            self.body = nn.Sequential(*grow, bn(wide, wide, kernel, stride, wide, act), *([excite] if excite else []),
                                      bn(wide, cout, 1))
            self.adds = stride == 1 and cin == cout

        def forward(self, x):
            return x + self.body(x) if self.adds else self.body(x)

    def resnet(blocks, bottleneck):
        layers, cin = [bn(3, 64, 7, 2, act=relu), nn.MaxPool2d(3, 2, 1)], 64
        for width, count, stride in zip((64, 128, 256, 512), blocks, (1, 2, 2, 2)):
            for i in range(count):
                step, cout = stride if i == 0 else 1, width * (4 if bottleneck else 1)
                body = [bn(cin, width, 1, act=relu), bn(width, width, 3, step, act=relu), bn(width, cout, 1)] \
                    if bottleneck else [bn(cin, width, 3, step, act=relu), bn(width, width, 3)]
                layers.append(Residual(nn.Sequential(*body), cin, cout, step))
                cin = cout
        return nn.Sequential(*layers, *head(cin))

    def mobilenet_v2():
        layers, cin = [bn(3, 32, 3, 2, act=relu6)], 32
        for factor, cout, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                            (6, 160, 3, 2), (6, 320, 1, 1)):
            for i in range(count):
                layers.append(Inverted(cin, cin * factor, cout, 3, stride if i == 0 else 1, relu6))
                cin = cout
        return nn.Sequential(*layers, bn(cin, 1280, 1, act=relu6), *head(1280))

    def mobilenet_v3():
        layers, cin = [bn(3, 16, 3, 2, act=hardswish)], 16
        for kernel, wide, cout, excites, act, stride in (
                (3, 16, 16, 0, relu, 1), (3, 64, 24, 0, relu, 2), (3, 72, 24, 0, relu, 1), (5, 72, 40, 1, relu, 2),
                (5, 120, 40, 1, relu, 1), (5, 120, 40, 1, relu, 1), (3, 240, 80, 0, hardswish, 2),
                (3, 200, 80, 0, hardswish, 1), (3, 184, 80, 0, hardswish, 1), (3, 184, 80, 0, hardswish, 1),
                (3, 480, 112, 1, hardswish, 1), (3, 672, 112, 1, hardswish, 1), (5, 672, 160, 1, hardswish, 2),
                (5, 960, 160, 1, hardswish, 1), (5, 960, 160, 1, hardswish, 1)):
            excite = Excite(wide, wide // 4, relu, nn.Hardsigmoid) if excites else None
            layers.append(Inverted(cin, wide, cout, kernel, stride, act, excite))
            cin = cout
        return nn.Sequential(*layers, bn(cin, 960, 1, act=hardswish), *head(960, (1280, hardswish)))

    def efficientnet_b0():
        layers, cin = [bn(3, 32, 3, 2, act=silu)], 32
        for factor, cout, count, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5),
                                                    (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
                                                    (6, 320, 1, 1, 3)):
            for i in range(count):
                excite = Excite(cin * factor, cin // 4, silu, nn.Sigmoid)
                layers.append(Inverted(cin, cin * factor, cout, kernel, stride if i == 0 else 1, silu, excite))
                cin = cout
        return nn.Sequential(*layers, bn(cin, 1280, 1, act=silu), *head(1280))

    def vgg11():
        layers, cin = [], 3
        for cout in (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool"):
            layers += [nn.MaxPool2d(2)] if cout == "pool" else [nn.Conv2d(cin, cout, 3, 1, 1), nn.ReLU()]
            cin = cin if cout == "pool" else cout
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Linear(4096, 4096),
                             nn.ReLU(), nn.Linear(4096, 1000))

    class UNet(nn.Module):
        def __init__(self, widths):
            super().__init__()
            twice = lambda cin, cout: nn.Sequential(bn(cin, cout, 3, act=relu), bn(cout, cout, 3, act=relu))
            self.down = nn.ModuleList(twice(a, b) for a, b in zip((3, *widths), widths))
            self.grow = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
            self.up = nn.ModuleList(twice(2 * a, a) for a in widths[:-1])
            self.last = nn.Conv2d(widths[0], 2, 1)

        def forward(self, x):
            kept = []
            for i, down in enumerate(self.down):
                x = down(x if i == 0 else functional.max_pool2d(x, 2))
                kept.append(x)
            for i in reversed(range(len(self.up))):
                x = self.up[i](torch.cat([kept[i], self.grow[i](x)], 1))
            return self.last(x)

    class ConvNext(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.taps = nn.Conv2d(width, width, 7, 1, 3, groups=width)
            self.norm = nn.LayerNorm(width, eps=1e-6)
            self.mix = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            self.scale = nn.Parameter(torch.rand(width))

        def forward(self, x):
            return x + (self.mix(self.norm(self.taps(x).permute(0, 2, 3, 1))) * self.scale).permute(0, 3, 1, 2)

    class ChannelNorm(nn.LayerNorm):
        def forward(self, x):
            return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    def convnext_tiny():
        layers, cin = [], 3
        for count, width in zip((3, 3, 9, 3), (96, 192, 384, 768)):
            layers += [nn.Conv2d(3, width, 4, 4), ChannelNorm(width)] if cin == 3 else \
                [ChannelNorm(cin), nn.Conv2d(cin, width, 2, 2)]
            layers += [ConvNext(width) for _ in range(count)]
            cin = width
        return nn.Sequential(*layers, *head(cin))

    class Encoder(nn.Module):
        """Blocks of attention and projections, the norms before or behind."""

        def __init__(self, width, heads, depth, before):
            super().__init__()
            self.heads, self.before = heads, before
            linear = lambda a, b: nn.ModuleList(nn.Linear(a * width, b * width) for _ in range(depth))
            self.qkv, self.out, self.up, self.down = linear(1, 3), linear(1, 1), linear(1, 4), linear(4, 1)
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth))

        def attend(self, x, i):
            batch, tokens, width = x.shape
            q, k, v = self.qkv[i](x).reshape(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
            scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
            return self.out[i]((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, tokens, width))

        def forward(self, x):
            mix = lambda y, i: self.down[i](functional.gelu(self.up[i](y)))
            for i in range(len(self.out)):
                first, second = self.norms[2 * i], self.norms[2 * i + 1]
                if self.before:
                    x = x + self.attend(first(x), i)
                    x = x + mix(second(x), i)
                else:
                    x = first(x + self.attend(x, i))
                    x = second(x + mix(x, i))
            return x

    class Vit(nn.Module):
        def __init__(self, width, heads, depth):
            super().__init__()
            self.patches = nn.Conv2d(3, width, 16, 16)
            self.first = nn.Parameter(torch.randn(1, 1, width))
            self.positions = nn.Parameter(torch.randn(1, 197, width))
            self.blocks = Encoder(width, heads, depth, True)
            self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, 1000)

        def forward(self, x):
            x = torch.cat([self.first, self.patches(x).flatten(2).transpose(1, 2)], 1) + self.positions
            return self.last(self.norm(self.blocks(x))[:, 0])

    class Bert(nn.Module):
        """Of the rows that an embedding gives."""

        def __init__(self, width, heads, depth, tokens):
            super().__init__()
            self.positions = nn.Parameter(torch.randn(1, tokens, width))
            self.norm = nn.LayerNorm(width)
            self.blocks = Encoder(width, heads, depth, False)
            self.pool = nn.Linear(width, width)

        def forward(self, x):
            return torch.tanh(self.pool(self.blocks(self.norm(x + self.positions))[:, 0]))

    class Lstm(nn.Module):
        def __init__(self, width, layers):
            super().__init__()
            self.steps, self.last = nn.LSTM(width, width, layers), nn.Linear(width, 100)

        def forward(self, x):
            return self.last(self.steps(x)[0])

    image = (1, 3, 224, 224)
    return [
        ("ResNet-18 224", resnet((2, 2, 2, 2), False), image), ("ResNet-50 224", resnet((3, 4, 6, 3), True), image),
        ("VGG-11 224", vgg11(), image), ("U-Net 128", UNet((32, 64, 128, 256)), (1, 3, 128, 128)),
        ("ConvNeXt-tiny 224", convnext_tiny(), image), ("MobileNetV2 224", mobilenet_v2(), image),
        ("MobileNetV3 224", mobilenet_v3(), image), ("EfficientNet-B0 224", efficientnet_b0(), image),
        ("ViT-tiny 224", Vit(192, 3, 12), image), ("BERT-mini 128", Bert(256, 4, 4, 128), (1, 128, 256)),
        ("LSTM 2x256, 64 steps", Lstm(256, 2), (64, 1, 256)),
    ]


def operators(torch):
    functional = torch.nn.functional

    class Call(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, *x):
            return self.function(*x)

    square = (1024, 1024)
    rows = [
        ("sin", torch.sin, square), ("exp", torch.exp, square), ("tanh", torch.tanh, square),
        ("erf", torch.erf, square), ("sqrt(abs)", lambda x: torch.sqrt(torch.abs(x)), square),
        ("pow 2.5", lambda x: torch.pow(torch.abs(x), 2.5), square),
        ("pow of two", lambda x, y: torch.pow(torch.abs(x), y), square, square),
        ("hardswish", functional.hardswish, square), ("gelu", functional.gelu, square), ("silu", functional.silu, square),
        ("cumsum", lambda x: torch.cumsum(x, -1), square), ("cumsum rows", lambda x: torch.cumsum(x, 0), square),
        ("softmax", lambda x: torch.softmax(x, -1), square), ("sum", lambda x: x.sum(-1), square),
        ("add", lambda x, y: x + y, square, square), ("transpose", lambda x: x.t().contiguous(), square),
        ("sort", lambda x: torch.sort(x, -1)[0], (64, 1024)),
        ("gather rows", lambda x: x[torch.arange(1023, -1, -1)], square),
        ("product f64 256", lambda x: (x.double() @ x.double()).float(), (256, 256)),
        ("product of two 1024", lambda x, y: x @ y, square, square),
        ("maxpool 3x3/2", torch.nn.MaxPool2d(3, 2, 1), (1, 64, 112, 112)),
        ("grid_sample", lambda x, g: functional.grid_sample(x, g, align_corners=False), (1, 16, 64, 64),
         (1, 64, 64, 2)),
    ]
    return [(name, Call(function), *shapes) for name, function, *shapes in rows]


def measure_row(torch, args, row, folder):
    name, module, *shapes = row
    inputs = [torch.randn(*shape) for shape in shapes]
    module.eval()
    file, data, output = folder / "model.onnx", folder / "data", folder / "output"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, tuple(inputs), str(file), opset_version=OPSET)
    data.write_bytes(b"".join(x.numpy().tobytes() for x in inputs))
    program = measure.Program(name, args.program, file, data, args.threads)
    expected = module(*inputs)
    eager = lambda times: measure.run_model(lambda x: module(*x), inputs, times)
    runners = {"zrt": program.run, "PyTorch": eager}
    if args.traced:
        trace = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(module, tuple(inputs))))
        runners["traced"] = lambda times: measure.run_model(lambda x: trace(*x), inputs, times)
    times = {}
    for key, run in runners.items():
        run(2)
        times[key] = max(2, int(args.block_ms * 1e3 / statistics.median(run(3))))
    blocks = [{key: statistics.median(run(times[key])) for key, run in runners.items()} for _ in range(args.blocks)]
    program.ask(f"output {output}")
    program.close()
    found = torch.frombuffer(bytearray(output.read_bytes()), dtype=torch.float32)
    expected = expected.flatten()
    # A power of 0 may be infinite, here as there.
    apart = torch.where(found == expected, torch.zeros(()), (found - expected).abs())
    off = (apart.max() / expected[expected.isfinite()].abs().max()).item()
    if not off <= TOLERANCE:
        sys.exit(f"{name}: zrt is {off} of the largest magnitude away from PyTorch")
    ratios = sorted(b["zrt"] / min(b[key] for key in runners if key != "zrt") for b in blocks)
    return {"row": name, "us": {key: statistics.median(b[key] for b in blocks) for key in runners},
            "ratio": statistics.median(ratios), "ratios": ratios, "off": off, "ready_ms": program.told}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--block-ms", type=float, default=30.0)
    parser.add_argument("--rows", help="only rows whose names hold one of these words, comma-separated")
    parser.add_argument("--blas", help="folder with the libblas.so.3 that PyTorch is to use")
    parser.add_argument("--traced", action="store_true", help="PyTorch as a frozen trace too")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch = measure.load_torch(args)
    torch.manual_seed(7)
    words = args.rows.split(",") if args.rows else [""]
    print(f"PyTorch {torch.__version__}, products by {measure.blas_of()}; {args.threads} thread(s), {args.blocks} blocks "
          f"of {args.block_ms:g} ms", file=sys.stderr)
    results = []
    if not args.json:
        print("| row | zrt | PyTorch | ratio | quartiles |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for row in convolutions(torch) + networks(torch) + operators(torch):
            if not any(word in row[0] for word in words):
                continue
            r = measure_row(torch, args, row, pathlib.Path(folder))
            results.append(r)
            if not args.json:
                best = min(v for key, v in r["us"].items() if key != "zrt")
                quarter = len(r["ratios"]) // 4
                print(f"| {r['row']} | {r['us']['zrt']:.1f} us | {best:.1f} us | {r['ratio']:.2f} | "
                      f"{r['ratios'][quarter]:.2f}-{r['ratios'][-1 - quarter]:.2f} |", flush=True)
    if not results:
        sys.exit("no row has such a name")
    mean = math.exp(statistics.fmean(math.log(r["ratio"]) for r in results))
    if args.json:
        print(json.dumps({"torch": torch.__version__, "blas": measure.blas_of(), "threads": args.threads,
                          "rows": results, "geometric_mean": mean}))
    else:
        print(f"\ngeometric mean {mean:.2f}")


if __name__ == "__main__":
    main()
