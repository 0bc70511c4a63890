#!/usr/bin/env python3
# Tests the program openaclnn in failing environments: streams, terminals, traces and misspelt words.
"""usage: test_streams.py PROGRAM [unittest arguments]"""
import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import signal
import subprocess
import time
import unittest

from program import PROGRAM, CliTest, ShellTest, npy_bytes, safetensors_bytes

CLOSE = {0: "0<&-", 1: "1>&-", 2: "2>&-"}
EMBED = ["run", "Embedding", "--weight", "table.npy", "--indices", "ids.npy"]


class BrokenStreamsTest(ShellTest):
    def test_broken_stderr_changes_no_exit_code(self):
        for redirection in ("2>&-", "2>/dev/full"):
            self.assertEqual(self.shell(redirection, "nonsense").returncode, 2)
            self.assertEqual(self.shell(redirection, "ops", "nonsense").returncode, 2)
            self.assertEqual(self.shell(redirection, "explain", "507035").returncode, 0)
            self.assertEqual(self.shell(redirection, "trace", "true").returncode, 1)
            self.assertEqual(self.shell(redirection, "trace", "./no-such-program").returncode, 127)

    def test_stdout_that_cannot_be_written_is_a_problem(self):
        for words in (["--help"], ["--version"], [], ["ops"], ["explain"], ["man"], ["completion", "bash"], ["doctor", "--json"]):
            for redirection in (">/dev/full", ">&-"):
                done = self.shell(redirection, *words)
                self.assertEqual(done.returncode, 1, (words, redirection))
                self.assertRegex(done.stderr, r"\Aopenaclnn: stdout cannot be written: [^\n]+\n\Z")
            self.assertEqual(self.shell(">/dev/full 2>&-", *words).returncode, 1)

    def test_nothing_to_print_needs_no_stdout(self):
        self.assertEqual(self.shell(">&-", "man", "--all", "pages").returncode, 0)
        self.assertEqual(self.shell(">/dev/full", "nonsense").returncode, 2)

    def test_a_limit_of_file_sizes_is_an_error(self):
        done = self.shell(">out", "ops", "Embedding", before="ulimit -f 0")
        self.assertEqual((done.returncode, done.stderr), (1, "openaclnn: stdout cannot be written: File too large\n"))

    def test_a_reader_that_goes_away_is_no_error(self):
        done = self.shell("| head -n 1; echo ${PIPESTATUS[0]} >&2", "ops", "Embedding", before="sleep() { :; }")
        self.assertIn(done.stderr, ("0\n", "141\n"))  # it may have written everything before head ends
        for before in ("", "trap '' PIPE"):  # ended by the signal, and with the signal ignored by the parent
            ends = os.pipe()
            os.close(ends[0])
            done = subprocess.run(["bash", "-c", f'{before}\n"$0" ops; echo code $? >&2', PROGRAM], stdout=ends[1], stderr=subprocess.PIPE,
                                  text=True)
            os.close(ends[1])
            self.assertEqual(done.stderr, "code 141\n")

    def test_stderr_without_reader_does_not_end_the_program(self):
        ends = os.pipe()
        os.close(ends[0])
        done = subprocess.run([PROGRAM, "nonsense"], stderr=ends[1])
        os.close(ends[1])
        self.assertEqual(done.returncode, 2)

    def test_files_do_not_get_the_numbers_of_closed_streams(self):
        self.write_table()
        self.run_cli(*EMBED, "--out", "rows.npy")
        wanted = (self.folder / "rows.npy").read_bytes()
        for redirection in (*CLOSE.values(), " ".join(CLOSE.values())):
            done = self.shell(redirection, *EMBED, "--out", "rows.npy", OPENACLNN_TRACE="t.json", OPENACLNN_CHECK="loud")
            self.assertEqual(done.returncode, 1 if ">&-" in redirection and "1>" in redirection else 0, redirection)
            self.assertEqual((self.folder / "rows.npy").read_bytes(), wanted, redirection)
            json.loads((self.folder / "t.json").read_text())

    def test_traced_programs_have_the_streams_and_signals_of_the_command(self):
        self.write_table()
        script = "ulimit -f 0; echo x > file; echo not reached"
        done = self.shell("", "trace", "--", "bash", "-c", script)
        self.assertEqual(done.returncode, 128 + signal.SIGXFSZ, done)
        self.assertNotIn("not reached", done.stdout)
        self.assertEqual(self.shell("2>&-", "trace", PROGRAM, *EMBED).returncode, 0)


