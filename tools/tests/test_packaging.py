# Compares the RPM spec, the conda recipe and the wheel of the CUDA plugin with the project: version, licence, requirements, options.
import pathlib
import re
import shutil
import subprocess
import unittest

try:
    import tomllib
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = ROOT / "packaging" / "openaclnn.spec"
RECIPE = ROOT / "packaging" / "conda" / "meta.yaml"
CMAKE = (ROOT / "CMakeLists.txt").read_text()
VERSION = re.search(r"project\(openaclnn VERSION ([\d.]+)", CMAKE)[1]
# conda-forge's names of packages that the build of the library needs.
CONDA_NAMES = {"libhwy-dev": "libhwy", "libcli11-dev": "cli11", "libfmt-dev": "fmt", "nlohmann-json3-dev": "nlohmann_json"}


def undefined_options(text):
    """Returns the options of openaclnn that a recipe passes to CMake and the project doesn't define."""
    return [name for name in re.findall(r"-D(OPENACLNN_\w+)=", text) if not re.search(rf"(option|set)\({name} ", CMAKE)]


def recipe_fields(text):
    """Returns a recipe as YAML after its few templates were replaced."""
    text = re.sub(r"\{% set version = \"(.*?)\" %\}\n", "", text.replace("{{ version }}", re.search(r'set version = "(.*?)"', text)[1]))
    return yaml.safe_load(re.sub(r"\{\{ compiler\('(\w+)'\) \}\}", r"compiler_\1", text))


class Notices(unittest.TestCase):
    """Binary files contain code of these libraries, whose licences ask for a notice."""
    NAMES = {"hwy": "Highway", "CLI11": "CLI11", "fmt": "fmt", "nlohmann_json": "JSON for Modern C++", "nanobind": "nanobind", "CUDA": "CUB"}

    def test_each_library_has_one(self):
        files = [ROOT / "cli/CMakeLists.txt", ROOT / "python/CMakeLists.txt", *ROOT.glob("src/**/CMakeLists.txt")]
        text = "".join(path.read_text() for path in files)
        used = set(re.findall(r"openaclnn_require\((\w+)", text)) | set(re.findall(r"find_package\((nanobind)", text))
        self.assertEqual(used, set(self.NAMES) - {"CUDA"})
        notices = (ROOT / "THIRD_PARTY_NOTICES").read_text()
        for name in self.NAMES.values():
            self.assertRegex(notices, rf"\n{re.escape(name)} \(https://.*\)(, as .*)?\nCopyright ", name)

    def test_packages_contain_them(self):
        for path in (ROOT / "pyproject.toml", SPEC, RECIPE, ROOT / "cmake/install.cmake"):
            self.assertIn("THIRD_PARTY_NOTICES", path.read_text(), path)
        debian = (ROOT / "cmake/debian/copyright").read_text()
        for name in ("Highway", "CLI11", "JSON for Modern C++", "CUB"):
            self.assertRegex(debian, rf"\nFiles: usr/.*\nCopyright: (.+\n )*.*\({re.escape(name)}\)\n( .+\n)*License: ")


class Spec(unittest.TestCase):
    def test_the_options_exist(self):
        self.assertEqual(undefined_options("-DOPENACLNN_NOTHING=ON -DOPENACLNN_CUDA=ON"), ["OPENACLNN_NOTHING"])
        self.assertEqual(undefined_options(SPEC.read_text()), [])

    @unittest.skipUnless(shutil.which("rpmspec"), "needs rpmspec")
    def test_rpm_reads_it(self):
        done = subprocess.run(["rpmspec", "-q", "--qf", "%{NAME} %{VERSION} %{LICENSE}\n", str(SPEC)], capture_output=True, text=True, check=True)
        names = ["openaclnn", "openaclnn-devel", "openaclnn-cann-compat", "openaclnn-tools"]
        self.assertEqual(done.stdout.splitlines(), [f"{name} {VERSION} Apache-2.0" for name in names])


