# SPDX-License-Identifier: Apache-2.0
"""Prints what cmake/torch.cmake needs to know of the torch wheel: version; folder; C++11 ABI as 0 or 1."""

import os
import sys
import warnings

warnings.filterwarnings("ignore")  # torch warns that NumPy is missing; nothing here needs it

try:
    import torch
except Exception as e:
    sys.exit(f"cannot import torch: {e}")

print(torch.__version__, os.path.dirname(torch.__file__), int(torch.compiled_with_cxx11_abi()), sep=";", end="")
