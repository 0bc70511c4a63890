# Breaks a bill of materials in one place at a time, and expects tools/sbom --check to say where.
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "sbom"
VALIDATOR = TOOL.parent.parent / "build" / "wheel-tools" / "bin" / "pyspdxtools"


@unittest.skipUnless(shutil.which("gcc") and shutil.which("dpkg-query"), "needs gcc and dpkg")
class Sbom(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.library, self.file = (pathlib.Path(folder.name) / name for name in ("liba.so", "sbom.json"))
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(self.library)],
                       input="#include <stdlib.h>\nint a(void); int a(void) { return rand(); }\n", text=True, check=True)
        self.assertEqual(self.run_tool(), (0, ""))
        self.document = json.loads(self.file.read_text())

    def run_tool(self, *options):
        result = subprocess.run([sys.executable, str(TOOL), *options, str(self.library), str(self.file)], capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr

    def refused(self, why):
        self.file.write_text(json.dumps(self.document))
        code, output = self.run_tool("--check")
        self.assertEqual(code, 1, output)
        self.assertIn(why, output)

    def package(self, name):
        return next(entry for entry in self.document["packages"] if entry["name"] == name)

    def test_what_is_written_is_complete(self):
        self.assertEqual(self.run_tool("--check"), (0, ""))
        self.assertEqual({entry["name"] for entry in self.document["packages"]}, {"openaclnn", "libhwy-dev", "libc6"})
        self.assertRegex(self.package("libc6")["versionInfo"], r"^\d[\w.+~-]*$")

    def test_another_library(self):
        self.library.write_bytes(self.library.read_bytes() + b"\0")
        self.refused("the checksum is not that of the library")

    def test_a_library_that_is_missing(self):
        self.document["packages"].remove(self.package("libc6"))
        self.refused("libc.so.6, which the library needs, is missing")

    def test_an_unknown_licence(self):
        self.package("libc6")["licenseDeclared"] = "NOASSERTION"
        self.refused("libc6: its licence is not known")

    def test_highway_is_compiled_in(self):
        self.document["relationships"] = [entry for entry in self.document["relationships"] if entry["relationshipType"] != "STATIC_LINK"]
        self.refused("Highway")

    @unittest.skipUnless(VALIDATOR.exists(), "needs spdx-tools (./dev package)")
    def test_the_format(self):
        def validate():
            result = subprocess.run([VALIDATOR, "-i", self.file], capture_output=True, text=True)
            return result.returncode, result.stdout + result.stderr

        self.assertEqual(validate(), (0, ""))
        written = self.file.read_text()
        for old, new, why in (
                ('"relatedSpdxElement": "SPDXRef-libc6"', '"relatedSpdxElement": "SPDXRef-nothing"', "SPDXRef-nothing"),
                ('"SPDXID": "SPDXRef-libc6"', '"SPDXID": "libc6"', "libc6"),
                ('"licenseDeclared": "Apache-2.0"', '"licenseDeclared": "Apache-2"', "Apache-2"),
                ('"created": "', '"created": "on ', "does not match format"),
                ("SPDX-2.3", "SPDX-1.0", "SPDX-1.0")):
            with self.subTest(new=new):
                self.file.write_text(written.replace(old, new))
                code, output = validate()
                self.assertEqual(code, 1, output)
                self.assertIn(why, output)


if __name__ == "__main__":
    unittest.main()
