# SPDX-License-Identifier: Apache-2.0
"""tools/test over small ctest runs: the closing line counts what ran, and the exit code follows."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "test"

MIXED = """<testsuites><testsuite name="S">
<testcase name="A" status="run"/><testcase name="B" status="run"/>
<testcase name="C" status="run"><failure message="no"/><failure message="no again"/></testcase>
<testcase name="D" status="run" result="skipped"><skipped message="no GPU"/></testcase>
<testcase name="DISABLED_E" status="notrun"/>
</testsuite></testsuites>"""
# What pytest writes of a case that passed, one that failed, one whose fixture raised, and one that was skipped.
PYTEST = """<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4">
<testcase name="a"/><testcase name="b"><failure message="no"/></testcase><testcase name="c"><error message="no"/></testcase>
<testcase name="d"><skipped message="no pandas"/></testcase></testsuite></testsuites>"""
GOOD = '<testsuites><testcase name="A" status="run"/><testcase name="B" status="run"/></testsuites>'


class Count(unittest.TestCase):
    """Each test is a folder of shell scripts that ctest runs: {name: (script, properties)}."""

    def run_on(self, tests):
        with tempfile.TemporaryDirectory() as folder:
            lines = []
            for name, (script, properties) in tests.items():
                path = pathlib.Path(folder, name)
                if script is not None:
                    path.write_text("#!/bin/sh\n" + script)
                    path.chmod(0o755)
                lines.append(f"add_test([=[{name}]=] {path})\n")
                lines.append(f"set_tests_properties([=[{name}]=] PROPERTIES LABELS t {properties})\n")
            pathlib.Path(folder, "CTestTestfile.cmake").write_text("".join(lines))
            result = subprocess.run([str(SCRIPT), folder], capture_output=True, text=True, check=False)
            return (result.stdout.splitlines() or [""])[-1], result.returncode

    def report(self, text):
        """A script that leaves a report as a GoogleTest binary does."""
        return f"cat >\"${{GTEST_OUTPUT#xml:}}$(basename \"$0\").xml\" <<'END'\n{text}\nEND\n"

    def test_counts_cases_of_googletest_and_other_tests_as_one(self):
        tests = {"a_test": (self.report(GOOD), ""), "script": ("exit 0", "")}
        self.assertEqual(self.run_on(tests), ("3 passed, 0 failed", 0))

    def test_counts_failures_and_skips_case_by_case(self):
        tests = {"a_test": (self.report(MIXED) + "exit 1", ""), "script": ("exit 0", "")}
        self.assertEqual(self.run_on(tests), ("3 passed, 1 failed, 2 skipped", 8))

    def test_counts_cases_of_pytest(self):
        tests = {"a_test": (self.report(PYTEST) + "exit 1", ""), "script": ("exit 0", "")}
        self.assertEqual(self.run_on(tests), ("2 passed, 2 failed, 1 skipped", 8))

    def test_counts_a_crash_without_a_report_as_a_failure(self):
        tests = {"a_test": ("kill -SEGV $$", ""), "script": ("exit 0", "")}
        self.assertEqual(self.run_on(tests), ("1 passed, 1 failed", 8))

    def test_counts_a_report_cut_short_as_a_failure(self):
        tests = {"a_test": (self.report("<testsuites><testcase") + "exit 3", ""), "script": ("exit 0", "")}
        self.assertEqual(self.run_on(tests), ("1 passed, 1 failed", 8))

    def test_counts_a_process_that_fails_after_its_cases_passed(self):
        self.assertEqual(self.run_on({"a_test": (self.report(GOOD) + "exit 23", "")}), ("2 passed, 1 failed", 8))

    def test_counts_a_time_limit_as_a_failure(self):
        tests = {"a_test": ("exec sleep 20", "TIMEOUT 1"), "script": ("exit 0", "")}
        self.assertEqual(self.run_on(tests), ("1 passed, 1 failed", 8))

    def test_counts_a_program_that_was_not_built_as_a_failure(self):
        tests = {"a_test": (None, ""), "script": ("exit 0", "")}
        self.assertEqual(self.run_on(tests), ("1 passed, 1 failed", 8))

    def test_counts_a_test_that_says_it_skips(self):
        tests = {"a_test": ("exit 77", "SKIP_RETURN_CODE 77"), "script": ("exit 0", "")}
        self.assertEqual(self.run_on(tests), ("1 passed, 0 failed, 1 skipped", 0))

    def test_fails_where_nothing_ran(self):
        tests = {"a_test": ("exit 77", "SKIP_RETURN_CODE 77")}
        self.assertEqual(self.run_on(tests), ("0 passed, 0 failed, 1 skipped", 1))
        self.assertNotEqual(self.run_on({})[1], 0)


if __name__ == "__main__":
    unittest.main()
