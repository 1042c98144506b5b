# SPDX-License-Identifier: Apache-2.0
"""Whole models of PyTorch: ONNX files, accelerators, rounding."""

import copy
import pickle

import pytest

import kasimir

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

IMAGE = torch.zeros(2, 3, 16, 16)
EXAMPLES = kasimir.examples()


@pytest.fixture
def model():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    ).eval()  # fmt: skip


@pytest.mark.parametrize("dynamo", [True, False])
def test_a_file_of_torch_onnx_loads(model, tmp_path, dynamo):
    if dynamo:
        pytest.importorskip("onnxscript")
    torch.onnx.export(model, (IMAGE[:1],), tmp_path / "x.onnx", dynamo=dynamo, verbose=False)
    network = kasimir.Network.load(tmp_path / "x.onnx")
    assert network.input == (3, 16, 16) and network.classes == 10
    assert list(network.sites().values()) == [kasimir.Site(16, 32, 8, 8, 2)]
    conv = {"conv 3x3 3->16 pad 1 bias", "conv 3x3 /2 16->32 pad 1 bias"}
    assert conv <= {layer.what for layer in network.layers}
    assert network.macs == 9 * 3 * 16 * 256 + 9 * 16 * 32 * 64 + 320
    same = kasimir.find_sites(model, IMAGE[:1]).loads()
    assert [load[:3] for load in network.loads()] == [load[:3] for load in same]


def test_a_damaged_onnx_file_is_an_input_error(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    with pytest.raises(kasimir.InputError, match="bad.onnx"):
        kasimir.Network.load(tmp_path / "bad.onnx")


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_module_knows_its_kernel_and_its_site(name):
    from kasimir.modules import kernel_of, module

    site = kasimir.Site(16, 16, 8, 8)
    for made in (EXAMPLES[name].module(site), module(EXAMPLES[name], site, rows=1, columns=1, bias=True)):
        kernel, where = kernel_of(pickle.loads(pickle.dumps(made)))
        assert where == site and kernel.primitives == EXAMPLES[name].primitives
        assert kernel.costs(site) == EXAMPLES[name].costs(site)
    assert kernel_of(nn.Conv2d(1, 1, 1)) is None


def test_kernels_of_a_model_are_mapped_too(model):
    how = dict(arch="gemmini", objective="latency", gap=0)
    before = kasimir.accel.map(model, IMAGE[:1], **how)
    assert [one.layer for one in before.layers] == ["0", "3", "7"]
    same = kasimir.replace(model, EXAMPLES["convolution"], example=IMAGE[:1])
    assert kasimir.accel.map(same, IMAGE[:1], **how).cycles == before.cycles
    lighter = kasimir.replace(model, EXAMPLES["depthwise_separable"], example=IMAGE[:1])
    mapped = kasimir.accel.map(lighter, IMAGE[:1], **how)
    assert [one.layer.split(".")[0] for one in mapped.layers] == ["0", "3", "3", "7"]
    assert mapped.cycles != before.cycles


def test_a_rounded_model_has_values_that_codes_stand_for(model):
    numpy = pytest.importorskip("numpy")
    rounded = kasimir.quantize.module(model, "sint4")
    expected = kasimir.quantize.array(model[3].weight.detach().numpy(), "sint4", per_channel=True)
    assert numpy.array_equal(rounded[3].weight.detach().numpy(), expected.values)
    assert torch.equal(rounded[3].bias, model[3].bias) and torch.equal(rounded[1].weight, model[1].weight)
    assert list(rounded.state_dict()) == list(model.state_dict())
    assert len(rounded[3].weight[0].unique()) <= 15
    kept = kasimir.quantize.module(model, "sint4", exclude=["0", "7"])
    assert torch.equal(kept[0].weight, model[0].weight) and torch.equal(kept[3].weight, rounded[3].weight)


def test_more_bits_are_nearer_and_activations_are_rounded(model):
    torch.manual_seed(2)
    data = [torch.randn(8, 3, 16, 16) for _ in range(2)]
    model = kasimir.replace(model, EXAMPLES["squeeze_excite"], example=IMAGE)
    errors = {}
    for bits in (2, 4, 8):
        rounded = kasimir.quantize.module(model, f"int{bits}", f"int{bits}", data)
        errors[bits] = (rounded(data[0]) - model(data[0])).square().mean().item()
    assert errors[2] > errors[4] > errors[8] > 0
    read = []
    rounded = kasimir.quantize.module(model, "", "uint2", data)
    rounded[0].register_forward_pre_hook(lambda _, given: read.append(given[0]))
    again = copy.deepcopy(rounded)
    assert torch.equal(rounded(data[1]), again(data[1]))
    assert len(read[0].unique()) <= 4
    data[1].requires_grad_()
    rounded(data[1]).sum().backward()
    assert data[1].grad.abs().sum() > 0 and all(part.training is False for part in rounded.modules())
