#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A study in the browser: serve.py KASIMIR.

The page, what programs read, what is refused, that nothing is written, and that results of other processes show."""

import http.client
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile


def start(kasimir, study):
    """The server and its port."""
    server = subprocess.Popen([kasimir, "serve", study, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
    line = server.stdout.readline()
    found = re.fullmatch(r".* is at http://127\.0\.0\.1:(\d+)/ until Ctrl-C\n", line)
    assert found, (line, server.stderr.read() if server.poll() is not None else "")
    return server, int(found[1])


def ask(port, path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def check(kasimir, folder):
    study = str(folder / "store.db")
    subprocess.run([kasimir, "bench", "store", "--trials", "30", "--study", study], check=True, capture_output=True)
    server, port = start(kasimir, study)
    try:
        before = pathlib.Path(study).read_bytes()
        answer, page = ask(port, "/")
        assert answer.status == 200 and answer.getheader("Content-Type") == "text/html; charset=utf-8", answer.status
        assert "default-src 'none'" in answer.getheader("Content-Security-Policy")
        assert 'id="trial-30"' in page and "No worker has a job." in page, page[:2000]
        assert not re.search(r'(src|href)="(https?:)?//', page), "the page asks somebody else"

        state = json.loads(ask(port, "/state")[1])
        assert not state["finished"], state
        assert state["text"].startswith("rung quick: 30 candidates evaluated or in training, 0 screened out"), state
        assert f'data-token="{state["token"]}"' in page, state

        trials = [json.loads(line) for line in ask(port, "/trials.json")[1].splitlines()]
        shown = subprocess.run([kasimir, "study", "show", study, "--json"], check=True, capture_output=True, text=True)
        assert trials == [json.loads(line) for line in shown.stdout.splitlines()] and len(trials) == 31
        assert ask(port, "/trials.csv")[1].startswith("number,"), "a header"

        assert ask(port, "/../secret")[0].status == 404
        assert ask(port, "/", "POST")[0].status == 404
        assert ask(port, "/", host="elsewhere.example")[0].status == 403, "another name that leads here"
        assert ask(port, "/", host=f"localhost:{port}")[0].status == 200
        assert pathlib.Path(study).read_bytes() == before, "reading wrote something"

        taken = subprocess.run([kasimir, "serve", study, "--port", str(port)], capture_output=True, text=True,
                               timeout=60)
        assert taken.returncode == 4 and f"cannot listen at 127.0.0.1:{port}" in taken.stderr, taken

        # A study with more trials takes the place of the first.
        other = str(folder / "other.db")
        subprocess.run([kasimir, "bench", "store", "--trials", "40", "--study", other], check=True, capture_output=True)
        for part in ("-wal", "-shm"):
            pathlib.Path(study + part).unlink(missing_ok=True)
        shutil.move(other, study)
        assert json.loads(ask(port, "/state")[1])["token"] != state["token"]
        assert 'id="trial-40"' in ask(port, "/")[1]

        pathlib.Path(study).unlink()
        answer, text = ask(port, "/state")
        assert answer.status == 500 and text.startswith("error: "), (answer.status, text)
    finally:
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=60)
    assert (server.returncode, out, err) == (0, "", ""), (server.returncode, out, err)


def main(kasimir):
    with tempfile.TemporaryDirectory() as folder:
        check(kasimir, pathlib.Path(folder))
    missing = subprocess.run([kasimir, "serve", "nowhere.db"], capture_output=True, text=True)
    assert missing.returncode == 2 and "nowhere.db" in missing.stderr, missing


if __name__ == "__main__":
    main(sys.argv[1])
