# SPDX-License-Identifier: Apache-2.0
"""Kernels as PyTorch modules, in models of users."""

import copy
import os
import pickle
import subprocess
import sys

import pytest

import kasimir

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

SITE = kasimir.Site(16, 32, 8, 8, 2)
EXAMPLES = kasimir.examples()


def input_for(site, batch=2):
    return torch.randn(batch, site.ci, site.stride * site.h, site.stride * site.w)


def fits(kernel):
    try:
        kernel.module(SITE)
        return SITE
    except kasimir.InputError:
        return kasimir.Site(16, 16, 8, 8)  # kernels without a stride


@pytest.fixture(params=EXAMPLES)
def made(request):
    torch.manual_seed(1)
    kernel = EXAMPLES[request.param]
    site = fits(kernel)
    return kernel.module(site), site


def small_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 4),
    )  # fmt: skip


IMAGE = torch.zeros(1, 3, 15, 15)  # odd: kernels pad


def test_a_module_has_the_sites_shape_and_learns(made):
    module, site = made
    x = input_for(site).requires_grad_()
    y = module(x)
    assert y.shape == (2, site.co, site.h, site.w)
    y.square().mean().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in module.parameters())


def test_a_module_copies_pickles_and_loads_states(made):
    module, site = made
    module.eval()
    x = input_for(site)
    expected = module(x)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert other is not module and torch.equal(other(x), expected)
    fresh = type(module)().eval()
    fresh.load_state_dict(module.state_dict())
    assert torch.equal(fresh(x), expected)


