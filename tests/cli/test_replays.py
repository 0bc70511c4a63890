# Replays dumps of every case of every operator with the program and judges them. It is slow; the first tests replay a few small calls instead.
"""usage: test_replays.py PROGRAM [unittest arguments]"""
import json
import unittest

from program import OPERATORS, CliTest


class ReplayTest(CliTest):
    def test_every_operator_is_replayed(self):
        for name in OPERATORS:
            self.run_cli("check", name, "--cases", "3", OPENACLNN_DUMP=f"{name}:all")
            report = json.loads(self.run_cli("check", "--replay", name, "--json").stdout)
            self.assertGreater(sum(output["elements"] for output in report["outputs"]), 0)


if __name__ == "__main__":
    unittest.main()
