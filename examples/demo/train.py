# SPDX-License-Identifier: Apache-2.0
"""Draws the demo's pictures, trains the demo's network on them and writes model.onnx and the data beside it.

    python train.py [--epochs N] [--out DIR]
    python train.py --check     (only: are the committed pictures the ones this machine draws?)

Needs numpy, torch, onnx, onnxruntime. Two and a half minutes on one core. The pictures are the same bytes on every run;
the weights are the same on the same machine and versions. ONNX Runtime must agree with PyTorch before anything is written.
"""

import argparse
import pathlib

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn
from torch.nn import functional

from draw import CLASSES, pictures
from export import export

TRAIN_SEED, CALIB_SEED, TEST_SEED = 11, 22, 33
TRAIN_COUNT, CALIB_COUNT, TEST_COUNT = 16000, 100, 400
MEAN, STD = 0.5, 0.25  # of x / 255, every channel


def conv_bn(inputs, outputs, kernel, stride=1, groups=1):
    return nn.ModuleDict(
        {
            "conv": nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
            "bn": nn.BatchNorm2d(outputs),
        }
    )


class SignNet(nn.Module):
    """The blocks that real small networks are made of, one of each. Shapes are [batch, channels, height, width]."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 16, 3)
        self.same1, self.same2 = conv_bn(16, 16, 3), conv_bn(16, 16, 3)
        self.down1, self.down2 = conv_bn(16, 32, 3, stride=2), conv_bn(32, 32, 3)
        self.depthwise, self.pointwise = conv_bn(32, 32, 3, groups=32), conv_bn(32, 48, 1)
        self.reduce = conv_bn(48, 48, 3, stride=2)
        self.mix = conv_bn(96, 64, 1)
        self.head = nn.Linear(64, len(CLASSES))

    def forward(self, x):
        def run(block, value):
            return block["bn"](block["conv"](value))

        x = functional.relu(run(self.stem, x))  # [N, 16, 16, 16]
        y = functional.relu(run(self.same1, x))
        x = functional.relu(run(self.same2, y) + x)
        y = functional.relu(run(self.down1, x))
        shortcut = functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 8, 8))  # option A of the ResNet paper
        x = functional.relu(run(self.down2, y) + shortcut)  # [N, 32, 8, 8]
        x = functional.relu6(run(self.depthwise, x))
        x = functional.relu6(run(self.pointwise, x))  # [N, 48, 8, 8]
        left = functional.relu(run(self.reduce, x))
        right = functional.max_pool2d(x, 2)
        x = torch.cat([left, right], 1)  # [N, 96, 4, 4]
        x = functional.relu(run(self.mix, x))  # [N, 64, 4, 4]
        return self.head(x.mean((2, 3)))


def normalized(images):
    """uint8 to float32 by scale=1/255, mean, std, in the order of float32 operations npuc uses."""
    return (images.astype(np.float32) * np.float32(1 / 255) - np.float32(MEAN)) / np.float32(STD)


def train(images, labels, epochs):
    torch.manual_seed(0)
    net = SignNet()
    inputs, targets = torch.from_numpy(normalized(images)), torch.from_numpy(labels)
    batch = 128
    optimizer = torch.optim.AdamW(net.parameters(), lr=4e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=epochs * (len(labels) // batch))
    for epoch in range(epochs):
        net.train()
        order = torch.randperm(len(labels))
        total = 0.0
        for start in range(0, len(labels) - batch + 1, batch):
            pick = order[start : start + batch]
            loss = functional.cross_entropy(net(inputs[pick]), targets[pick], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}/{epochs} loss {total / (len(labels) // batch):.4f}", flush=True)
    return net.eval()


def check(folder):
    """The exit status: 0 where the pictures drawn now are the committed ones, byte for byte."""
    calib, (test, labels) = pictures(CALIB_SEED, CALIB_COUNT)[0], pictures(TEST_SEED, TEST_COUNT)
    wanted = {"calib.npy": calib, "test.npy": test, "test.labels.npy": labels}
    different = [name for name, array in wanted.items() if not np.array_equal(np.load(folder / name), array)]
    print("the same pictures" if not different else f"different: {', '.join(different)}")
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        return check(args.out)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    calib, _ = pictures(CALIB_SEED, CALIB_COUNT)
    test, labels = pictures(TEST_SEED, TEST_COUNT)
    net = train(*pictures(TRAIN_SEED, TRAIN_COUNT), args.epochs)

    model = export(net)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (judged,) = session.run(None, {"image": normalized(test)})
    with torch.no_grad():
        logits = net(torch.from_numpy(normalized(test))).numpy()
    apart = float(np.abs(judged - logits).max())
    assert apart < 1e-4, f"ONNX Runtime and PyTorch are {apart} apart"

    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    np.save(args.out / "calib.npy", calib)
    np.save(args.out / "test.npy", test)
    np.save(args.out / "test.labels.npy", labels)
    np.save(args.out / "logits16.npy", logits[:16])
    right = int((judged.argmax(1) == labels).sum())
    print(f"parameters {sum(p.numel() for p in net.parameters())}, ONNX Runtime {right} of {len(labels)} right")
    print(f"largest difference between ONNX Runtime and PyTorch {apart:.2e}, largest logit {np.abs(logits).max():.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
