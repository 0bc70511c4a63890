#!/usr/bin/env python3
# Tests commands of openaclnn for porting a CANN program: the meaning of codes, and missing functions.
"""usage: test_porting.py PROGRAM [unittest arguments]"""
import json
import os
import re
import signal
import subprocess
import time
import unittest

from program import PROGRAM, ROOT, CliTest


class ExplainTest(CliTest):
    def test_number_and_name(self):
        for word in ("507035", "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION"):
            self.assertIn("bad data", self.run_cli("explain", word).stdout)
        self.assertEqual(json.loads(self.run_cli("explain", "161002", "--json").stdout)["name"], "ACLNN_ERR_PARAM_INVALID")

    def test_links_are_printed_as_their_texts(self):
        self.assertIn("only as a name in cann-compat, without an operator (porting.md)\n", self.run_cli("explain", "561003").stdout)
        for words in (["explain"], ["explain", "--json"], ["explain", "507899"]):
            self.assertNotIn("](", self.run_cli(*words).stdout, words)

    def test_every_row_of_the_page_is_a_code(self):
        page = (ROOT / "docs" / "errors.md").read_text()
        returned, foreign = (re.findall(r"^\| (\d{6}) \| `(\w+)` \|", part, re.M) for part in
                             page.split("## Codes that openaclnn does not return"))
        self.assertGreater(len(returned), 25)
        self.assertGreater(len(foreign), 35)
        known = {str(e["code"]): e for e in json.loads(self.run_cli("explain", "--json").stdout)}
        self.assertEqual({code: e["name"] for code, e in known.items()}, dict(returned + foreign))
        for code, _ in returned:
            self.assertNotIn("not returned by openaclnn", known[code]["reason"])
        for code, _ in foreign:
            self.assertRegex(known[code]["reason"], "^not returned by openaclnn; in CANN: .", code)

    def test_published_codes_that_nothing_here_returns(self):
        for word in ("561105", "ACLNN_ERR_INNER_KEY_CONFLICT"):
            told = self.run_cli("explain", word).stdout
            self.assertIn("561105 ACLNN_ERR_INNER_KEY_CONFLICT", told)
            self.assertIn("not returned by openaclnn; in CANN: two kernels", told)
        self.assertEqual(json.loads(self.run_cli("explain", "561119", "--json").stdout)["name"],
                         "ACLNN_ERR_INNER_STATIC_BLOCK_DIM_INVALID")

    def test_a_code_without_a_name_has_a_range(self):
        for code, words in (("561150", "codes from 561000 to 561999 belong to aclnn functions: an internal error"),
                            ("107123", "codes from 107000 to 107999 belong to runtime functions: a call with wrong"),
                            ("545000", "graph engine"), ("161999", "an argument that isn't accepted")):
            told = self.run_cli("explain", code).stdout
            self.assertIn(f"{code} without a published name", told)
            self.assertIn(words, told)
            self.assertIn("not returned by openaclnn", told)
        for code in ("123", "560999", "562000", "99999999999", "ACLNN_ERR_NONSENSE"):
            self.refuse("explain", code, contains="isn't a status code")

    def test_codes_that_the_library_returns_have_a_row(self):
        used = set()
        for path in [*(ROOT / "src").rglob("*.cc"), *(ROOT / "src").rglob("*.h")]:
            if path.name != "codes.cc" and not path.name.endswith("_test.cc"):
                used |= set(re.findall(r"\bACL(?:NN)?_ERR(?:OR)?_[A-Z_]+\b", path.read_text()))
        explained = {e["name"]: e["reason"] for e in json.loads(self.run_cli("explain", "--json").stdout)}
        for name in used & set(explained):
            self.assertNotIn("not returned by openaclnn", explained[name], name)