def test_a_module_compiles_exports_and_autocasts(made):
    module, site = made
    module.eval()
    x = input_for(site)
    expected = module(x)
    torch._dynamo.reset()
    assert torch.allclose(torch.compile(module, backend="aot_eager", fullgraph=True)(x), expected, atol=1e-5)
    assert torch.allclose(torch.export.export(module, (x,)).module()(x), expected, atol=1e-5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.isfinite(module(x)).all()


@pytest.mark.parametrize("name", ["depthwise_separable", "squeeze_excite"])
def test_a_module_compiles_by_inductor(name):
    module = EXAMPLES[name].module(SITE).eval()
    x = input_for(SITE)
    torch._dynamo.reset()
    assert torch.allclose(torch.compile(module)(x), module(x), atol=1e-5)


def test_an_unpickled_module_works_in_another_process(tmp_path):
    module = EXAMPLES["low_rank"].module(SITE)
    torch.save(module, tmp_path / "m.pt")
    code = f"import torch; m = torch.load({str(tmp_path / 'm.pt')!r}, weights_only=False); print(type(m).__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "Kernel\n"


def test_sites_are_found_and_what_stays_has_a_reason():
    sites = kasimir.find_sites(small_cnn(), IMAGE)
    assert [(p.name, str(p.site), p.rows) for p in sites] == [("3", "16->32x8x8/2", 1), ("6", "32->32x8x8", 0)]
    assert [(k.name, k.reason) for k in sites.kept] == [("0", "it reads 3 channels only")]
    assert str(sites).startswith("2 of 3 convolutions, 90.1% of their MACs, replaced")
    assert [p.name for p in kasimir.find_sites(small_cnn(), IMAGE, include=["0"])] == ["0"]
    with pytest.raises(kasimir.InputError, match="the pattern `nope` matches no convolution"):
        kasimir.find_sites(small_cnn(), IMAGE, exclude=["nope"])


def test_finding_sites_leaves_the_model_as_it_was():
    model = small_cnn().train()
    before = copy.deepcopy(model.state_dict())
    kasimir.find_sites(model, IMAGE)
    assert model.training and all(torch.equal(before[k], v) for k, v in model.state_dict().items())
    assert not any(part._forward_hooks for part in model.modules())


def test_replacing_gives_a_copy_and_keeps_everything_else():
    model = small_cnn()
    faster = kasimir.replace(model, EXAMPLES["depthwise_separable"], example=IMAGE)
    assert isinstance(model[3], nn.Conv2d) and not isinstance(faster[3], nn.Conv2d)
    assert torch.equal(faster[1].weight, model[1].weight) and torch.equal(faster[3].bias, model[3].bias)
    assert faster(IMAGE).shape == (1, 4)


def test_a_convolution_kernel_computes_what_the_convolution_did():
    model = small_cnn().eval()
    x = torch.randn(2, 3, 16, 16)
    faster = kasimir.replace(model, EXAMPLES["convolution"], example=x)
    for name in ("3", "6"):
        new = faster.get_submodule(name)
        weight = next(p for n, p in new.named_parameters() if n != "bias")
        with torch.no_grad():
            weight.copy_(model.get_submodule(name).weight.reshape(weight.shape))
    assert torch.allclose(faster(x), model(x), atol=1e-5)


def test_placeholders_are_convolutions_until_a_kernel_is_put_in():
    model = nn.Sequential(kasimir.Placeholder(8, 16, stride=2), nn.ReLU())
    x = torch.zeros(1, 8, 8, 8)
    assert model(x).shape == (1, 16, 4, 4)
    sites = kasimir.find_sites(model, x)
    assert [str(p.site) for p in sites] == ["8->16x4x4/2"]
    assert kasimir.replace(model, EXAMPLES["low_rank"], sites)(x).shape == (1, 16, 4, 4)


LOAD = """
import sys; sys.modules['kasimir'] = None
import torch; from torch import nn; sys.path.insert(0, {folder!r}); import kernels
model = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
torch.save(kernels.load(model)(torch.ones(1, 8, 8, 8)), {out!r})
"""


def test_a_search_ends_in_files_that_load_without_kasimir(tmp_path):
    model = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
    x = torch.ones(1, 8, 8, 8)

    def evaluate(candidate):
        if evaluate.calls == 1:
            evaluate.calls += 1
            raise RuntimeError("diverged")
        evaluate.calls += 1
        return -candidate(torch.ones(2, 8, 8, 8)).detach().square().mean().item()

    evaluate.calls = 0
    study = kasimir.search(model, x, evaluate, budget="macs=0.05..0.6", trials=5, storage=tmp_path / "s.db")
    assert [t.state for t in study.trials].count("failed") == 1
    assert study.trials[1].reason == "RuntimeError: diverged" and study.original["latency"] > 0
    assert study.best.apply(model)(x).shape == (1, 16, 8, 8)
    study.best.save(tmp_path / "best")
    code = LOAD.format(folder=str(tmp_path / "best"), out=str(tmp_path / "y.pt"))
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": ""})
    expected = study.models[study.best.number].eval()(x)
    assert torch.allclose(torch.load(tmp_path / "y.pt"), expected, atol=1e-6)


def train_in_parallel(rank, store, results):
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = kasimir.replace(small_cnn(), EXAMPLES["squeeze_excite"], example=IMAGE)
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), 0.05)
    torch.manual_seed(rank)
    for _ in range(3):
        optimizer.zero_grad()
        parallel(torch.randn(4, 3, 15, 15)).square().mean().backward()
        optimizer.step()
    torch.save({name: p.detach() for name, p in model.named_parameters()}, f"{results}/{rank}.pt")
    torch.distributed.destroy_process_group()


def test_two_processes_train_to_equal_parameters(tmp_path):
    torch.multiprocessing.spawn(train_in_parallel, (str(tmp_path / "store"), str(tmp_path)), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    torch.manual_seed(0)
    start = dict(kasimir.replace(small_cnn(), EXAMPLES["squeeze_excite"], example=IMAGE).named_parameters())
    assert first.keys() == start.keys() and all(torch.equal(first[name], second[name]) for name in first)
    trained = [name for name in first if name.endswith((".w0", ".w1", ".w2"))]  # of the kernels
    assert len(trained) == 6 and not any(torch.equal(start[name], first[name]) for name in trained)
