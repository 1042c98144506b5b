# SPDX-License-Identifier: Apache-2.0
"""Finds neural-network kernels that make a network faster.

``search`` takes any ``torch.nn.Module``; ``create_study`` gives full control by ask and tell; ``sample`` draws kernels.
Importing this package imports neither torch nor numpy: what needs them loads them at first use.
"""

from __future__ import annotations

import importlib
import typing

from . import _kasimir
from .errors import InputError, InternalError, KasimirError, SystemFault, UnsolvedError, absent
from .kernel import Kernel, Load, Sampler, Site, conv_load, examples, primitives, sample
from .network import Network, zoo
from .study import Study, Trial, create_study

if typing.TYPE_CHECKING:
    from . import accel, quantize
    from .modules import Placeholder, save
    from .search import latency, search
    from .sites import Sites, find_sites, replace

__version__ = _kasimir.version()

# What needs torch or numpy, by the file that has it; None: the file itself.
_LATER = {
    "accel": None,
    "quantize": None,
    "Placeholder": "modules",
    "save": "modules",
    "latency": "search",
    "search": "search",
    "Sites": "sites",
    "find_sites": "sites",
    "replace": "sites",
}

__all__ = [
    "InputError", "InternalError", "Kernel", "KasimirError", "Load", "Network", "Placeholder", "Sampler", "Site",
    "Sites", "Study", "SystemFault", "Trial", "UnsolvedError", "__version__", "accel", "conv_load", "create_study",
    "examples", "find_sites", "latency", "primitives", "quantize", "replace", "sample", "save", "search", "zoo",
]  # fmt: skip


_HINTS = {
    "load": "`Kernel.load` reads kernels, `Network.load` networks, `create_study(.., storage=FILE)` studies",
    "load_study": "`create_study` with the same arguments and `storage` goes on where it stopped",
    "export": "`kasimir.save(model, folder)` and `study.best.save(folder)` write files that need torch only",
    "optimize": "`study.optimize(evaluate, trials=20)`, or `kasimir.search` for a model",
    "quantise": "`kasimir.quantize`",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise absent("kasimir", name, _HINTS)
    module = importlib.import_module(f".{_LATER[name] or name}", __name__)
    value = module if _LATER[name] is None else getattr(module, name)
    globals()[name] = value  # importing `search` set the name to the module: the function is what is meant
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
