# SPDX-License-Identifier: Apache-2.0
"""The package with torch: modules, loaders, tensors, torch.compile. Right values are torch's own."""

import importlib.metadata

import npuc
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 16, 3, padding=1, groups=4), nn.Hardtanh(0, 6))
        self.head = nn.Linear(16 * 8 * 8, 10)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    net = Net()
    with torch.no_grad():
        for _ in range(10):
            net(torch.randn(32, 3, 16, 16))  # statistics of the batch norm
    return net.eval()


@pytest.fixture(scope="module")
def x():
    return torch.randn(64, 3, 16, 16, generator=torch.Generator().manual_seed(1))


def backend():
    """By its name when the package is installed, which registers it; from the source tree as the function."""
    from npuc import dynamo

    points = importlib.metadata.entry_points(group="torch_dynamo_backends")
    return "npuc" if any(p.name == "npuc" for p in points) else dynamo.backend


def near(a, b, tolerance=1e-4):
    return (a - b).abs().max().item() <= tolerance * b.abs().max().item()


def test_module_and_tensors(net, x):
    model = npuc.import_model(net, (x[:2],), dynamic_shapes=({0: torch.export.Dim("n", min=1, max=512)},))
    y = model(x)
    assert isinstance(y, torch.Tensor)
    assert near(y, net(x).detach())
    assert not near(model(x * 1.01), net(x).detach())  # control
    assert near(model(x.to(memory_format=torch.channels_last)), net(x).detach())
    assert near(torch.from_numpy(model(x.numpy())), net(x).detach())
    assert near(npuc.run(net, x), net(x).detach())
    from npuc._arrays import view

    assert view(x).address == x.data_ptr()


def test_keywords_several_outputs_and_types():
    class Two(nn.Module):
        def forward(self, a, b, *, shift):
            return a.to(torch.float32) @ b + shift, (a > 3), a.sum(0).to(torch.bfloat16)

    two = Two().eval()
    a, b, shift = torch.arange(12).reshape(3, 4), torch.randn(4, 5), torch.tensor(0.5)
    results = npuc.run(two, a, b, shift=shift)
    wanted = two(a, b, shift=shift)
    assert near(results[0], wanted[0]) and torch.equal(results[1], wanted[1])
    assert torch.equal(results[2], wanted[2].float())
    half = npuc.run(nn.Identity().eval(), torch.randn(3, 5).to(torch.bfloat16))
    assert half.shape == (3, 5)


@pytest.mark.parametrize("kind", ["tensors", "tuples", "dicts", "DataLoader"])
def test_compile_with_any_loader(net, x, kind, tmp_path):
    loader = {
        "tensors": x,
        "tuples": [(x[i : i + 16], torch.zeros(16)) for i in range(0, 64, 16)],
        "dicts": ({"x": x[i : i + 16]} for i in range(0, 64, 16)),
        "DataLoader": torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, torch.zeros(64)), batch_size=20),
    }[kind]
    built = npuc.compile(net, (x[:1],), target="refnpu-n16", calibration=loader, output=tmp_path / "out")
    reference = npuc.compile(net, (x[:1],), target="refnpu-n16", calibration=[x.numpy()])
    assert built.artifact.read_bytes() == reference.artifact.read_bytes()  # the same samples
    y, wanted = built(x), net(x).detach()
    assert isinstance(y, torch.Tensor)
    assert ((y - wanted) ** 2).mean() < (wanted**2).mean() / 100  # 20 dB
    assert npuc.load(built.artifact)(x[:1]).shape == (1, 10)


def test_what_cannot_be_exported_says_so(net):
    with pytest.raises(npuc.NpucError, match="example inputs"):
        npuc.compile(net)
    training = Net().train()
    with pytest.raises(npuc.NpucError, match="training mode"):
        npuc.import_model(training, (torch.randn(1, 3, 16, 16),))


class Strange(nn.Module):
    def forward(self, x):
        return torch.special.bessel_j0(x) + 1


def test_unknown_operators_are_named():
    with pytest.raises(npuc.NpucError, match="bessel_j0") as caught:
        npuc.run(Strange().eval(), torch.randn(3))
    assert caught.value.kind is npuc.Kind.UNSUPPORTED


def test_torch_compile(net, x):
    torch._dynamo.reset()
    compiled = torch.compile(net, backend=backend())
    with torch.no_grad():
        assert near(compiled(x), net(x))
        assert near(compiled(x[:1]), net(x[:1]))
        assert not near(compiled(x * 1.01), net(x))  # control
        saved = net.head.bias.clone()
        net.head.bias += 1.0  # weights are inputs of the graph: what changes is seen
        assert near(compiled(x), net(x))
        net.head.bias.copy_(saved)
    with pytest.raises(Exception, match="gradients"):
        compiled(x)
    torch._dynamo.reset()
    with torch.no_grad(), pytest.raises(Exception, match="bessel_j0"):
        torch.compile(Strange(), backend=backend())(torch.randn(3))


def test_torch_compile_with_a_break():
    torch._dynamo.reset()

    def f(a):
        b = torch.relu(a) + 1
        if b.sum() > 0:  # a graph ends here
            return torch.tanh(b)
        return -b

    a = torch.randn(5, 7)
    with torch.no_grad():
        assert near(torch.compile(f, backend=backend())(a), f(a))
