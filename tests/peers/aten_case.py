# SPDX-License-Identifier: Apache-2.0
"""A case of the operator suite (aten_ops.py), and the tensors that cases are made of."""
import warnings

import torch

warnings.filterwarnings("ignore")
CASES = []


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def case(name, function, *inputs, refused=None, dynamic=None, sizes=None, decomposed=False, other=None):
    """`refused`: the diagnostic that must come. `dynamic`: the first axis of the inputs is a symbol; `sizes` is its number in the run; "own": each has its own symbol.
    `decomposed`: only after run_decompositions(). `other`: a control, another function whose values must be found to differ."""
    CASES.append((name, function, inputs, refused, dynamic, sizes, decomposed, other))


def real(*shape, seed=0, low=-2.0, high=2.0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * (high - low) + low


def whole(*shape, seed=0, low=-9, high=9, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def truth(*shape, seed=0):
    return whole(*shape, seed=seed, low=0, high=2).bool()
