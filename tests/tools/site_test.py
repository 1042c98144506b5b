# SPDX-License-Identifier: Apache-2.0
"""The parts of tools/site that need neither Sphinx nor the program: links, what pages load, help with long lines."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

SITE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "site"
sys.path.insert(0, str(SITE))
loader = importlib.machinery.SourceFileLoader("site_build", str(SITE / "build"))
build = importlib.util.module_from_spec(importlib.util.spec_from_loader("site_build", loader))
loader.exec_module(build)

import reference  # noqa: E402


class Links(unittest.TestCase):
    def linked(self, name, text):
        faults = []
        return build.linked(build.ROOT / name, text, build.pages(), faults), faults

    def test_a_page_is_linked_from_where_it_is(self):
        self.assertEqual(self.linked("README.md", "see [data](docs/data.md#arrays)"), ("see [data](data.md#arrays)", []))
        self.assertEqual(self.linked("docs/decisions/0001-stages.md", "[x](../space.md)"), ("[x](../space.md)", []))

    def test_what_is_no_page_is_named(self):
        self.assertEqual(self.linked("README.md", "[`synth`](src/kasimir/synth), [the licence](LICENSE)"),
                         ("`synth`, the licence (`LICENSE`)", []))

    def test_a_link_to_nothing_is_an_error(self):
        self.assertEqual(self.linked("docs/data.md", "[x](nowhere.md)")[1], ["docs/data.md: there is no nowhere.md"])

    def test_code_has_no_links(self):
        text = "as\n\n    f[i](nowhere)\n\n```\n[x](nowhere.md)\n```\n"
        self.assertEqual(self.linked("docs/data.md", text), (text, []))

    def test_every_page_of_the_chapters_exists(self):
        known = set(build.pages().values())
        for names in build.CHAPTERS.values():
            for name in names:
                self.assertIn(f"{name}.md", known)


class Pages(unittest.TestCase):
    def test_what_a_page_loads_from_elsewhere_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "page.html").write_text(
                '<a href="https://example.org/">read</a><img src="//example.org/a.png">'
                '<link rel="stylesheet" href="https://example.org/a.css"><script src="own.js"></script>')
            pathlib.Path(folder, "own.css").write_text("@import 'https://example.org/b.css'; a { b: url(c.png) }")
            with self.assertRaises(build.Broken) as caught:
                build.check_loads(pathlib.Path(folder))
        self.assertEqual(str(caught.exception).splitlines(), [
            "page.html: loads //example.org/a.png", "page.html: loads https://example.org/a.css",
            "own.css: loads https://example.org/b.css"])


class Help(unittest.TestCase):
    def test_long_lines_go_on_below_their_description(self):
        line = "  --name TEXT                 " + "word " * 30
        lines = reference.wrapped(line).splitlines()
        self.assertGreater(len(lines), 1)
        self.assertTrue(all(len(one) <= reference.WIDTH for one in lines))
        self.assertTrue(all(one.startswith(" " * 30 + "word") for one in lines[1:]), lines)

    def test_subcommands_are_found(self):
        self.assertEqual(reference.subcommands("x\n\nSubcommands:\n  show                        the\n  gc      b\n"),
                         ["show", "gc"])


if __name__ == "__main__":
    unittest.main()
