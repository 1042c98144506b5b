# SPDX-License-Identifier: Apache-2.0
"""A page in headless Chromium, over its own debugging protocol through a pipe (--remote-debugging-pipe)."""

import base64
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import time

# Where Debian has it, and what others call it.
NAMES = ("chromium", "chromium-browser", "google-chrome")


def program():
    """The browser's path, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One page; remembers what was asked of the network and what went wrong. A context manager."""

    def __init__(self, width=1280, height=900):
        self.requests = []  # addresses
        self.faults = []  # what the console and uncaught errors said
        self._next = 0
        self._rest = b""
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._ours_read, theirs_write = os.pipe()
        theirs_read, self._ours_write = os.pipe()
        # The browser reads descriptor 3 and writes 4. Copies above these first, so that neither covers the other.
        low, high = os.dup(theirs_read), os.dup(theirs_write)
        shell = f'exec 3<&{low} 4>&{high}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "browser", program(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--remote-debugging-pipe", f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}",
             "about:blank"],
            pass_fds=(low, high), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (theirs_read, theirs_write, low, high):
            os.close(end)
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._ours_read)
        os.close(self._ours_write)
        self._folder.cleanup()

    def call(self, method, **params):
        """Runs a method of the protocol; its result."""
        self._next += 1
        message = {"id": self._next, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._ours_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read(120)
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _read(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self._rest:
            if not select.select([self._ours_read], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._ours_read, 1 << 20)
            if not piece:
                raise RuntimeError("the browser is gone")
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(message)
        self._remember(message.get("method"), message.get("params", {}))
        return message

    def _remember(self, method, params):
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.faults.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.faults.append(json.dumps(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.faults.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression, seconds=120):
        """Until the expression is true; a page that is being loaded has no values for a moment."""
        end = time.monotonic() + seconds
        while True:
            try:
                if self.value(expression):
                    return
            except RuntimeError as problem:
                if "context" not in str(problem):
                    raise
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.2)

    def elsewhere(self, allowed):
        """Addresses that were asked for and do not match the pattern."""
        return [address for address in self.requests if not re.match(allowed, address)]

    def picture(self, path):
        """The whole page as a PNG file."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
