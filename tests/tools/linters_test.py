# SPDX-License-Identifier: Apache-2.0
"""A bad file for each linter, so that a rule that its configuration silently lost is noticed. Skips (exit 77) where
clang-format-19 or clang-tidy-19 is not installed: only `make format` and `make lint` need them."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

SOUND = """#include <string>

namespace kasimir {

class Counter {
 public:
  [[nodiscard]] int count() const { return count_; }
  void add(const std::string& word) { count_ += static_cast<int>(word.size()); }

 private:
  int count_ = 0;
};

int twice(const Counter& counter) { return 2 * counter.count(); }

}  // namespace kasimir
"""


def check(program, text, *arguments):
    """(exit code, output) of a linter over a file t.cpp with this text, in a folder that holds our configuration."""
    with tempfile.TemporaryDirectory() as folder:
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(ROOT / name, folder)
        pathlib.Path(folder, "t.cpp").write_text(text)
        command = [program, "t.cpp", *arguments]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr


class ClangFormat(unittest.TestCase):
    def check(self, text):
        return check("clang-format-19", text, "--dry-run", "-Werror")[0]

    def test_accepts_the_house_style(self):
        self.assertEqual(self.check(SOUND), 0)

    def test_refuses_the_pointer_at_the_name(self):
        self.assertEqual(self.check("int f(int* p);\n"), 0)
        self.assertNotEqual(self.check("int f(int *p);\n"), 0)

    def test_refuses_lines_of_more_than_120_columns(self):
        self.assertEqual(self.check(f"int {'a' * 111} = 1;\n"), 0)
        self.assertNotEqual(self.check(f"int f({', '.join(['int abcdefgh'] * 9)});\n"), 0)

    def test_refuses_unsorted_includes_and_keeps_blocks(self):
        self.assertEqual(self.check("#include <vector>\n\n#include <string>\n"), 0)
        self.assertNotEqual(self.check("#include <vector>\n#include <string>\n"), 0)


class ClangTidy(unittest.TestCase):
    def expect(self, text, *checks):
        code, output = check("clang-tidy-19", text, "--quiet", "--", "-std=c++20")
        found = re.findall(r"error: .*\[([\w.-]+),-warnings-as-errors\]", output)
        self.assertEqual((code, sorted(found)), (1 if checks else 0, sorted(checks)), output)

    def test_accepts_the_house_style(self):
        self.expect(SOUND)

    def test_refuses_names_of_another_style(self):
        naming = "readability-identifier-naming"
        self.expect("struct bad_type {};\n", naming)
        self.expect("class Type {\n  int member;\n};\n", naming)
        self.expect("int badFunction() { return 1; }\n", naming)
        self.expect("#define OTHER_MACRO 1\n", naming)
        self.expect("namespace Bad {}\n", naming)

    def test_refuses_functions_of_more_than_60_lines(self):
        self.expect("void f(int& a) {\n" + "  ++a;\n" * 55 + "}\n")
        self.expect("void f(int& a) {\n" + "  ++a;\n" * 70 + "}\n", "readability-function-size")

    def test_refuses_nesting_deeper_than_4(self):
        # The body of the function is the first level.
        self.expect("void f(int& a) {\n" + "if (a > 1) {\n" * 3 + "++a;" + "}" * 3 + "}\n")
        self.expect("void f(int& a) {\n" + "if (a > 1) {\n" * 4 + "++a;" + "}" * 4 + "}\n", "readability-function-size")

    def test_refuses_a_use_after_move(self):
        self.expect(
            "#include <string>\n#include <utility>\n"
            "int f(std::string a) {\n  std::string b = std::move(a);\n"
            "  return static_cast<int>(a.size() + b.size());\n}\n",
            "bugprone-use-after-move",
        )

    def test_refuses_copies_in_a_loop(self):
        self.expect(
            "#include <string>\n#include <vector>\nint f(const std::vector<std::string>& a) {\n  int n = 0;\n"
            "  for (const std::string b : a) n += static_cast<int>(b.size());\n  return n;\n}\n",
            "performance-for-range-copy",
        )


if __name__ == "__main__":
    missing = [name for name in ("clang-format-19", "clang-tidy-19") if not shutil.which(name)]
    if missing:
        print("skipped: not installed:", *missing)
        sys.exit(77)
    unittest.main()
