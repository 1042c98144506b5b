#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a document shows the files of a project as they are: same_code.py DOCUMENT FOLDER."""

import pathlib
import re
import sys

document = pathlib.Path(sys.argv[1]).read_text()
folder = pathlib.Path(sys.argv[2])
for language, name in (("cmake", "CMakeLists.txt"), ("cpp", "main.cpp")):
    shown = re.search(rf"```{language}\n(.*?)```", document, re.DOTALL)
    if not shown:
        sys.exit(f"{sys.argv[1]} shows no {language}")
    wanted = (folder / name).read_text().split("\n", 1)[1]  # without the line of the licence
    if shown[1] != wanted:
        sys.exit(f"the {language} in {sys.argv[1]} is not that of {folder / name}")
