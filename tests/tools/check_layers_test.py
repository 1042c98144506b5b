# SPDX-License-Identifier: Apache-2.0
"""One bad tree for each rule of tools/check_layers.py, with the exact message."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"

# A sound tree of three layers and one primitive.
SOUND = {
    "src/kasimir/base/CMakeLists.txt": "kasimir_layer(base\n  SOURCES error.cpp\n  HEADERS error.h)\n",
    "src/kasimir/base/error.cpp": '#include "kasimir/base/error.h"\n',
    "src/kasimir/base/error.h": "#pragma once\n",
    "src/kasimir/kernel/CMakeLists.txt": (
        "kasimir_layer(kernel\n  SOURCES kernel.cpp\n  HEADERS kernel.h\n  USES base)\n"
    ),
    "src/kasimir/kernel/kernel.cpp": '#include "kasimir/kernel/kernel.h"\n\n#include <string>\n',
    "src/kasimir/kernel/kernel.h": '#pragma once\n\n#include "kasimir/base/error.h"\n',
    "src/kasimir/primitive/CMakeLists.txt": (
        "set(primitives\n  unfold  # windows\n  fold)\n"
        "list(TRANSFORM primitives APPEND .cpp OUTPUT_VARIABLE files)\n"
        "kasimir_layer(primitive\n  SOURCES ${files}\n  USES kernel)\n"
    ),
    "src/kasimir/primitive/fold.cpp": '#include "kasimir/base/error.h"\nauto n = "fold";\n',
    "src/kasimir/primitive/unfold.cpp": '#include "kasimir/kernel/kernel.h"\nauto n = "unfold";\n',
}


def naming(place, word):
    return (
        f"{place}: names the primitive {word}; only src/kasimir/primitive and tests may "
        "(another meaning of the word? end the line with `// names a primitive: WHY`)"
    )


class CheckLayers(unittest.TestCase):
    """Each test changes files of the sound tree; None removes one."""

    def run_on(self, changes, git=False):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**SOUND, **changes}.items():
                if text is not None:
                    path = pathlib.Path(folder, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text)
            if git:
                subprocess.run(["git", "init", "-q", folder], check=True)
            return subprocess.run([sys.executable, str(SCRIPT), folder], capture_output=True, text=True, check=False)

    def expect(self, changes, *lines):
        result = self.run_on(changes)
        count = "1 finding" if len(lines) == 1 else f"{len(lines)} findings"
        self.assertEqual(result.stdout.splitlines(), [*lines, f"check_layers: {count}"])
        self.assertEqual(result.returncode, 1)

    def test_a_type_is_defined_once_in_a_namespace(self):
        header = "#pragma once\n\nnamespace kasimir {\nstruct Walk final : Step {\n};\n}  // namespace kasimir\n"
        self.expect(
            {
                "src/kasimir/base/error.h": header,
                "src/kasimir/kernel/kernel.h": '#include "kasimir/base/error.h"\nnamespace kasimir {\nstruct Other;\n'
                "enum class Walk : int { a };\nstruct Other::Walk {\n};\n}\nnamespace kasimir::kernel {\nclass Walk {\n};\n}\n",
            },
            "src/kasimir/kernel/kernel.h:4: kasimir::Walk is defined in src/kasimir/base/error.h:4 too; "
            "one of them needs another name",
        )

    def test_accepts_a_sound_tree_and_includes_through_another_layer(self):
        result = self.run_on({})
        self.assertEqual((result.stdout, result.returncode), ("check_layers: nothing found\n", 0))

    def test_reports_an_include_of_an_undeclared_layer(self):
        self.expect(
            {"src/kasimir/base/error.cpp": '\n#include "kasimir/kernel/kernel.h"\n'},
            "src/kasimir/base/error.cpp:2: layer base includes kernel, which it does not use; its USES: none",
        )

    def test_reports_an_include_that_hides_its_layer(self):
        self.expect(
            {"src/kasimir/kernel/kernel.cpp": '#include "kernel.h"\n'},
            'src/kasimir/kernel/kernel.cpp:1: includes "kernel.h"; write "kasimir/<layer>/<file>.h"',
        )

    def test_reports_a_circle_once(self):
        self.expect(
            {
                "src/kasimir/base/CMakeLists.txt": "\nkasimir_layer(base\n SOURCES error.cpp error.h USES kernel)\n",
                "src/kasimir/base/error.cpp": '#include "kasimir/kernel/kernel.h"\n',
            },
            "src/kasimir/base/CMakeLists.txt:2: layers use each other in a circle: base -> kernel -> base",
        )

    def test_reports_a_layer_that_uses_itself(self):
        self.expect(
            {"src/kasimir/base/CMakeLists.txt": "kasimir_layer(base SOURCES error.cpp HEADERS error.h USES base)\n"},
            "src/kasimir/base/CMakeLists.txt:1: layers use each other in a circle: base -> base",
        )

    def test_reports_a_used_layer_that_is_not_included(self):
        self.expect(
            {"src/kasimir/kernel/kernel.h": "#pragma once\n"},
            "src/kasimir/kernel/CMakeLists.txt:4: layer kernel uses base and includes nothing of it",
        )

    def test_reports_a_used_layer_that_does_not_exist(self):
        self.expect(
            {"src/kasimir/base/CMakeLists.txt": "kasimir_layer(base\n  SOURCES error.cpp error.h\n  USES bass)\n"},
            "src/kasimir/base/CMakeLists.txt:3: layer base uses bass, which is no layer of src/kasimir",
        )

    def test_reports_a_file_that_is_not_listed(self):
        self.expect(
            {"src/kasimir/kernel/extra/spare.cpp": ""},
            "src/kasimir/kernel/extra/spare.cpp:1: not listed in src/kasimir/kernel/CMakeLists.txt",
        )

    def test_reports_a_file_that_only_a_comment_lists(self):
        self.expect(
            {
                "src/kasimir/base/spare.h": "",
                "src/kasimir/base/CMakeLists.txt": "kasimir_layer(base # spare.h\n SOURCES error.cpp error.h)\n",
            },
            "src/kasimir/base/spare.h:1: not listed in src/kasimir/base/CMakeLists.txt",
        )

    def test_reports_a_primitive_that_is_not_listed(self):
        self.expect(
            {"src/kasimir/primitive/merge.cpp": ""},
            "src/kasimir/primitive/merge.cpp:1: not listed in src/kasimir/primitive/CMakeLists.txt",
        )

    def test_reports_a_folder_that_declares_no_layer(self):
        self.expect(
            {"src/kasimir/base/CMakeLists.txt": None, "src/kasimir/base/error.cpp": '#include "any.h"\n'},
            "src/kasimir/base/CMakeLists.txt:1: no kasimir_layer(base ...)",
        )

    def test_reports_a_file_of_more_than_500_lines(self):
        self.expect(
            {"src/kasimir/base/error.h": "\n" * 501, "docs/a.html": "\n" * 500, "tools/b.py": "\n" * 1000},
            "src/kasimir/base/error.h:501: 501 lines; a file has at most 500",
            "tools/b.py:501: 1000 lines; a file has at most 500",
        )

    def test_reports_primitives_named_by_a_string_or_an_identifier(self):
        self.expect(
            {
                "src/kasimir/kernel/kernel.cpp": (
                    'auto a = is("unfold") || is("fold");\n'
                    "auto b = primitive::fold;\n"
                    'auto c = "unfold three";  // "unfold"\n'
                    'auto d = "\\"fold";\n'
                    'auto e = "unfold";  // names a primitive: a word of ONNX\n'
                    'auto f = "unfold";  // names a primitive:\n'
                ),
                "apps/kasimir/main.cpp": 'auto a = "unfold";\n',
                "tests/unit/a_test.cpp": 'auto a = "unfold";\n',
            },
            naming("src/kasimir/kernel/kernel.cpp:1", "unfold"),
            naming("src/kasimir/kernel/kernel.cpp:1", "fold"),
            naming("src/kasimir/kernel/kernel.cpp:2", "fold"),
            naming("src/kasimir/kernel/kernel.cpp:6", "unfold"),
        )

    def test_lets_a_file_say_that_its_words_mean_something_else(self):
        text = '#pragma once\n// names primitives: scalar functions share their words\nauto a = "fold", b = "unfold";\n'
        self.assertEqual(self.run_on({"src/kasimir/base/error.h": text}).returncode, 0)
        self.assertEqual(self.run_on({"src/kasimir/base/error.h": text.replace(": scalar", " scalar")}).returncode, 1)

    def test_lets_networks_have_layers_of_the_same_name(self):
        tree = {
            "src/kasimir/network/CMakeLists.txt": "kasimir_layer(network SOURCES zoo.cpp)\n",
            "src/kasimir/network/zoo.cpp": 'auto a = "fold";\nauto b = primitive::fold;\n',
        }
        self.expect(
            tree,
            naming("src/kasimir/network/zoo.cpp:2", "fold"),
        )

    def test_looks_at_new_files_of_a_repository_and_not_at_ignored_ones(self):
        result = self.run_on({".gitignore": "/out/\n", "out/long.py": "\n" * 501, "new.py": "\n" * 501}, git=True)
        self.assertEqual(
            result.stdout.splitlines(), ["new.py:501: 501 lines; a file has at most 500", "check_layers: 1 finding"]
        )

    def test_refuses_a_folder_without_layers(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, str(SCRIPT), folder], capture_output=True, text=True, check=False)
            name = pathlib.Path(folder).resolve()
            self.assertEqual(result.stderr, f"check_layers: no folder src/kasimir in {name}\n")
            self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    unittest.main()
