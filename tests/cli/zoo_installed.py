#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The zoo of an installed program: zoo_installed.py CMAKE BUILD."""

import os
import pathlib
import subprocess
import sys
import tempfile


def main(cmake, build):
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder, "prefix").resolve()
        subprocess.run([cmake, "--install", build, "--prefix", prefix, "--component", "program"], check=True,
                       capture_output=True)
        shown = subprocess.run([prefix / "bin" / "kasimir", "zoo", "show", "involution"], check=True,
                               capture_output=True, text=True, env={**os.environ, "XDG_DATA_HOME": folder}).stdout
    assert shown.splitlines()[0] == f"{prefix}/share/kasimir/zoo/involution.txt", shown


if __name__ == "__main__":
    main(*sys.argv[1:3])