class TerminalTest(ShellTest):
    def test_only_a_value_disables_colours(self):
        self.write("Makefile", b"")
        for value, has_colours in ((None, True), ("", True), ("1", False)):
            master, terminal = pty.openpty()
            clean = {name: text for name, text in os.environ.items() if name != "NO_COLOR"}
            subprocess.run([PROGRAM, "compat-check", "Makefile"], cwd=self.folder, stdout=terminal, check=True,
                           env={**clean, "TERM": "xterm", **({} if value is None else {"NO_COLOR": value})})
            os.close(terminal)
            self.assertEqual(b"\033[" in os.read(master, 4096), has_colours, value)
            os.close(master)

    def test_progress_fits_into_a_line(self):
        for columns in (20, 7):
            master, terminal = pty.openpty()
            done = subprocess.Popen([PROGRAM, "check", "Embedding", "--cases", "2"], stdout=subprocess.PIPE, stderr=terminal,
                                    env={**os.environ, "COLUMNS": str(columns), "TERM": "xterm", "LC_ALL": "C"})
            os.close(terminal)
            shown = b""
            try:
                while piece := os.read(master, 4096):
                    shown += piece
            except OSError:  # the terminal's other end is closed
                pass
            done.communicate()
            os.close(master)
            self.assertEqual(done.returncode, 0)
            lines = shown.decode().replace("\033[K", "").split("\r")
            self.assertGreater(len(lines), 10)
            self.assertLess(max(map(len, lines)), columns)


class MisspeltWordsTest(ShellTest):
    def test_commands_options_and_operators(self):
        for words, meant in ((["docter"], "doctor"), (["comapt-check"], "compat-check"), (["run", "Embeding"], "Embedding"),
                             (["run", "Embedding", "--wieght", "x.npy"], "--weight"), (["ops", "NsaCompres"], "NsaCompress"),
                             (["check", "GroupBiasAddGrad"], "GroupedBiasAddGrad"), (["doctor", "--jsn"], "--json"),
                             (["man", "trase"], "trace"), (["explain", "ACLNN_ERR_PARAM_INVALD"], "ACLNN_ERR_PARAM_INVALID"),
                             (["run", "aclnnEmbeding"], "Embedding"), (["ops", "aclnnNsaCompres"], "NsaCompress"),
                             (["trace", "--sumary", "x.json"], "--summary"), (["trace", "--outt=x.json", "true"], "--out"),
                             (["compat-check", "--complier", "g++"], "--compiler"), (["bench", "--operator", "Embeding"], "Embedding")):
            self.refuse(*words, contains=f"did you mean '{meant}'?")
        self.refuse("nonsense", contains="`openaclnn --help` lists the commands")
        self.refuse("explain", "1", "2", contains="unexpected argument '2'")

    def test_variables(self):
        done = self.run_cli("doctor", "--json", code=1, OPENACLNN_NUM_THREAD="2")
        self.assertIn("OPENACLNN_NUM_THREADS", json.loads(done.stdout)["problems"][0]["remedy"])
        self.assertEqual(done.stderr, "openaclnn: unknown setting OPENACLNN_NUM_THREAD; did you mean OPENACLNN_NUM_THREADS?\n")


