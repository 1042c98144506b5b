# SPDX-License-Identifier: Apache-2.0
"""Kernels as plain PyTorch modules. Needs torch."""

from __future__ import annotations

import copyreg
import hashlib
import linecache
import pathlib
import re
import sys
import textwrap
import types
import typing

import torch
from torch import nn

from .errors import InputError
from .kernel import Kernel, Site

_PRELUDE = '''import torch
import torch.nn.functional as F
from torch import nn


def follow(stored, batch, momentum):
    """Moves a running statistic towards the batch's."""
    stored.lerp_(batch.detach().to(stored.dtype), momentum)


'''

_PREFIX = "kasimir_kernel_"


class _Registry:
    """Classes by the name of the module that holds them, so that a process builds each once."""

    sources: dict[str, str] = {}


def class_of(source: str, class_name: str = "Kernel") -> type[nn.Module]:
    """The class that this source defines, in an importable module of its own, named after the source."""
    name = _PREFIX + hashlib.sha256(source.encode()).hexdigest()[:16]
    if name not in sys.modules:
        module = types.ModuleType(name)
        file = f"<{name}>"
        module.__file__ = file
        # inspect, torch.compile and tracebacks look for the lines there
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec"), module.__dict__)  # the text is the exporter's own
        _Registry.sources[name] = source
        sys.modules[name] = module
    made: type[nn.Module] = getattr(sys.modules[name], class_name)
    copyreg.pickle(made, _reduce)
    return made


def source_of(module: nn.Module) -> str | None:
    """The source of a module that ``class_of`` made; None of others."""
    return _Registry.sources.get(type(module).__module__)


def kernel_of(module: nn.Module) -> tuple[Kernel, Site] | None:
    """The kernel that a module of this package is, and its site, as its source says; None of other modules."""
    if source_of(module) is None:
        return None
    where, text = (type(module).__doc__ or "").split("\n", 1)
    numbers = [int(number) for number in re.findall(r"=(\d+)", where)]
    site = Site(*numbers)
    text = textwrap.dedent(text).strip().replace("\nwith ", f"\nat {site}: ")  # the values of free sizes
    return Kernel.parse(text + "\n"), site


def _reduce(module: nn.Module) -> tuple[typing.Any, ...]:
    return _rebuild, (source_of(module), type(module).__name__, module.__dict__)


def _rebuild(source: str, class_name: str, state: dict[str, typing.Any]) -> nn.Module:
    made = class_of(source, class_name)
    module = made.__new__(made)
    module.__dict__.update(state)
    return module


def module(kernel: Kernel, site: Site, rows: int = 0, columns: int = 0, bias: bool = False) -> nn.Module:
    """The kernel at the site, with fresh weights; ``bias`` adds one number to each channel of its output."""
    source = _PRELUDE + kernel.source(site, "Kernel", rows, columns)
    if bias:
        source = _with_bias(source, site.co)
    return class_of(source)()


def _with_bias(source: str, channels: int) -> str:
    """The source with a bias added to what forward returns."""
    made, count = re.subn(
        r"\n        return (.+)\n\Z",
        r"\n        return (\1) + self.bias[:, None, None]\n",
        source,
    )
    made = made.replace(
        "        super().__init__()\n",
        f"        super().__init__()\n        self.bias = nn.Parameter(torch.zeros({channels}))\n",
        1,
    )
    if count != 1:
        raise InputError("the kernel's source has no single return at its end")
    return made


class Placeholder(nn.Module):
    """Stands for a kernel: a 3 x 3 convolution until one is put in.

    ``find_sites`` finds it, ``replace`` and ``put`` put a kernel in.
    """

    def __init__(self, ci: int, co: int, stride: int = 1) -> None:
        super().__init__()
        self.ci, self.co, self.stride = ci, co, stride
        self.body: nn.Module = nn.Conv2d(ci, co, 3, stride=stride, padding=1, bias=False)

    def put(self, kernel: nn.Module) -> None:
        """Puts a module in the convolution's place."""
        self.body = kernel

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.body(x)
        return made

    def extra_repr(self) -> str:
        return f"{self.ci}, {self.co}, stride={self.stride}"


def save(model: nn.Module, folder: str | pathlib.Path) -> pathlib.Path:
    """Writes the kernels of a model as ``kernels.py`` and its state dict as ``weights.pt``.

    ``kernels.apply(model)`` of that file puts the kernels into the original architecture, wherever Kasimir is not
    installed; ``kernels.load(model)`` also loads the weights.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    classes: dict[str, str] = {}
    places: dict[str, str] = {}
    for name, part in model.named_modules():
        source = source_of(part)
        if source is not None:
            number = classes.setdefault(source, f"Kernel{len(classes) + 1}")
            places[name] = number
    if not places:
        raise InputError("the model has no kernel to save")
    text = '"""Kernels found by Kasimir; needs torch only."""\n\nimport pathlib\n\n' + _PRELUDE.rstrip() + "\n"
    for source, name in classes.items():
        text += "\n\n" + source[len(_PRELUDE) :].replace("class Kernel(nn.Module)", f"class {name}(nn.Module)", 1)
    text += "\n\nPLACES = {\n" + "".join(f'    "{name}": {kernel},\n' for name, kernel in places.items()) + "}\n"
    text += _LOADER
    (folder / "kernels.py").write_text(text, encoding="utf-8")
    torch.save({key: value.cpu() for key, value in model.state_dict().items()}, folder / "weights.pt")
    return folder


_LOADER = '''

def apply(model):
    """Puts the kernels into the original model, in place."""
    for name, kernel in PLACES.items():
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, kernel())
    return model


def load(model, path=pathlib.Path(__file__).with_name("weights.pt")):
    """The original model with the kernels and their weights, for inference."""
    apply(model).load_state_dict(torch.load(path, weights_only=True))
    return model.eval()
'''
