"""Limits of memory and CPUs are those of the process's own group, and the library works without /proc, without /sys and on a read-only root.

machine_limits_test reads made-up trees of /proc and /sys: cgroup versions 1 and 2, hybrid, nested, systemd slices, Slurm, Docker with and without a
namespace, and garbage. Then container_program and `openaclnn doctor` run in minimal root file systems. These hold the programs, their shared
libraries, and a made-up /proc and /sys, or none. Where the system permits no chroot, only the trees are tested, and the figure says why.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

from workshop import Failure, Result

GOAL = "0 wrong in at least 70 trees and 7 containers (trees alone where the system permits no chroot)"
FAST = True

GIB = 1 << 30
MEMINFO = {"/proc/meminfo": "MemTotal:       16777216 kB\nMemFree:        12582912 kB\nMemAvailable:    8388608 kB\n"}
V2 = {"/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"}
V1 = {"/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                              "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"}


@dataclass
class Container:
    name: str
    files: dict = field(default_factory=dict)
    memory: int | None = 16 * GIB  # all bytes; None: unknown
    quota: float | None = 0  # CPUs; 0: none, None: unknown
    read_only: bool = False


CONTAINERS = (
    Container("no /proc, no /sys", memory=None, quota=None),
    Container("read-only root", memory=None, quota=None, read_only=True),
    Container("no limits", {**MEMINFO, "/proc/self/cgroup": "0::/\n"}),
    Container("/sys without /proc", {"/sys/fs/cgroup/memory.max": f"{GIB}\n", "/sys/fs/cgroup/cpu.max": "150000 100000\n"}, GIB, 1.5),
    Container("version 2", {**MEMINFO, **V2, "/proc/self/cgroup": "0::/system.slice/a.service\n",
                       "/sys/fs/cgroup/system.slice/a.service/memory.max": f"{2 * GIB}\n",
                       "/sys/fs/cgroup/system.slice/a.service/memory.current": f"{GIB}\n",
                       "/sys/fs/cgroup/system.slice/a.service/cpu.max": "50000 100000\n"}, 2 * GIB, 0.5),
    Container("version 2, nested", {**MEMINFO, **V2, "/proc/self/cgroup": "0::/a/b/c\n", "/sys/fs/cgroup/a/memory.max": f"{3 * GIB}\n",
                               "/sys/fs/cgroup/a/cpu.max": "100000 100000\n", "/sys/fs/cgroup/a/b/memory.max": "max\n",
                               "/sys/fs/cgroup/a/b/c/memory.max": f"{4 * GIB}\n", "/sys/fs/cgroup/a/b/c/cpu.max": "max 100000\n"},
         3 * GIB, 1),
    Container("version 1, nested", {**MEMINFO, **V1, "/proc/self/cgroup": "4:memory:/slurm/job/step\n1:cpu:/slurm\n0::/\n",
                               "/sys/fs/cgroup/memory/slurm/job/memory.limit_in_bytes": f"{GIB}\n",
                               "/sys/fs/cgroup/memory/slurm/job/step/memory.limit_in_bytes": "9223372036854771712\n",
                               "/sys/fs/cgroup/cpu/slurm/cpu.cfs_quota_us": "200000\n",
                               "/sys/fs/cgroup/cpu/slurm/cpu.cfs_period_us": "100000\n"}, GIB, 2),
    Container("garbage", {"/proc/meminfo": "MemTotal: lots\n", "/proc/self/cgroup": "::\n0::relative\n\n",
                     "/proc/self/mountinfo": " - cgroup2\n", "/sys/fs/cgroup/memory.max": "garbage\n",
                     "/sys/fs/cgroup/cpu.max": "0 0\n"}, None, 0),
)


def libraries_of(program):
    """Returns the files that the loader maps for a program, including the program."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    words = [word for line in listed.splitlines() for word in line.split()]
    return [pathlib.Path(word) for word in words if word.startswith("/")]


