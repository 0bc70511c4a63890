# Tests the program openaclnn together with the demo, which takes too long to build for the first tests.
"""usage: test_demo.py PROGRAM [unittest arguments]"""
import json
import unittest

from program import PROGRAM, TRAINING, CliTest


class DemoTest(CliTest):
    def setUp(self):
        super().setUp()
        self.demo = PROGRAM.parent / "openaclnn-train"
        if not self.demo.exists():
            self.skipTest(f"{self.demo} was not built")

    def test_it_is_traced(self):
        self.run_cli("trace", "--", self.demo, "--steps", "3", "--quiet")
        events = json.loads((self.folder / "openaclnn-trace.json").read_text())
        self.assertLessEqual({"aclnn" + name for name in TRAINING}, {event["name"] for event in events})

    def test_it_starts(self):
        self.assertIn("--check-every", self.run_cli("demo", "--", "--help").stdout)
        self.assertIn("steps", self.run_cli("demo", "--steps", "2", "--out", "d").stdout)


if __name__ == "__main__":
    unittest.main()
