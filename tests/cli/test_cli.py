#!/usr/bin/env python3
# Tests the program openaclnn as users run it: the real binary, its output, its exit codes, and the files it leaves behind.
"""usage: test_cli.py PROGRAM [unittest arguments]"""
import ast
import json
import os
import re
import struct
import subprocess
import unittest

from program import OPERATORS, PROGRAM, ROOT, CliTest, floats, npy_bytes, read_npy, safetensors_bytes


class HelpTest(CliTest):
    def test_every_command_explains_itself(self):
        commands = re.findall(r"^  ([a-z-]+) {2,}", self.run_cli("--help").stdout.split("Subcommands:")[1], re.M)
        self.assertEqual(len(commands), 13, commands)
        for command in commands:
            self.assertIn("openaclnn " + command, self.run_cli(command, "--help").stdout)
        self.assertIn("Exit codes:", self.run_cli("--help").stdout)
        self.assertIn("--weight-decay", self.run_cli("run", "ApplyFusedEmaAdam", "--help").stdout)

    def test_version(self):
        self.assertRegex(self.run_cli("--version").stdout, r"^\d+\.\d+\.\d+\n$")

    def test_unknown_words(self):
        for words in (["nonsense"], ["--nonsense"], ["ops", "--nonsense"], ["ops", "Nonsense"], ["explain", "123"],
                      ["run"], ["run", "Nonsense"], ["check", "Nonsense"], ["check", "--cases", "-1"], ["completion", "tcsh"],
                      ["man", "nonsense"], ["compat-check"], ["trace"], ["bench", "--operator", "Nonsense"]):
            self.refuse(*words)

    def test_completion_knows_commands_and_options(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.run_cli("completion", shell).stdout
            for word in ("doctor", "compat-check", "weight-decay"):
                self.assertIn(word, script, shell)
        line = "source <(\"$0\" completion bash); COMP_WORDS=(openaclnn run Embedding --w); COMP_CWORD=3; _openaclnn; echo ${COMPREPLY[@]}"
        done = subprocess.run(["bash", "-c", line, str(PROGRAM)], capture_output=True, text=True)
        self.assertEqual(done.stdout, "--weight\n", done.stderr)

    def test_manual_pages_are_the_help(self):
        self.run_cli("man", "--all", "pages")
        pages = {path.name for path in (self.folder / "pages").iterdir()}
        self.assertLessEqual({"openaclnn.1", "openaclnn-run.1", "openaclnn-compat-check.1"}, pages)
        page = self.run_cli("man", "run").stdout
        self.assertIn("Run one operator", page)
        self.assertIn("\n.TP\n\\fB\\-\\-weight\\fR FILE\n", page)
        self.assertNotIn("\\fB\\fR", page)  # an option without its name
        self.assertIn("\\fBCODE\\fR", self.run_cli("man", "explain").stdout)
        self.refuse("man", "--all", "pages", "run", contains="leave out 'run'")


class PythonTest(CliTest):
    """Python's functions have the described parameters, with their Python names and the same defaults."""
    # Python has max_v instead of amsgrad, one layout, and a cache whose lengths are of one type.
    LEFT_OUT = {"amsgrad", "layoutOptional", "layoutOptionalOptional", ("NsaCompressWithCache", "actSeqLenType")}
    # torch.optim.AdamW's default, and None for a cache without pages.
    OTHER_DEFAULTS = {("ApplyAdamWV2", "weightDecay"), ("NsaCompressWithCache", "pageBlockSize")}

    def test_signatures_are_those_of_the_descriptions(self):
        operators = re.findall(r"^  (\w+), (?:open)?aclnn", self.run_cli("run", "--help").stdout, re.M)
        python_names = dict(re.findall(r'\{"(\w+)", "([^"]+)"', (ROOT / "python/src/argument_names.h").read_text()))
        stub = ast.parse((ROOT / "python/openaclnn/__init__.pyi").read_text())
        functions = {node.name.strip("_"): node.args for node in stub.body if isinstance(node, ast.FunctionDef)}
        for operator in operators:
            if operator + "V2" in operators:
                continue
            arguments = functions[re.sub(r"(?<!^)(?=[A-Z])", "_", re.sub("(V2|List)$", "", operator)).lower()]
            positional = arguments.args[len(arguments.args) - len(arguments.defaults):]
            defaults = {**dict.fromkeys(argument.arg for argument in arguments.args + arguments.kwonlyargs),
                        **{argument.arg: value for argument, value in zip(positional + arguments.kwonlyargs,
                                                                          arguments.defaults + arguments.kw_defaults)}}
            for name, default in re.findall(r"  (\w+)(?:, updated in place)?(?:, optional)?(?:, default (.*))?$",
                                            self.run_cli("run", operator, "--help").stdout, re.M):
                if name in self.LEFT_OUT or (operator, name) in self.LEFT_OUT:
                    continue
                with self.subTest(operator, name=name):
                    known = {name, python_names.get(name)} & set(defaults)
                    self.assertEqual(len(known), 1)
                    if default and (operator, name) not in self.OTHER_DEFAULTS:
                        self.assertEqual(ast.literal_eval(defaults[known.pop()]), ast.literal_eval(default.capitalize()))


class OpsTest(CliTest):
    def test_matrix_and_pages(self):
        text = self.run_cli("ops").stdout
        listed = re.findall(r"^((?:open)?aclnn\w+) ", text, re.M)
        self.assertIn("aclnnApplyAdamWV2", listed)
        for name in listed:
            self.run_cli("ops", name)
        for name in OPERATORS:
            self.assertRegex(text, rf"(?m)nn{name.removesuffix('V2')} .*FLOAT, FLOAT16, BF16")
            printed = self.run_cli("ops", name).stdout
            self.assertIn("## Arguments", printed)
            self.assertNotIn("](", printed, "a link in Markdown")
            self.assertRegex(printed, r"\b(aclnnop|openaclnn)/\w+\.h\b", "the text of a link")
        page = json.loads(self.run_cli("ops", "embedding", "--json").stdout)
        weight, indices, out = page["functions"][0]["parameters"]
        self.assertEqual((len(weight["dtypes"]), indices["dtypes"], out["sameDtypeAs"]), (12, ["INT32", "INT64"], "weight"))
        self.assertIn("aclnnEmbeddingGetWorkspaceSize", page["c"])

    def test_dtypes_are_those_that_the_library_takes(self):
        types = {"FLOAT": "<f4", "FLOAT16": "<f2", "BF16": "<V2", "DOUBLE": "<f8", "INT64": "<i8", "INT32": "<i4", "INT16": "<i2",
                 "INT8": "|i1", "UINT8": "|u1", "BOOL": "|b1", "COMPLEX64": "<c8", "COMPLEX128": "<c16", "UINT16": "<u2",
                 "UINT32": "<u4", "UINT64": "<u8"}
        calls = {"Embedding": ((2, 2), ["--weight", "x.npy", "--indices", "1"]),
                 "EmbeddingDenseBackward": ((1, 2), ["--grad", "x.npy", "--indices", "1", "--num-weights", "2"]),
                 "GroupedBiasAddGrad": ((1, 2, 2), ["--grad-y", "x.npy"]),
                 "NsaCompress": ((2, 1, 1), ["--input", "x.npy", "--weight", "w.npy", "--compress-block-size", "1",
                                             "--compress-stride", "1"])}
        for name, (shape, words) in calls.items():
            accepted = json.loads(self.run_cli("ops", name, "--json").stdout)["functions"][0]["parameters"][0]["dtypes"]
            for dtype, descr in types.items():
                size = int(descr[2:])
                self.write("x.npy", npy_bytes(descr, shape, bytes(size * shape[0] * shape[1] * (shape + (1,))[2])))
                self.write("w.npy", npy_bytes(descr, (1, 1), bytes(size)))
                self.run_cli("run", name, *words, code=0 if dtype in accepted else 2)


    def test_pages_name_the_dtypes_of_the_description(self):
        """A list in the table of arguments is that of the description; other rows refer to another argument."""
        lists = 0
        for name in OPERATORS:
            described = json.loads(self.run_cli("ops", name, "--json").stdout)
            parameters = {parameter["name"]: parameter for parameter in described["functions"][-1]["parameters"]}
            for row in described["arguments"]:
                listed = re.match(r"(?:[A-Z][A-Z0-9]+(?:, | or )?)+", row["type"].replace(", or NULL", ""))
                for argument in row["name"].split(", ") if listed else []:
                    matching = [parameter for full, parameter in parameters.items() if full.removesuffix("Optional") == argument.removesuffix("Optional")]
                    self.assertEqual(set(re.findall(r"[A-Z][A-Z0-9]+", listed[0])), set(matching[0]["dtypes"]), (name, argument))
                    lists += 1
        self.assertGreaterEqual(lists, 18)


class DoctorTest(CliTest):
    def problems(self, code, **environment):
        return json.loads(self.run_cli("doctor", "--json", code=code, **environment).stdout)["problems"]

    def test_healthy(self):
        report = json.loads(self.run_cli("doctor", "--json", LD_LIBRARY_PATH="", ASCEND_HOME_PATH="").stdout)
        self.assertEqual(report["problems"], [])
        self.assertGreater(report["machine"]["copyBytesPerSecond"], 1e8)
        self.assertIn(report["library"]["instructionSet"], [s["name"] for s in report["library"]["instructionSets"]])
        self.assertIn("no problem found", self.run_cli("doctor", LD_LIBRARY_PATH="").stdout)

    def test_every_problem_has_a_remedy(self):
        self.write("libascendcl.so", b"\x7fELF" + bytes(2 << 20))
        found = self.problems(1, OPENACLNN_THREADS="3", OPENACLNN_CHECK="loud", LD_LIBRARY_PATH=str(self.folder),
                              OPENACLNN_NUM_THREADS="1000", OPENACLNN_DUMP="dumps:Embeding,all", ASCEND_HOME_PATH=str(self.folder))
        text = " ".join(problem["problem"] for problem in found)
        for word in ("OPENACLNN_THREADS", "loud", "selects 'Embeding'", "libascendcl.so", "ASCEND_HOME_PATH", " threads, but"):
            self.assertIn(word, text)
        self.assertTrue(all(problem["remedy"] for problem in found))

    def test_no_plugin(self):
        self.assertIn("plugin file not found", self.run_cli("doctor", OPENACLNN_CUDA_PLUGIN="/nowhere.so", LD_LIBRARY_PATH="").stdout)

    def test_no_device(self):
        self.assertIn("no device", self.problems(1, OPENACLNN_DEVICE="cuda")[0]["problem"])


class RunTest(CliTest):
    def test_gathers_rows(self):
        self.write_table()
        self.run_cli("run", "Embedding", "--weight", "table.npy", "--indices", "ids.npy", "--out", "rows.npy")
        self.assertEqual(read_npy(self.folder / "rows.npy"), ("<f4", (3, 2), floats(20, 21, 0, 1, 30, 31)))

    def test_case_of_operators(self):
        self.write_table()
        for command in ("run", "golden"):
            for name in ("embedding", "EMBEDDING", "aclnnembedding"):
                self.run_cli(command, name, "--weight", "table.npy", "--indices", "1")

    def test_names_of_files_do_not_reach_the_terminal_as_they_are(self):
        tensors = {name: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for name in ("\033[31m", "n" * 1000)}
        self.write("x.safetensors", safetensors_bytes(tensors))
        self.refuse("run", "Embedding", "--weight", "x.safetensors", "--indices", "0", contains="?[31m")
        self.assertLess(len(self.run_cli("run", "Embedding", "--weight", "x.safetensors", "--indices", "0", code=2).stderr), 400)

    def test_names_of_tensors_may_look_like_files(self):
        names = ("a.safetensors", "w.npy", "layer.bin", "enc.pt", "prompt.ptuning", "a.safetensors:b")
        entry = {"dtype": "F32", "shape": [1, 1]}
        self.write("x.safetensors", safetensors_bytes({name: {**entry, "data_offsets": [4 * k, 4 * k + 4]} for k, name in enumerate(names)},
                                                      floats(*range(len(names)))))
        for k, name in enumerate(names):
            self.run_cli("run", "Embedding", "--weight", f"x.safetensors:{name}", "--indices", "0", "--out", "row.npy")
            self.assertEqual(read_npy(self.folder / "row.npy")[2], floats(k), name)

    def test_other_tensors_of_a_file_may_have_any_dtype(self):
        self.write("x.safetensors", safetensors_bytes({"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]},
                                                       "b": {"dtype": "F32", "shape": [1, 1], "data_offsets": [4, 8]}}, bytes(4) + floats(5)))
        self.run_cli("run", "Embedding", "--weight", "x.safetensors:b", "--indices", "0", "--out", "row.npy")
        self.assertEqual(read_npy(self.folder / "row.npy")[2], floats(5))
        self.refuse("run", "Embedding", "--weight", "x.safetensors:a", "--indices", "0", "--out", "row.npy", contains="accepted are F64, F32")

    def test_safetensors_in_and_out(self):
        self.write_table()
        words = [word for name in ("grad", "var", "m", "v", "s") for word in (f"--{name}", "table.npy")]
        self.run_cli("run", "ApplyFusedEmaAdam", *words, "--step", "1", "--lr", "0.5", "--out", "all.safetensors", "--out", "m=m.npy")
        self.run_cli("run", "Embedding", "--weight", "all.safetensors:m", "--indices", "0,1,2,3", "--out", "rows.npy")
        self.assertEqual(read_npy(self.folder / "rows.npy")[2], read_npy(self.folder / "m.npy")[2])

    def test_fortran_order(self):
        self.write("f.npy", npy_bytes("<f4", (2, 3), floats(1, 4, 2, 5, 3, 6), fortran=True))
        self.run_cli("run", "Embedding", "--weight", "f.npy", "--indices", "1,0", "--out", "rows.npy")
        self.assertEqual(read_npy(self.folder / "rows.npy")[2], floats(4, 5, 6, 1, 2, 3))

    def test_every_operator(self):
        def run(*words):
            self.run_cli("run", *words, OPENACLNN_DUMP="calls:all")

        self.write("x.npy", npy_bytes("<f4", (8, 1, 2), floats(*range(16))))
        self.write("w.npy", npy_bytes("<f4", (2, 1), floats(1, 2)))
        self.write("rows.npy", npy_bytes("<f4", (8, 2), floats(*range(16))))
        windows = ["--compress-block-size", "2", "--compress-stride", "2"]
        run("NsaCompress", "--input", "x.npy", "--weight", "w.npy", *windows, "--act-seq-len", "4,8", "--out", "c.npy")
        self.assertEqual(read_npy(self.folder / "c.npy")[1], (4, 1, 2))
        run("NsaCompressGrad", "--output-grad", "c.npy", "--input", "x.npy", "--weight", "w.npy", *windows,
                     "--act-seq-len", "4,8", "--out", "g.safetensors")
        self.write("slots.npy", npy_bytes("<i4", (2,), struct.pack("<2i", 1, 0)))
        self.write("cache.npy", npy_bytes("<f4", (2, 1, 2), floats(9, 9, 9, 9)))
        run("NsaCompressWithCache", "--input", "x.npy", "--weight", "w.npy", *windows, "--slot-mapping", "slots.npy",
                     "--act-seq-len", "4,3", "--output-cache", "cache.npy", "--out", "k.npy")
        self.assertEqual(read_npy(self.folder / "k.npy")[2], floats(9, 9, 16, 19))
        run("GroupedBiasAddGrad", "--grad-y", "rows.npy", "--group-idx", "3,8", "--out", "b.npy")
        self.assertEqual(read_npy(self.folder / "b.npy")[2], floats(6, 9, 50, 55))
        run("GroupedBiasAddGradV2", "--grad-y", "rows.npy", "--group-idx", "3,5", "--group-idx-type", "1", "--out", "b2.npy")
        self.assertEqual(read_npy(self.folder / "b2.npy")[2], floats(6, 9, 50, 55))
        run("EmbeddingDenseBackward", "--grad", "rows.npy", "--indices", "0,0,0,0,0,0,0,1", "--num-weights", "2", "--out", "d.npy")
        self.assertEqual(read_npy(self.folder / "d.npy")[2], floats(42, 49, 14, 15))
        lists = [word for name in ("grads", "v", "m", "s", "var") for word in (f"--{name}", "w.npy", "rows.npy")]
        run("ApplyFusedEmaAdamList", *lists, "--step", "1", "--out", "l.safetensors")
        replayed = json.loads(self.run_cli("check", "--replay", "calls", "--json").stdout)
        self.assertTrue(replayed["ok"])
        self.assertEqual({call["operator"] for call in replayed["calls"]},
                         {"NsaCompress", "NsaCompressGrad", "NsaCompressWithCache", "GroupedBiasAddGrad", "GroupedBiasAddGradV2",
                          "EmbeddingDenseBackward", "ApplyFusedEmaAdamList"})

    def test_bad_data_is_a_failure_and_writes_nothing(self):
        self.write_table()
        self.write("rows.npy", b"precious")
        done = self.run_cli("run", "Embedding", "--weight", "table.npy", "--indices", "9", "--out", "rows.npy", code=1)
        self.assertIn("indices[0] = 9", done.stderr)
        self.assertEqual((self.folder / "rows.npy").read_bytes(), b"precious")

    def test_bad_input(self):
        self.write_table()
        self.write("rows.npy", b"precious")
        table = npy_bytes("<f4", (4, 2), floats(*range(8)))
        good = {"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}
        bad = {
            "missing.npy": None,
            "empty.npy": b"",
            "cut.npy": table[:-1],
            "cut_header.npy": table[:40],
            "magic.npy": b"PK" + table[2:],
            "version.npy": table[:6] + b"\x09" + table[7:],
            "big_endian.npy": npy_bytes(">f4", (4, 2), bytes(32)),
            "object.npy": npy_bytes("|O", (4, 2), bytes(32)),
            "huge.npy": npy_bytes("<f4", (1 << 40, 1 << 40), b""),
            "promise.npy": npy_bytes("<f4", (1 << 40,), b"x" * 64),
            "dims.npy": npy_bytes("<f4", (1,) * 9, bytes(4)),
            "negative.npy": npy_bytes("", (), b"", header="{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"),
            "twice.npy": npy_bytes("", (), b"", header="{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
            "number.npy": npy_bytes("", (), bytes(12), header="{'descr': '<f4', 'fortran_order': False, 'shape': (3)}"),
            "code.npy": npy_bytes("", (), b"", header="__import__('os').system('true')"),
            "rank.npy": npy_bytes("<f4", (8,), bytes(32)),
            "dtype.npy": npy_bytes("<u4", (4, 2), bytes(32)),
            "name.txt": b"text",
            "short.safetensors": b"\0" * 7,
            "long.safetensors": safetensors_bytes(good, length=1 << 62),
            "json.safetensors": safetensors_bytes(b"{nonsense"),
            "array.safetensors": safetensors_bytes(b"[1]"),
            "deep.safetensors": safetensors_bytes(b'{"a":' * 100 + b"1" + b"}" * 100),
            "twice.safetensors": safetensors_bytes(b'{"a":1,"a":2}'),
            "outside.safetensors": safetensors_bytes(good, bytes(15)),
            "sizes.safetensors": safetensors_bytes({"a": {**good["a"], "shape": [2, 3]}}, bytes(16)),
            "offsets.safetensors": safetensors_bytes({"a": {**good["a"], "data_offsets": [16, 0]}}, bytes(16)),
            "negative.safetensors": safetensors_bytes({"a": {**good["a"], "shape": [-2, -2]}}, bytes(16)),
            "real.safetensors": safetensors_bytes({"a": {**good["a"], "shape": [2.0, 2]}}, bytes(16)),
            "dtype.safetensors": safetensors_bytes({"a": {**good["a"], "dtype": "F8_E4M3"}}, bytes(16)),
            "two.safetensors": safetensors_bytes({"a": good["a"], "b": good["a"]}, bytes(16)),
            "gap.safetensors": safetensors_bytes({"a": {**good["a"], "data_offsets": [1, 17]}}, bytes(17)),
            "trailing.safetensors": safetensors_bytes(good, bytes(17)),
            "member.safetensors": safetensors_bytes(b'{"a":{"dtype":"F32","dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}', bytes(16)),
            "metadata.safetensors": safetensors_bytes({**good, "__metadata__": {"a": 1}}, bytes(16)),
            "none.safetensors:b": None,
            "table.npy:a": None,
        }
        for name, data in bad.items():
            if data is not None:
                self.write(name, data)
            self.refuse("run", "Embedding", "--weight", name, "--indices", "0", "--out", "rows.npy")
        words = ["run", "Embedding", "--weight", "table.npy"]
        self.refuse(*words, "--indices", "x", contains="x:")
        self.refuse(*words, "--out", "o.npy", contains="--indices")
        self.refuse(*words, "--indices", "0", "--out", "o.txt", contains=".npy or .safetensors")
        self.refuse(*words, "--indices", "0", "--out", "nonsense=o.npy", contains="nonsense")
        self.refuse(*words, "--indices", "0", "--nonsense", "1")
        self.refuse(*words, "--indices", "table.npy", contains="indices has dtype")
        self.refuse("run", "GroupedBiasAddGradV2", "--grad-y", "table.npy", "--group-idx", "4", "--group-idx-type", "7", contains="groupIdxType")
        self.refuse("run", "EmbeddingDenseBackward", "--grad", "table.npy", "--indices", "0,1,2,3", "--num-weights",
                    "99999999999999999999", contains="--num-weights")

    def test_two_results_in_one_file(self):
        self.write_table()
        (self.folder / "sub").mkdir()
        self.write("old.npy", b"old")
        os.link(self.folder / "old.npy", self.folder / "hard.npy")
        (self.folder / "soft.npy").symlink_to("new.npy")
        words = [word for name in ("grad", "var", "m", "v", "s") for word in (f"--{name}", "table.npy")]
        for first, second in (("new.npy", "new.npy"), ("new.npy", "./sub/../new.npy"), ("old.npy", self.folder / "old.npy"),
                              ("hard.npy", "old.npy"), ("soft.npy", "new.npy")):
            self.refuse("run", "ApplyFusedEmaAdam", *words, "--step", "1", "--out", f"m={first}", "--out", f"v={second}",
                        contains=f"--out m={first} and --out v={second} name the same file; ")
        self.run_cli("run", "ApplyFusedEmaAdam", *words, "--step", "1", "--out", "m=new.npy", "--out", "v=sub/new.npy")

    def test_an_output_that_cannot_be_written(self):
        self.write_table()
        run = ["run", "Embedding", "--weight", "table.npy", "--indices", "0", "--out"]
        self.assertEqual(self.run_cli(*run, "table.npy/o.npy", code=1).stderr, "openaclnn: table.npy/o.npy: table.npy isn't a folder\n")
        self.assertEqual(self.run_cli(*run, "no/folder/o.npy", code=1).stderr, "openaclnn: no/folder/o.npy: there is no folder no/folder\n")
        self.assertIn("table.npy/g: Not a directory", self.run_cli("golden", *run[1:], "table.npy/g", code=1).stderr)
        (self.folder / "full.npy").mkdir()
        self.assertRegex(self.run_cli(*run, "full.npy", code=1).stderr, r"\Aopenaclnn: full.npy[^\n]+\n\Z")
        for words, message in {("--weight", "--indices", "0"): "--weight takes one value", ("--weight", "table.npy", "--indices", "1.5"):
                               "--indices 1.5: numbers must be 64-bit integers"}.items():
            self.assertIn(message, self.run_cli("run", "Embedding", *words, code=2).stderr)


class CheckTest(CliTest):
    def test_promises(self):
        report = json.loads(self.run_cli("check", "GroupedBiasAddGrad", "--cases", "5", "--json").stdout)
        self.assertTrue(report["ok"])
        self.assertTrue(all(0 < o["worstUlps"] and 0 < o["shareOfBound"] <= 1 and o["worstAt"] for o in report["outputs"]))


    def test_options_without_effect(self):
        for option in ("--cases", "--seed"):
            self.refuse("check", "--replay", "dumps", option, "3", contains=f"{option} has no effect with --replay")


class TraceTest(CliTest):
    def test_a_program_is_traced(self):
        self.write_table()
        done = self.run_cli("trace", "--out", "t.json", PROGRAM, "run", "Embedding", "--weight", "table.npy", "--indices", "9", code=1)
        self.assertIn("the trace is in t.json", done.stderr)
        events = json.loads((self.folder / "t.json").read_text())
        task = next(event for event in events if event.get("cat") == "task")
        self.assertLessEqual({"tensors", "bytes", "GB/s", "threads", "isa", "stream", "fault"}, set(task["args"]))
        self.assertEqual({event.get("cat") for event in events if event["ph"] == "X"}, {"phase 1", "phase 2", "task"})
        summary = json.loads(self.run_cli("trace", "--summary", "t.json", "--json").stdout)
        self.assertEqual((summary[0]["calls"], summary[0]["faults"]), (1, 1))
        text = (self.folder / "t.json").read_text()
        for cut in (len(text) - 2, len(text) - 30):  # a program that crashed
            (self.folder / "cut.json").write_text(text[:cut])
            self.assertIn("aclnnEmbedding", self.run_cli("trace", "--summary", "cut.json").stdout)

    def test_hostile_traces(self):
        nested = "[" * 200000 + "]" * 200000
        (self.folder / "deep.json").write_text('[{"ph":"X","cat":"task","name":"a","args":{"x":' + nested + "}}]")
        self.refuse("trace", "--summary", "deep.json", contains="nested too deeply")
        (self.folder / "escape.json").write_text('[{"ph":"X","cat":"task","name":"a\\u001b[31m"}]')
        self.assertIn("a?[31m", self.run_cli("trace", "--summary", "escape.json").stdout)

    def test_exit_codes_and_bad_files(self):
        self.assertIn("called no operator", self.run_cli("trace", "sh", "-c", "exit 7", code=7).stderr)
        self.assertIn("called no operator", self.run_cli("trace", "true", code=1).stderr)
        self.run_cli("trace", "./no-such-program", code=127)
        self.refuse("trace", "--summary", "missing.json")
        for text in ("", "nonsense", "{}", "[1]", '[{"ph":"X","cat":"other","name":"x"}]', '[{"ph":1}]'):
            self.write("bad.json", text.encode())
            self.refuse("trace", "--summary", "bad.json")

    def test_a_file_that_cannot_be_made(self):
        self.write_table()
        done = self.run_cli("run", "Embedding", "--weight", "table.npy", "--indices", "1", OPENACLNN_TRACE="no/folder/t.json",
                            OPENACLNN_DUMP="table.npy/folder:all")
        self.assertIn("OPENACLNN_TRACE is 'no/folder/t.json'", done.stderr)
        self.assertRegex(done.stderr, "OPENACLNN_DUMP: no folder can be created in '/.*/table.npy/folder': Not a directory")


class SourceTreeTest(CliTest):
    def test_bench_and_demo_say_what_they_need(self):
        lonely = self.folder / "openaclnn"
        lonely.write_bytes(PROGRAM.read_bytes())
        lonely.chmod(0o755)
        for command in ("bench", "demo"):
            done = subprocess.run([lonely, command], cwd=self.folder, capture_output=True, text=True,
                                  env={**os.environ, "LD_LIBRARY_PATH": str(PROGRAM.parent.parent / "lib")})
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"`openaclnn {command}` requires the source tree", done.stderr)


if __name__ == "__main__":
    unittest.main()