class TraceTest(ShellTest):
    def test_an_output_that_cannot_be_written(self):
        self.write_table()
        (self.folder / "folder").mkdir()
        for out in ("no/folder/t.json", "folder", "/proc/t.json", "no/folder/t%p.json"):
            done = self.run_cli("trace", "--out", out, PROGRAM, *EMBED, code=1)
            self.assertRegex(done.stderr, f"\\Aopenaclnn: {out} cannot be written: [^\n]+\n\\Z")

    def test_an_output_without_space(self):
        done = self.shell("", "trace", "--out", "t.json", "true", before="ulimit -f 0")
        self.assertEqual((done.returncode, done.stderr), (1, "openaclnn: t.json cannot be written: File too large\n"))
        self.assertFalse((self.folder / "t.json").exists())

    def test_an_older_trace_is_not_taken_for_a_new_one(self):
        self.write("t.json", b"[\nold\n]\n")
        self.assertIn("there is no trace", self.run_cli("trace", "--out", "t.json", "true", code=1).stderr)
        self.assertNotIn("old", (self.folder / "t.json").read_text())

    def test_a_program_that_cannot_be_started_leaves_an_older_trace(self):
        self.write("t.json", b"[\nold\n]\n")
        for program in ("./no-such-program", "no-such-program", "./t.json"):
            self.assertIn("cannot start", self.run_cli("trace", "--out", "t.json", program, code=127).stderr)
        self.assertIn("old", (self.folder / "t.json").read_text())

    def test_the_last_element_of_the_path_may_be_empty(self):
        self.write_table()
        (self.folder / "here").symlink_to(PROGRAM)
        libraries = str(pathlib.Path(PROGRAM).resolve().parent.parent / "lib")
        done = self.run_cli("trace", "-o", "new.json", "--", "here", *EMBED, PATH="/nowhere:", LD_LIBRARY_PATH=libraries)
        self.assertIn("the trace is in new.json", done.stderr)

    def test_a_new_file_without_trace_goes(self):
        self.run_cli("trace", "--out", "t.json", "true", code=1)
        self.assertFalse((self.folder / "t.json").exists())

    def test_short_option(self):
        self.write_table()
        self.assertIn("the trace is in x", self.run_cli("trace", "-o", "x", PROGRAM, *EMBED).stderr)
        json.loads((self.folder / "x").read_text())
        self.refuse("trace", "-x", "true", contains="unknown option '-x'")

    def test_a_trace_that_ends_early(self):
        self.write_table()
        done = self.shell("", "trace", "--out", "t.json", "--", "bash", "-c", '"$@"; echo "[" > t.json', "x", PROGRAM, *EMBED)
        self.assertIn("ends early", done.stderr)
        done = self.run_cli("trace", "--out", "/dev/full", PROGRAM, *EMBED)
        self.assertIn("No space left on device", done.stderr)
        self.assertNotIn("to summarize it", done.stderr)

    def test_a_file_for_each_process(self):
        self.write_table()
        said = self.run_cli("trace", "--out", "t-%p.json", PROGRAM, *EMBED).stderr
        self.assertRegex(" ".join(path.name for path in self.folder.iterdir()), r"\bt-\d+\.json\b")
        file = re.search(r"to summarize it: openaclnn trace --summary (t-\d+\.json)\n", said)
        self.assertIn("aclnnEmbedding", self.run_cli("trace", "--summary", file[1]).stdout)
        self.assertFalse((self.folder / "t-%p.json").exists())
        self.assertIn("there is no trace", self.run_cli("trace", "--out", "t-%p.json", "true", code=1).stderr)

    def test_names_of_folders_stay(self):
        self.write_table()
        folder = self.folder / "100%pure and 'so'"
        folder.mkdir()
        done = self.shell("", "trace", "--out", "t.json", PROGRAM, "run", "Embedding", "--weight", "../table.npy", "--indices", "1",
                          before=f'cd "{folder}"')
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("aclnnEmbedding", self.run_cli("trace", "--summary", folder / "t.json").stdout)
        said = self.run_cli("trace", "--out", folder / "t-%p.json", PROGRAM, *EMBED).stderr
        self.assertIn("openaclnn: the trace of one process is in ", said)
        command = said.split("; to summarize it: ")[1].replace("openaclnn", str(PROGRAM), 1)
        self.assertIn("aclnnEmbedding", subprocess.run(["sh", "-c", command], cwd=self.folder, capture_output=True, text=True).stdout)

    def test_options_without_effect(self):
        self.refuse("trace", "--json", "true", contains="--json has no effect without --summary")
        self.refuse("trace", "--summary", "t.json", "--out", "x", contains="--out has no effect with --summary")

    def test_a_file_that_another_process_writes(self):
        self.write_table()
        with open(self.folder / "t.json", "w") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            other.write("[")
            other.flush()
            done = self.run_cli(*EMBED, "--out", "rows.npy", OPENACLNN_TRACE="t.json")
            self.refuse("trace", "--out", "t.json", PROGRAM, *EMBED, contains="t.json is the trace of another process that runs")
        self.assertRegex(done.stderr, "OPENACLNN_TRACE is 't.json', which another process writes; put %p into the name[^\n]*\n")
        self.assertEqual((self.folder / "t.json").read_text(), "[")

    def test_summaries_of_endless_files(self):
        self.refuse("trace", "--summary", "/dev/zero", contains="isn't a trace")
        done = self.shell("", "trace", "--summary", "/dev/stdin", before='yes "[" | head -c 2000000 |')
        self.assertEqual(done.returncode, 2, done)


