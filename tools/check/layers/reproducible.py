"""The library is the same file, bit for bit, when it is built again in another folder, without a compiler cache.

A copy of what git would publish is built in a temporary folder with a longer name, another language, time zone and number of jobs, and compared with
build/release. This shows that neither paths, times nor contents of ccache get into the file, and that build/release comes from these sources. If
there is a difference, the folder stays for diffoscope or cmp.
"""
import filecmp
import os
import pathlib
import shutil
import subprocess
import tempfile

from workshop import Failure, Result

GOAL = "0 bytes differ"
FAST = False  # it compiles every kernel again
NAME = "libopenaclnn.so"


def published(root):
    """Returns the files that git knows or would add."""
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    names = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\0")
    return [name for name in names if name and (root / name).is_file()]


def build_copy(root, copy):
    for name in published(root):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, copy / name)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CCACHE_")}
    environment |= {"CCACHE_DISABLE": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    log = copy / "build.log"
    with log.open("w") as out:
        for command in (["cmake", "--preset", "release"],
                        ["cmake", "--build", "--preset", "release", "--target", "openaclnn", "-j", str((os.cpu_count() or 1) + 1)]):
            if subprocess.run(command, cwd=copy, env=environment, stdout=out, stderr=subprocess.STDOUT).returncode:
                print("\n".join(log.read_text(errors="replace").splitlines()[-40:]))
                raise Failure("the copy did not build")
    return (copy / "build" / "release" / "lib" / NAME).resolve()


def run(workshop):
    ours = (workshop.build("release", "openaclnn") / "lib" / NAME).resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openaclnn-built-again-in-a-folder-with-another-name-"))
    print(f"   building a copy in {folder}", flush=True)
    theirs = build_copy(workshop.root, folder)
    if filecmp.cmp(ours, theirs, shallow=False):
        size = ours.stat().st_size
        shutil.rmtree(folder)
        return Result(f"0 of {size} bytes differ", met=True)
    ours_bytes, theirs_bytes = ours.read_bytes(), theirs.read_bytes()
    differ = sum(a != b for a, b in zip(ours_bytes, theirs_bytes)) + abs(len(ours_bytes) - len(theirs_bytes))
    print(f"compare {ours} and {theirs}")
    return Result(f"{differ} of {len(ours_bytes)} bytes differ", met=False)
