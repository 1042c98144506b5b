#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the site and looks at it: site.py KASIMIR. Skipped (77) where `make site` has not installed Sphinx.

Every warning, broken link and address elsewhere is an error of the build; in a browser, where there is one, pages have no
errors, ask nobody, and are not wider than the window."""

import pathlib
import subprocess
import sys
import tempfile

import browser

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PYTHON = SOURCE / "build" / "site-venv" / "bin" / "python3"


def look(folder):
    with browser.Page() as page:
        for path in sorted(folder.rglob("*.html")):
            page.open(path.as_uri())
            assert page.value("document.documentElement.scrollWidth <= innerWidth"), f"{path.name} is too wide"
            assert page.value("[...document.images].every(image => image.naturalWidth > 0)"), f"{path.name}: an image"
        assert page.elsewhere("file:|data:|about:") == [] and page.faults == [], (page.requests, page.faults)


def main(kasimir):
    if not (PYTHON.parents[1] / "ready").exists():
        print("skipped: needs `make site` once, for Sphinx in build/site-venv")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve() / "site"
        subprocess.run([SOURCE / "tools" / "site" / "build", kasimir, PYTHON, folder], check=True)
        commands = (folder / "reference" / "commands.html").read_text()
        assert all(f"kasimir {word}" in commands for word in ("search", "zoo add", "study watch")), "commands"
        primitives = (folder / "reference" / "primitives.html").read_text()
        listed = subprocess.run([kasimir, "catalog", "primitives", "--json"], check=True, capture_output=True).stdout
        assert primitives.count(".svg") >= len(listed.splitlines()), "a picture of each primitive"
        if browser.program():
            look(folder)
        else:
            print("not looked at in a browser: needs Debian's package chromium")


if __name__ == "__main__":
    main(sys.argv[1])
