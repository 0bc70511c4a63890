#!/usr/bin/env python3
# Tests the dumps of OPENACLNN_DUMP, and `openaclnn check --replay`, which repeats their calls.
"""usage: test_dumps.py PROGRAM [unittest arguments]"""
import json
import os
import subprocess
import unittest

from program import PROGRAM, ShellTest


class DumpsTest(ShellTest):
    def test_dumps_are_replayed(self):
        self.write_table()
        embed = ["run", "Embedding", "--weight", "table.npy", "--indices"]
        self.run_cli(*embed, "1", OPENACLNN_DUMP="dumps")
        self.assertFalse((self.folder / "dumps").exists(), "a call that succeeds is not selected")
        self.run_cli(*embed, "1", OPENACLNN_DUMP="dumps:aclnnEmbedding")
        self.assertIn("all results are within the bound", self.run_cli("check", "--replay", "dumps").stdout)
        self.run_cli(*embed, "7", code=1, OPENACLNN_DUMP="faults")
        self.assertIn("indices[0] = 7", self.run_cli("check", "--replay", "faults", code=1).stdout)
        self.run_cli("run", "GroupedBiasAddGradV2", "--grad-y", "table.npy", "--group-idx", "4", "--group-idx-type", "7", code=2,
                     OPENACLNN_DUMP="refused")
        self.assertIn("groupIdxType is 7", self.run_cli("check", "--replay", "refused", code=1).stdout)
        self.refuse("check", "Embedding", "--replay", "dumps", contains="leave out 'Embedding'")

    def test_calls_are_selected_by_name(self):
        self.write_table()
        bias = ["run", "GroupedBiasAddGradV2", "--grad-y", "table.npy", "--group-idx", "4"]
        for number, (names, is_kept) in enumerate((("GroupedBiasAddGrad", True), ("aclnnGroupedBiasAddGradV2", True),
                                                   ("Embedding,GroupedBiasAddGradV2", True), ("GroupedBias", False), ("Embedding", False))):
            self.run_cli(*bias, OPENACLNN_DUMP=f"dumps{number}:{names}")
            self.assertEqual(bool(list(self.folder.glob(f"dumps{number}/*-aclnnGroupedBiasAddGradV2"))), is_kept, names)
        for name in ("ApplyFusedEmaAdamList", "openaclnnApplyFusedEmaAdamList"):
            self.run_cli("check", "ApplyFusedEmaAdamList", "--cases", "0", OPENACLNN_DUMP=f"list-{name}:{name}")
            self.assertTrue(list(self.folder.glob(f"list-{name}/*-openaclnnApplyFusedEmaAdamList")), name)
        (self.folder / "a:b").mkdir()
        self.run_cli("run", "Embedding", "--weight", "table.npy", "--indices", "9", code=1, OPENACLNN_DUMP="a:b/dumps")
        self.assertEqual(len(list(self.folder.glob("a:b/dumps/*-aclnnEmbedding"))), 1)

    def test_dumps_of_earlier_processes_stay(self):
        self.write_table()
        script = 'mkdir -p deep/folder/$$-0-aclnnEmbedding; exec "$0" run Embedding --weight table.npy --indices 1'
        environment = {**os.environ, "OPENACLNN_DUMP": "deep/folder:all"}
        subprocess.run(["sh", "-c", script, PROGRAM], check=True, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL)
        earlier, = self.folder.glob("deep/folder/*-0-aclnnEmbedding")
        self.assertEqual(list(earlier.iterdir()), [])
        self.assertEqual(len(list(self.folder.glob("deep/folder/*-100-aclnnEmbedding/call.json"))), 1)

    def test_a_dump_without_space_leaves_nothing(self):
        self.write_table()
        done = self.shell("", "run", "Embedding", "--weight", "table.npy", "--indices", "1", before="ulimit -f 0", OPENACLNN_DUMP="dumps:all")
        self.assertRegex(done.stderr, "call.json': File too large\n")
        self.assertEqual(list((self.folder / "dumps").iterdir()), [])

    def test_parents_of_the_folder_are_created(self):
        self.write_table()
        self.run_cli("run", "Embedding", "--weight", "table.npy", "--indices", "1", OPENACLNN_DUMP="a/b/c:all")
        self.assertEqual(len(list(self.folder.glob("a/b/c/*-0-aclnnEmbedding/call.json"))), 1)

    def test_one_dump_of_several_may_be_bad(self):
        self.write_table()
        embed = ["run", "Embedding", "--weight", "table.npy", "--indices"]
        for index in (0, 1, 2):
            self.run_cli(*embed, str(index), OPENACLNN_DUMP="dumps:all")
        first, second, third = sorted((self.folder / "dumps").iterdir())
        (first / "call.json").write_text("{")
        call = json.loads((second / "call.json").read_text())
        call["arguments"][0]["tensor"]["incomplete"] = "the memory cannot be read"
        (second / "call.json").write_text(json.dumps(call))
        report = json.loads(self.run_cli("check", "--replay", "dumps", "--json", code=1).stdout)
        self.assertEqual(report["outputs"][0]["wrong"], 0)
        self.assertEqual([entry["operator"] for entry in report["calls"]], ["", "Embedding", "Embedding"])
        self.assertIn("isn't", report["calls"][0]["message"])
        self.assertEqual(report["calls"][1]["message"], "not repeated: weight: the saved data is incomplete: the memory cannot be read")
        self.assertEqual(report["calls"][2]["message"], "")

    def test_one_dump_of_several_may_be_too_large(self):
        self.write_table()
        for index in (0, 1):
            self.run_cli("run", "Embedding", "--weight", "table.npy", "--indices", str(index), OPENACLNN_DUMP="dumps:all")
        large = min((self.folder / "dumps").iterdir())
        call = json.loads((large / "call.json").read_text())
        output = next(argument for argument in call["arguments"] if argument["name"] == "out")
        output["tensor"]["shape"] = [2 ** 58, 2]
        (large / "call.json").write_text(json.dumps(call))
        report = json.loads(self.run_cli("check", "--replay", "dumps", "--json", code=1).stdout)
        self.assertIn("Failed to allocate", report["calls"][0]["message"])
        self.assertEqual(report["calls"][1]["message"], "")

    def test_the_folder_of_a_bad_dump_is_named_once(self):
        self.write_table()
        for index in (0, 1):
            self.run_cli("run", "Embedding", "--weight", "table.npy", "--indices", str(index), OPENACLNN_DUMP="dumps:all")
        bad = min((self.folder / "dumps").iterdir())
        call = json.loads((bad / "call.json").read_text())
        call["arguments"][0]["tensor"]["shape"] = [-5]
        (bad / "call.json").write_text(json.dumps(call))
        told = self.run_cli("check", "--replay", "dumps", code=1).stdout
        line = next(line for line in told.splitlines() if "has the dim -5" in line)
        self.assertEqual(line.count(bad.name), 1, line)

    def test_failures_that_a_dump_cannot_repeat(self):
        self.write_table()
        self.run_cli("run", "Embedding", "--weight", "table.npy", "--indices", "1", OPENACLNN_DUMP="dumps:all")
        path, = (self.folder / "dumps").glob("*/call.json")
        path.write_text(json.dumps({**json.loads(path.read_text()), "reason": "stream is not a live stream"}))
        self.assertIn("the call succeeds now", self.run_cli("check", "--replay", "dumps", code=1).stdout)

    def test_bad_dumps(self):
        self.refuse("check", "--replay", "nowhere")
        (self.folder / "dump").mkdir()
        for text in ("", "{}", '{"format": 1}', '{"format": 1, "function": "x", "operator": "x", "reason": "", "arguments": []}',
                     '{"format":1,"function":"aclnnEmbeddingGetWorkspaceSize","operator":"x","reason":"","arguments":[{"name":"weight","given":true,'
                     '"tensor":{"given":true,"live":true,"dtype":"ACL_FLOAT","role":"input","shape":[1],"file":"../../x.npy"}}]}',
                     '{"format":1,"function":"aclnnEmbeddingGetWorkspaceSize","operator":"x","reason":"","arguments":[{"name":"weight","given":true,'
                     '"tensor":{"given":true,"live":true,"dtype":"ACL_FLOAT","role":"input","shape":[1,1,1,1,1,1,1,1,1]}}]}',
                     '{"format":1,"function":"aclnnGroupedBiasAddGradV2GetWorkspaceSize","operator":"x","reason":"","arguments":[]}',
                     '{"format":1,"function":"aclnnApplyAdamWV2GetWorkspaceSize","operator":"x","reason":"","arguments":[]}',
                     '{"format":1,"function":"aclnnEmbeddingGetWorkspaceSize","operator":"x","reason":"","arguments":[]}',
                     '{"format":1,"function":"\\u001b[31m","operator":"x","reason":"","arguments":[]}'):
            (self.folder / "dump" / "call.json").write_text(text)
            self.refuse("check", "--replay", "dump")


if __name__ == "__main__":
    unittest.main()