def furnish(folder, container, programs, libraries):
    for file in {*libraries}:
        there = folder / str(file).lstrip("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, there)
    for program in programs:
        shutil.copy(program, folder / pathlib.Path(program).name)
    for path, text in container.files.items():
        there = folder / path.lstrip("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(text)


def in_namespace(script, *words):
    """Runs a shell script in its own mount namespace. The words become $0, $1 and so on."""
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENACLNN_")}
    return subprocess.run(["unshare", *as_root, "--mount", "sh", "-c", script, *words], stdin=subprocess.DEVNULL, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)


READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && '


def enter(folder, container, *command):
    """Returns the output of a command whose root is the folder."""
    return in_namespace((READ_ONLY if container.read_only else "") + 'exec chroot "$0" "$@"', str(folder), *command)


def why_not(folder):
    """Returns why this system permits no chroot, or an empty text. It uses nothing of the library."""
    tried = in_namespace(READ_ONLY + "exec chroot / /bin/true", str(folder))
    return "" if tried.returncode == 0 else tried.stdout.strip()[-200:] or f"exit code {tried.returncode}"


def faults_of(container, output, status):
    """Returns error messages about the output of container_program."""
    lines = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    if status != 0 or "describe" not in lines:
        return [f"container_program exited with {status}: {output[-500:]}"]
    described = json.loads(lines["describe"])
    faults = []
    total = described["memory"] and described["memory"]["total"]
    if total != container.memory:
        faults.append(f"the memory is {total}, not {container.memory}")
    if described["cpuQuota"] != container.quota:
        faults.append(f"the quota is {described['cpuQuota']}, not {container.quota}")
    most = min(len(os.sched_getaffinity(0)), max(1, round(container.quota + 0.49)) if container.quota else 1 << 20)
    if described["threads"] != most:
        faults.append(f"{described['threads']} threads compute, not {most}")
    expected = "207000 0 0" if container.memory is None else f"0 {described['memory']['free']} {container.memory}"
    if lines["meminfo"] != expected:
        faults.append(f"aclrtGetMemInfo gives {lines['meminfo']}, not {expected}")
    wanted = "free memory is unknown" if container.memory is None else "bytes free"
    if wanted not in lines["malloc"]:
        faults.append(f"the message of aclrtMalloc is {lines['malloc']}")
    return faults + [f"it printed {word}" for word in ("9223372036854775807", " 0 bytes free") if word in output]


def faults_of_doctor(container, output):
    report = json.loads(output[output.index("{"):])["machine"]
    faults = []
    if (report["memory"] == "unknown") != (container.memory is None):
        faults.append(f"doctor says that the memory is {report['memory']}")
    if (report["quota"] == "unknown") != (container.quota is None):
        faults.append(f"doctor says that the quota is {report['quota']}")
    return faults


def run_containers(programs):
    """Returns how many roots were tried, how many were wrong, and why none could be tried."""
    tried = wrong = 0
    libraries = [file for program in programs for file in libraries_of(program)]
    for container in CONTAINERS:
        with tempfile.TemporaryDirectory(prefix="container-") as name:
            folder = pathlib.Path(name)
            furnish(folder, container, programs, libraries)
            if tried == 0 and (reason := why_not(folder)):
                return 0, 0, reason
            done = enter(folder, container, "/container_program")
            faults = faults_of(container, done.stdout, done.returncode)
            if container.memory is None:
                faults += faults_of_doctor(container, enter(folder, container, "/openaclnn", "doctor", "--json").stdout)
        for fault in faults:
            print(f"   {container.name}: {fault}")
        tried, wrong = tried + 1, wrong + bool(faults)
    return tried, wrong, ""


def run(workshop):
    workshop.build("release", "machine_limits_test", "container_program", "openaclnn_cli")
    tested = workshop.run([workshop.program("release", "machine_limits_test")], seconds=120, accept=(0, 1))
    if tested.status:
        print(tested.text[-4000:])
    trees = int(tested.figures().get("trees", 0))
    programs = [workshop.program("release", name) for name in ("container_program", "openaclnn")]
    try:
        tried, wrong, reason = run_containers(programs)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise Failure(f"the containers cannot be made: {error}") from None
    containers = f"no containers: {reason}" if reason else f"{tried} containers, {wrong} wrong"
    met = tested.status == 0 and trees >= 70 and wrong == 0 and (bool(reason) or tried >= 7)
    return Result(f"{trees} trees, {'none wrong' if tested.status == 0 else 'some wrong'}; {containers}", met)
