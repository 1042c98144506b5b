#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The live page in a real browser: serve_browser.py KASIMIR. Skipped (77) without Chromium.

It draws a front and curves, shows a trial that another process adds, asks nobody else for anything, and has no errors."""

import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import browser
from serve import start


def fill(kasimir, study, trials):
    subprocess.run([kasimir, "bench", "store", "--trials", str(trials), "--study", study], check=True,
                   capture_output=True)


def check(kasimir, folder):
    study = str(folder / "live.db")
    fill(kasimir, study, 30)
    server, port = start(kasimir, study)
    try:
        with browser.Page() as page:
            page.open(f"http://127.0.0.1:{port}/")
            shown = page.value("""[...document.querySelectorAll('svg')].map(svg => ({
                marks: svg.querySelectorAll('circle, rect, polygon, path').length,
                lines: svg.querySelectorAll('polyline, path').length,
                width: svg.getBoundingClientRect().width, height: svg.getBoundingClientRect().height}))""")
            charts = [one for one in shown if one["width"] > 300 and one["height"] > 200]  # others are keys of colours
            assert any(one["marks"] >= 31 for one in charts), shown  # a front: the original and 30 trials
            assert any(one["lines"] >= 31 for one in charts), shown  # a curve of each
            assert page.value("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window"
            assert page.value("document.querySelector('#trial-30') !== null && !document.querySelector('#trial-40')")

            page.value("window.before = true")
            other = str(folder / "more.db")
            fill(kasimir, other, 40)
            for part in ("-wal", "-shm"):
                pathlib.Path(study + part).unlink(missing_ok=True)
            shutil.move(other, study)
            page.wait("window.before === undefined && document.querySelector('#trial-40') !== null")

            # A box on the page stops that.
            page.value("document.querySelector('#follow').click()")
            page.value("location.reload()")
            page.wait("document.readyState === 'complete' && document.querySelector('#follow')?.checked === false")
            assert page.elsewhere(rf"http://127\.0\.0\.1:{port}/|data:|about:") == [], page.requests
            assert page.faults == [], page.faults
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


def main(kasimir):
    if browser.program() is None:
        print("skipped: needs Debian's package chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        check(kasimir, pathlib.Path(folder))


if __name__ == "__main__":
    main(sys.argv[1])
