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
    nn = torch.nn

    class Basic(nn.Module):
        def __init__(self, cin, cout, stride):
            super().__init__()
            self.body = nn.Sequential(conv_bn(nn, cin, cout, 3, stride, act=nn.ReLU), conv_bn(nn, cout, cout, 3))
            self.skip = conv_bn(nn, cin, cout, 1, stride) if stride != 1 or cin != cout else nn.Identity()

        def forward(self, x):
            return torch.relu(self.body(x) + self.skip(x))

    class Inverted(nn.Module):
        def __init__(self, cin, cout, stride, factor):
            super().__init__()
            wide = cin * factor
            grow = [conv_bn(nn, cin, wide, 1, act=nn.ReLU6)] if factor != 1 else []
            self.body = nn.Sequential(*grow, conv_bn(nn, wide, wide, 3, stride, wide, nn.ReLU6),
                                      conv_bn(nn, wide, cout, 1))
            self.adds = stride == 1 and cin == cout

        def forward(self, x):
            return x + self.body(x) if self.adds else self.body(x)

    def resnet18():
        layers = [conv_bn(nn, 3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)]
        cin = 64
        for cout, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            layers += [Basic(cin, cout, stride), Basic(cout, cout, 1)]
            cin = cout
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))

    def mobilenet_v2():
        layers = [conv_bn(nn, 3, 32, 3, 2, act=nn.ReLU6)]
        cin = 32
        for factor, cout, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                            (6, 160, 3, 2), (6, 320, 1, 1)):
            for i in range(count):
                layers.append(Inverted(cin, cout, stride if i == 0 else 1, factor))
                cin = cout
        layers += [conv_bn(nn, cin, 1280, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        return nn.Sequential(*layers, nn.Linear(1280, 1000))

    return [("ResNet-18 224", resnet18(), (1, 3, 224, 224)), ("MobileNetV2 224", mobilenet_v2(), (1, 3, 224, 224))]


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
    off = ((found - expected.flatten()).abs().max() / expected.abs().max()).item()
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