class StartedProgramsTest(CliTest):
    def run_with(self, *words, ignored=None, **environment):
        return subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, timeout=100, env={**os.environ, **environment},
                              preexec_fn=(lambda: signal.signal(ignored, signal.SIG_IGN)) if ignored else None)

    def test_exit_codes_where_ends_of_children_are_ignored(self):
        self.write("program.cc", b"int main() {}\n")
        for ignored in (None, signal.SIGCHLD):
            for script, code in (("exit 7", 7), ("kill -SEGV $$", 128 + signal.SIGSEGV)):
                self.assertEqual(self.run_with("trace", "sh", "-c", script, ignored=ignored).returncode, code)
            self.assertEqual(self.run_with("compat-check", "--compiler", "/bin/false", "program.cc", ignored=ignored).returncode, 1)

    def test_a_traced_program_ends_with_the_command(self):
        with subprocess.Popen([PROGRAM, "trace", "sh", "-c", "echo $$; exec sleep 100"], cwd=self.folder, stdout=subprocess.PIPE, text=True) as command:
            program = int(command.stdout.readline())
            command.terminate()
            command.wait()
            stat = pathlib.Path(f"/proc/{program}/stat")
            with self.assertRaises(OSError, msg="the program goes on"):  # it is gone
                for _ in range(100):
                    if " Z " in stat.read_text():
                        raise ProcessLookupError
                    time.sleep(0.1)

    def test_doctor_does_without_python(self):
        (self.folder / "python3").write_text("#!/bin/sh\nhead -c 1MB /dev/zero\nsleep 100\n")
        (self.folder / "python3").chmod(0o755)
        done = self.run_with("doctor", "--json", PATH=f"{self.folder}:/usr/bin:/bin")
        self.assertIn("more than 64 KiB", json.loads(done.stdout)["python"]["python"])


class HostileTextTest(ShellTest):
    HOSTILE = ("\033[31m", "\u009b31m", "a\nb", "\u202egpj", os.fsdecode(b"\xff\x9b"))

    def assert_harmless(self, *words, code, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENACLNN_")}
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, timeout=300, env={**clean, **environment})
        self.assertEqual(done.returncode, code, (words, done))
        for text in (done.stdout.decode(), done.stderr.decode()):  # strict: only UTF-8
            for bad in ("\033", "\u009b", "\u202e", "\a"):
                self.assertNotIn(bad, text, words)
        return done

    def test_names_and_arguments(self):
        self.write_table()
        for name in self.HOSTILE:
            for words in (["run", "Embedding", "--weight", name + ".npy", "--indices", "1"], [name], ["--" + name], ["ops", name],
                          ["explain", name], ["check", "--replay", name], ["compat-check", name], ["trace", "--summary", name],
                          ["run", "Embedding", "--weight", "table.npy", "--indices", "1", "--out", f"x={name}.npy"],
                          ["completion", name]):
                done = self.assert_harmless(*words, code=2)
                self.assertEqual(done.stderr.count(b"\n"), 1, words)
            self.assert_harmless("trace", "--out", f"{name}/x", "true", code=1)
            self.assert_harmless("trace", "--", name, code=127)
            self.assert_harmless("run", "Embedding", "--weight", "table.npy", "--indices", "1", "--out", name + ".npy", "--json", code=0)

    def test_variables(self):
        self.assert_harmless("doctor", code=0, OPENACLNN_SOC_NAME="\033[31m\a", LD_LIBRARY_PATH="")
        self.assert_harmless("doctor", "--json", code=0, OPENACLNN_SOC_NAME="\033[31m\u009b", LD_LIBRARY_PATH="")
        self.assert_harmless("explain", "507035", code=0)

    def test_headers_of_files(self):
        for descr in ("<f4\033[31m", "\u009bx", "d" * 5000):
            self.write("x.npy", npy_bytes(None, None, b"", header=f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,), }}"))
            done = self.assert_harmless("run", "Embedding", "--weight", "x.npy", "--indices", "0", code=2)
            self.assertLess(len(done.stderr), 300)
        tensors = {name: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for name in ("\033[31m", "\u202ex", "\u009b")}
        self.write("x.safetensors", safetensors_bytes(tensors))
        self.assert_harmless("run", "Embedding", "--weight", "x.safetensors", "--indices", "0", code=2)

    def test_structured_dtypes(self):
        for descr in ("[('a', '<f4'), ('b', '<i4')]", "('<f4', (2,))"):
            header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}"
            self.write("x.npy", npy_bytes(None, None, bytes(8), header=header))
            self.refuse("run", "Embedding", "--weight", "x.npy", "--indices", "0", contains="the dtype is a structure; save each field")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
