# Tests tools/remove_op in a copy of the project: its list is correct and short, and it deletes everything that new_op made.
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "check"))
from layers.removal import MOST_LINES, load_tool, order_of_removal  # noqa: E402
from layers.siblings import read_rooms  # noqa: E402

remove_op = load_tool(ROOT)


class RemoveOp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("src", "include", "tests", "bench", "docs/site"):
            shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / ".clang-format", self.root)

    def run_tool(self, tool, *arguments):
        result = subprocess.run([sys.executable, "-B", str(ROOT / "tools" / tool), *arguments], capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr

    def files(self):
        return {str(path.relative_to(self.root)): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def remove_users(self, room):
        """Deletes the operators that are built on this one."""
        for user in order_of_removal(remove_op, room, self.root)[:-1]:
            remove_op.delete(remove_op.plan(user, self.root), user, self.root)

    def test_each_operator_leaves_few_lines_elsewhere(self):
        for room, operator in reversed(read_rooms(ROOT).items()):  # a room of lists comes after the operator that it is built on
            with self.subTest(room=room):
                self.remove_users(room)
                removal = remove_op.plan(room, self.root)
                self.assertLessEqual(len(removal.lines), MOST_LINES)
                self.assertIn(f"OPENACLNN_OPERATOR({room}, {operator})", [text for _, _, text in removal.lines])
                self.assertTrue(removal.functions)
                for path, number, text in removal.lines:
                    self.assertNotIn(path, removal.files)
                    self.assertEqual((self.root / path).read_text().splitlines()[number - 1], text)
                for path in [*removal.files, *removal.mentions]:
                    self.assertTrue((self.root / path).is_file(), path)
                self.assertEqual(len(removal.files), len(set(removal.files)))
                self.assertIn(f"bench/workloads/{room}.cc", removal.files)

    def test_the_list_changes_nothing(self):
        before = self.files()
        code, output = self.run_tool("remove_op", "nsa_compress_grad", str(self.root), "--list")
        self.assertEqual(code, 0, output)
        self.assertIn("  src/ops/nsa/compress_grad/op.cc\n", output)
        self.assertRegex(output, r"\n  src/ops/ops\.def:\d+: OPENACLNN_OPERATOR\(nsa_compress_grad, NsaCompressGrad\)\n")
        self.assertRegex(output, r"\n  tests/ops/operator_calls\.h \(\d+\)\n")
        self.assertEqual(self.files(), before)

    def test_what_it_deletes_is_gone(self):
        for room in ("embedding", "grouped_bias_add_grad", "apply_fused_ema_adam"):
            self.remove_users(room)
            removal = remove_op.plan(room, self.root)
            code, output = self.run_tool("remove_op", room, str(self.root))
            self.assertEqual(code, 0, output)
            for path in removal.files:
                self.assertFalse((self.root / path).exists(), path)
            for path, _, text in removal.lines:
                self.assertNotIn(text, (self.root / path).read_text().splitlines())
            self.assertNotIn(room, read_rooms(self.root))
            self.assertFalse((self.root / "src/ops" / room).exists())
        headers = "\n".join(path.read_text() for path in (self.root / "include").rglob("*.h"))
        for include in re.findall(r'#include "((?:aclnnop|openaclnn)/[^"]+)"', headers):
            self.assertTrue((self.root / "include" / include).is_file(), include)
        self.assertEqual(self.run_tool("check_layers", str(self.root)), (0, ""))

    def test_it_deletes_what_new_op_makes(self):
        before = self.files()
        self.assertEqual(self.run_tool("new_op", "tested_copy", str(self.root))[0], 0)
        self.assertNotEqual(self.files(), before)
        code, output = self.run_tool("remove_op", "tested_copy", str(self.root))
        self.assertEqual(code, 0, output)
        self.assertIn("\n3 lines elsewhere:\n", output)
        self.assertIn("\n0 files that still mention it", output)
        self.assertEqual(self.files(), before)

    def test_refused_names_change_nothing(self):
        before = self.files()
        for name, why in (("EmbeddingDenseBackwards", "did you mean embedding_dense_backward?"), ("nsa/compress", "did you mean nsa_compress?"),
                          ("transpose", "the operators are apply_adam_w, "),
                          ("apply_fused_ema_adam", "delete the operator apply_fused_ema_adam_list first")):
            with self.subTest(name=name):
                code, output = self.run_tool("remove_op", name, str(self.root))
                self.assertEqual((code, len(output.splitlines())), (1, 1), output)
                self.assertIn(why, output)
                self.assertEqual(self.files(), before)

    def test_wrong_use(self):
        for arguments in ((), ("--help",), ("embedding", str(self.root / "src")), ("a", "b", "c")):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.run_tool("remove_op", *arguments)[0], 2)


if __name__ == "__main__":
    unittest.main()