class CompatCheckTest(CliTest):
    def test_complete_program(self):
        (self.folder / "fine.cpp").write_text('#include "acl/acl.h"\n#include "aclnn_embedding.h"\nint main() { return aclInit(nullptr); }\n')
        self.assertIn("nothing is missing", self.run_cli("compat-check", "fine.cpp").stdout)

    def test_compilers_of_several_words(self):
        self.write("fine.cpp", b'#include "acl/acl.h"\nint main() { return ANSWER; }\n')
        self.write("Makefile", b"LDLIBS = -lpthread\n")
        (self.folder / "my compiler").write_text('#!/bin/sh\nexec c++ -DANSWER=1 "$@"\n')
        (self.folder / "my compiler").chmod(0o755)
        for compiler in ("env c++ -DANSWER=1", "  c++  -DANSWER=1 ", "./my compiler"):
            for words, environment in (["--compiler", compiler], {}), ([], {"CXX": compiler}):
                self.run_cli("compat-check", "fine.cpp", "Makefile", *words, **environment)
        self.run_cli("compat-check", "fine.cpp", code=1, CXX=" ")

    def test_what_is_missing_by_name_and_line(self):
        (self.folder / "old.cpp").write_text(
            '#include "acl/acl.h"\n#include "aclnnop/aclnn_softmax.h"\n#include "other/thing.h"\n'
            "int main() {\n  aclmdlDesc* d = nullptr;\n  aclnnSoftmax(nullptr, 0, nullptr, nullptr);\n  return aclnnSoftmax(nullptr, 0, nullptr, nullptr);\n}\n")
        for compiler in ("g++", "clang++"):
            if subprocess.run(["sh", "-c", f"command -v {compiler}"], capture_output=True).returncode:
                print(f"skipped: {compiler} is not installed")
                continue
            report = json.loads(self.run_cli("compat-check", "old.cpp", "--json", "--compiler", compiler, code=1).stdout)
            found = {entry["name"]: (entry["kind"], [place["line"] for place in entry["places"]]) for entry in report}
            self.assertEqual(found["aclnnop/aclnn_softmax.h"], ("header", [2]), compiler)
            self.assertEqual(found["other/thing.h"], ("header", [3]))
            self.assertEqual(found["aclmdlDesc"][0], "name")
            self.assertEqual(found["aclnnSoftmax"], ("name", [6, 7]))
        self.assertIn("old.cpp:2", self.run_cli("compat-check", "old.cpp", code=1).stdout)

    def test_functions_that_are_looked_up_by_name(self):
        self.write("names.cpp", b'#include "acl/acl.h"\n#define EXEC_NPU_CMD(f, ...)\nconst char* names[] = {"aclnnMatmulGetWorkspaceSize",\n'
                   b'  "aclnnEmbedding", "aclrtLaunchCallback"}; // "aclnnComment"\n'
                   b'const char* text = "aclnnAdd failed";\nvoid f() { EXEC_NPU_CMD(aclnnFlashAttentionScore, 1); }\n')
        report = json.loads(self.run_cli("compat-check", "names.cpp", "--json", code=1).stdout)
        self.assertEqual({(entry["kind"], entry["name"], entry["places"][0]["line"]) for entry in report},
                         {("looked up", "aclnnMatmulGetWorkspaceSize", 3), ("looked up", "aclrtLaunchCallback", 4),
                          ("looked up", "aclnnFlashAttentionScore", 6)})

    def test_variables_of_missing_types_are_not_missing(self):
        self.write("buffer.cpp", b'#include "acl/acl.h"\nint main() {\n  aclDataBuffer* buffer = aclCreateDataBuffer(nullptr, 0);\n'
                   b"  auto* other = buffer;\n  return other != nullptr;\n}\n")
        report = json.loads(self.run_cli("compat-check", "buffer.cpp", "--json", code=1).stdout)
        self.assertEqual({entry["name"] for entry in report}, {"aclDataBuffer", "aclCreateDataBuffer"})

    def test_c_is_compiled_as_c(self):
        self.write("fine.c", b'#include <stdlib.h>\n#include "acl/acl.h"\nint* numbers(int class) { return malloc(class); }\n'
                   b"int main(void) { return aclInit(NULL); }\n")
        self.assertEqual(self.run_cli("compat-check", "fine.c").stdout, "nothing is missing\n")

    def test_headers_of_others(self):
        self.write("torch.cpp", b'#include <torch/extension.h>\nat::Tensor f();\n')
        self.assertIn("names that torch/extension.h declares count as missing; pass the folder of this header with -I\n",
                      self.run_cli("compat-check", "torch.cpp", code=1).stdout)

    def test_words_after_two_dashes(self):
        self.write("fine.cpp", b"int main() {}\n")
        self.refuse("compat-check", "fine.cpp", "--", "other.cpp", contains="`openaclnn compat-check` takes no words after --")
        self.refuse("explain", "107002", "--", "99", contains="takes no words after --")

    def test_libraries_of_a_sample(self):
        (self.folder / "CMakeLists.txt").write_text(
            "add_executable(sample main.cpp)\n# target_link_libraries(sample PRIVATE not_this)\n"
            "set(RUNTIME ascendcl nnopbase)\nlist(APPEND RUNTIME opapi)\nadd_library(helper helper.cpp)\n"
            "target_link_libraries(sample PRIVATE ${RUNTIME}\n  acl_op_compiler helper pthread -ldl)\n")
        told = self.run_cli("compat-check", "CMakeLists.txt").stdout
        self.assertEqual(told, "in cann-compat: acl_op_compiler, ascendcl, nnopbase, opapi\nnothing is missing\n")
        (self.folder / "Makefile").write_text(
            "LDLIBS := -lascendcl -lnnopbase \\\n  -lopapi -lpthread # -lnot_this\nMORE = acl_op_compiler\n"
            "FILES = $(shell ls -la)\nsample: main.o\n\tls -la\n\t$(CXX) $^ $(LDLIBS) $(addprefix -l,$(MORE)) -o $@\n")
        self.assertEqual(self.run_cli("compat-check", "Makefile").stdout, told)

    def test_hostile_build_files(self):
        words = " ".join(f"lib{k}" for k in range(100_000))
        for name, text in (("Makefile", "A = " + ")" * 500_000 + "\n"), ("Makefile", "A += x\n" * 100_000),
                           ("Makefile", "A = " + "x" * 500_000 + "\nL = -l$(A) " + "$(A)" * 120_000 + "\n"),
                           ("Makefile", f"N = {'a ' * 200_000}\nL = $(addprefix -l" + "x" * 60_000 + ",$(N) " + "a " * 250_000 + ")\n"),
                           ("CMakeLists.txt", f"set(W {words})\nlink_libraries({'${W} ' * 300})\n")):
            self.write(name, text.encode())
            start = time.monotonic()
            self.run_cli("compat-check", name, code=1 if "link" in text else 0)
            self.assertLess(time.monotonic() - start, 30, text[:20])

    def test_long_names_and_clashing_headers(self):
        self.write("long.cpp", b"int main() { return " + b"x" * 60_000 + b"; }\n")
        self.run_cli("compat-check", "long.cpp", code=1)
        self.write("wide.cpp", b"int main() { aclLost" + b" " * 2_000_000 + b"* lost; }\n")
        self.assertIn("aclLost", self.run_cli("compat-check", "wide.cpp", code=1).stdout)
        self.write("clash.cpp", b'#include "acl_x"\n#include "acl_x/b.h"\nint main() {}\n')
        self.assertIn("acl_x", self.run_cli("compat-check", "clash.cpp", code=1).stdout)

    def test_libraries_that_nothing_has(self):
        (self.folder / "CMakeLists.txt").write_text(
            "link_libraries(hccl)\ntarget_link_libraries(a PUBLIC ${TOOLKIT}/lib64/libgraph.so general -lge_runner\n"
            "  \"${TOOLKIT}/lib64/libascendcl.so\" $<TARGET_FILE:b> Threads::Threads ${OpenCV_LIBS})\n"
            "set(CMAKE_EXE_LINKER_FLAGS \"-Wl,-z,now -lacl_dvpp\")\n")
        (self.folder / "common.mk").write_text("LIBS += -lhccl -l$(DRIVER)\n")
        report = json.loads(self.run_cli("compat-check", "CMakeLists.txt", "common.mk", "--json", code=1).stdout)
        found = {(entry["kind"], entry["name"]): [(p["file"], p["line"]) for p in entry["places"]] for entry in report}
        cmake = "CMakeLists.txt"
        self.assertEqual(found, {("library", "libhccl.so"): [(cmake, 1), ("common.mk", 1)], ("library", "libgraph.so"): [(cmake, 2)],
                                 ("library", "libge_runner.so"): [(cmake, 2)], ("library", "libacl_dvpp.so"): [(cmake, 4)],
                                 ("library in cann-compat", "ascendcl"): [(cmake, 2)],
                                 ("library unknown", "$<TARGET_FILE:b>"): [(cmake, 2)],
                                 ("library unknown", "Threads::Threads"): [(cmake, 2)],
                                 ("library unknown", "${OpenCV_LIBS}"): [(cmake, 2)],
                                 ("library unknown", "-l$(DRIVER)"): [("common.mk", 1)]})
        told = self.run_cli("compat-check", "CMakeLists.txt", code=1).stdout
        self.assertRegex(told, r"(?m)^library +libhccl.so +CMakeLists.txt:1$")
        self.assertIn("not checked: ${OpenCV_LIBS} (CMakeLists.txt:2); only a build determines its value\n", told)

    def test_sources_and_link_lines_together(self):
        (self.folder / "fine.cpp").write_text('#include "acl/acl.h"\nint main() { return aclInit(nullptr); }\n')
        (self.folder / "Makefile").write_text("LDLIBS = -lascendcl -lhccl\n")
        told = self.run_cli("compat-check", "fine.cpp", "Makefile", code=1).stdout
        self.assertEqual(told, "in cann-compat: ascendcl\nkind     missing     used in\nlibrary  libhccl.so  Makefile:1\n")

    def test_odd_build_files(self):
        for text in ("", "target_link_libraries(", "target_link_libraries()", "set(A ${A} ${A})\nlink_libraries(${A} ascendcl)",
                     "set(A ${B})\nset(B ${A})\nlink_libraries(${A} ascendcl)", "[==[", "#[[ x", ")))(((", '"' * 9,
                     "link_libraries(" + "ascendcl " * 20000 + ")"):
            self.write("CMakeLists.txt", text.encode())
            self.run_cli("compat-check", "CMakeLists.txt")
        for text in ("", "A = $(A) -l$(A)\n", "A = $(B) -lascendcl -l$(B)\nB = $(A)\n", "=\n", " = -lm\n", "$($($(\n", "\\\n\\",
                     "A = -lascendcl " + "x" * 200000 + "\n", "L = $(addprefix -l\n", "\tg++ -lm -l -lpthread\n"):
            self.write("Makefile", text.encode())
            self.run_cli("compat-check", "Makefile")

    def test_files_that_are_not_sources(self):
        for name, data, why in (("image.png", b"\x89PNG\r\n", "unrecognized file name"),
                                ("program", b"\x7fELF", "unrecognized file name"),
                                ("notes.txt", b"int main() {}\n", "a file ending in .C .c .c++ .cc"),
                                ("script.py", b"import acl\n", "CMakeLists.txt, *.cmake, Makefile* or *.mk"),
                                ("image.cpp", b"\x89PNG\r\n\x1a\n\0\0\0", "contains binary data"),
                                ("Makefile", b"all:\n\0", "contains binary data")):
            self.write(name, data)
            self.refuse("compat-check", name, contains=why)
        self.write("fine.cpp", b"int main() {}\n")
        self.refuse("compat-check", "fine.cpp", "image.png", contains="image.png")
        self.refuse("compat-check", "missing.cpp", contains="missing.cpp isn't a readable file")

    def test_signals_leave_no_temporary_folder(self):
        compiler = self.folder / "slow"
        compiler.write_text("#!/bin/sh\ntouch started\nexec sleep 100\n")
        compiler.chmod(0o755)
        (self.folder / "old.cpp").write_text("int main() {}\n")
        temporary = self.folder / "temporary"
        temporary.mkdir()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            child = subprocess.Popen([PROGRAM, "compat-check", "old.cpp", "--compiler", compiler], cwd=self.folder, stderr=subprocess.PIPE,
                                     env={**os.environ, "TMPDIR": str(temporary)})
            while not (self.folder / "started").exists() and child.poll() is None:
                time.sleep(0.01)
            self.assertNotEqual(list(temporary.iterdir()), [])
            child.send_signal(number)
            self.assertEqual(child.communicate(timeout=50), (None, b""))
            self.assertEqual(child.returncode, -number)
            self.assertEqual(list(temporary.iterdir()), [])
            (self.folder / "started").unlink()

    def test_a_missing_folder_for_temporary_files(self):
        self.write("old.cpp", b"int main() {}\n")
        done = self.run_cli("compat-check", "old.cpp", code=1, TMPDIR=str(self.folder / "none"))
        self.assertIn("TMPDIR doesn't name a folder", done.stderr)

    def test_bad_input(self):
        self.refuse("compat-check", "missing.cpp")
        self.refuse("compat-check", ".")
        (self.folder / "fine.cpp").write_text("int main() {}\n")
        self.run_cli("compat-check", "fine.cpp", "--compiler", "no-such-compiler", code=1)


if __name__ == "__main__":
    unittest.main()