@unittest.skipUnless(yaml, "needs PyYAML and tomllib")
class Conda(unittest.TestCase):
    def setUp(self):
        self.text = RECIPE.read_text()
        self.recipe = recipe_fields(self.text)
        self.project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    def test_names_and_licence_are_the_projects(self):
        project = self.project["project"]
        self.assertEqual(self.recipe["package"], {"name": project["name"], "version": VERSION})
        about = self.recipe["about"]
        self.assertEqual((about["summary"], about["license"], about["license_file"]),
                         (project["description"], project["license"], project["license-files"]))

    def test_requirements_are_the_projects(self):
        def without_blanks(requirements):
            return {requirement.replace(" ", "") for requirement in requirements}

        wanted = self.recipe["requirements"]
        project = self.project["project"]
        self.assertEqual(without_blanks(wanted["run"]), {f"python{project['requires-python']}", *project["dependencies"]})
        host = without_blanks(wanted["host"])
        self.assertEqual(without_blanks(self.project["build-system"]["requires"]) - host, set())
        self.assertEqual(set(CONDA_NAMES.values()) - host, set())
        debian = (ROOT / "tools" / "packages").read_text().split()
        self.assertEqual([name for name in CONDA_NAMES if name not in debian], [])
        self.assertIn(f"cmake>={re.search(r'cmake_minimum_required.VERSION ([0-9.]+)', CMAKE)[1]}", without_blanks(wanted["build"]))

    def test_the_options_exist(self):
        self.assertEqual(undefined_options(self.text), [])

    def test_the_source_is_the_project(self):
        self.assertEqual((RECIPE.parent / self.recipe["source"]["path"]).resolve(), ROOT)


@unittest.skipUnless(yaml, "needs PyYAML and tomllib")
class CudaWheel(unittest.TestCase):
    def setUp(self):
        self.plugin = tomllib.loads((ROOT / "packaging" / "cuda" / "pyproject.toml").read_text())
        self.library = tomllib.loads((ROOT / "pyproject.toml").read_text())

    def test_it_needs_the_same_version(self):
        self.assertEqual(self.plugin["project"]["dependencies"], [f"openaclnn=={VERSION}"])

    def test_its_settings_are_the_librarys(self):
        plugin, library = self.plugin["build-system"], self.library["build-system"]
        self.assertEqual(plugin["build-backend"], library["build-backend"])
        self.assertLessEqual(set(plugin["requires"]), set(library["requires"]))
        self.assertEqual(self.plugin["project"]["license"], self.library["project"]["license"])
        version = [{**table["tool"]["scikit-build"]["metadata"]["version"], "input": ""} for table in (self.plugin, self.library)]
        self.assertEqual(*version)

    def test_the_options_exist(self):
        defined = self.plugin["tool"]["scikit-build"]["cmake"]["define"]
        options = [name for name in defined if name.startswith("OPENACLNN_")]
        self.assertEqual(undefined_options(" ".join(f"-D{name}=" for name in options)), [])


class Wheels(unittest.TestCase):
    def test_wrong_arguments_are_rejected(self):
        for command, sentence in (("make_wheels 3.9", "make_wheels: 3.9 is not a version that it makes wheels for; accepted: 3.10, 3.11, 3.12"),
                                  ("make_wheels --processor riscv64", "make_wheels: --processor is 'riscv64'; accepted: x86_64, aarch64"),
                                  ("check_wheels riscv64", "check_wheels: 'riscv64' can't be checked on "),
                                  ("check_wheels aarch64 sdist", "check_wheels: it accepts one argument, but was given: aarch64 sdist")):
            with self.subTest(command):
                name, *arguments = command.split()
                done = subprocess.run([ROOT / "tools" / name, *arguments], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr.startswith(sentence), done.stderr)


if __name__ == "__main__":
    unittest.main()
