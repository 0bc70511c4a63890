"""Tests of ./dev's own arguments. Each call fails before it builds anything."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class TestVerb(unittest.TestCase):
    def refusal(self, *arguments):
        done = subprocess.run([ROOT / "dev", "test", *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        return done.stderr.strip()

    def test_unknown_option(self):
        self.assertEqual(self.refusal("--everything"), "dev: unknown option '--everything' of test; accepted: --all, --rest, --only=NAME and --minutes=N")

    def test_minutes_are_a_number(self):
        self.assertEqual(self.refusal("--rest", "--minutes=soon"), "dev: --minutes is 'soon'; accepted is a whole number")

    def test_minutes_limit_the_rest(self):
        self.assertEqual(self.refusal("--minutes=5"), "dev: --minutes is given without --all or --rest, which it limits")

    def test_rest_selects_presets(self):
        self.assertEqual(self.refusal("--rest", "asan"), "dev: --all and --rest select the presets themselves; remove asan")

    def test_lint_counts(self):
        stubs = """
            set -euo pipefail
            root=$PWD
            . tools/test_verb.sh
            say() { :; }
            setup() { :; }
            build_tests() { :; }
            run_ctest() { :; }
            print_summary() { printf '%s\\n' "${summary[@]-}"; }
            verb_lint() { return $1; }
            verb_test --all --minutes=0 </dev/null
        """
        for lint, code in ((0, 0), (1, 1)):
            script = stubs.replace("$1", str(lint))
            done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual("lint: not clean" in done.stdout, bool(lint), done.stdout)


class Script(unittest.TestCase):
    def test_an_editor_may_change_it_while_it_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tools").mkdir()
            shutil.copy(ROOT / "dev", root)
            (root / "tools/install_packages").write_text("#!/bin/sh\n")
            (root / "tools/install_packages").chmod(0o755)
            (root / "tools/check_layers").write_text("open('dev', 'w').write('(' * 100000)\n")
            for empty in ("check_style", "check_language", "test_verb.sh"):
                (root / "tools" / empty).write_text("")
            done = subprocess.run([root / "dev", "lint"], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("lint: clean", done.stdout)


if __name__ == "__main__":
    unittest.main()
