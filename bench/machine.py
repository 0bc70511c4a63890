# Names the machine, the library and the time, without which figures mean nothing.
import datetime
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def cpu_field(*names):
    """Returns the first of these fields of /proc/cpuinfo, or an empty text."""
    for line in read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in names:
            return value.strip()
    return ""


def cores():
    """Returns how many CPUs this process may use."""
    return len(os.sched_getaffinity(0))


def instruction_sets():
    """Returns the instruction sets that the library can use here, best first. The conditions are those of src/base/instruction_sets.cc."""
    flags = set(cpu_field("flags").split())
    found = []
    if {"avx512f", "avx512vl", "avx512dq", "avx512bw", "avx512cd"} <= flags:
        found.append("avx512")
    if {"avx2", "f16c"} <= flags:
        found.append("avx2")
    return found + (["neon"] if platform.machine() == "aarch64" else ["scalar"])


def caches():
    """Level and size of the first CPU's caches for data, such as ['L1d 48 KiB']."""
    found = []
    for folder in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = (read(folder / name) for name in ("type", "level", "size"))
        if kind != "Instruction" and level:
            size = re.sub(r"^(\d+)K$", lambda m: cache_size(int(m.group(1))), size)
            found.append(f"L{level}{'d' if kind == 'Data' else ''} {size}")
    return found


def cache_size(kib):
    return f"{kib // 1024} MiB" if kib % 1024 == 0 and kib else f"{kib} KiB"


def cpu_model():
    model = cpu_field("model name", "Model") or platform.processor() or platform.machine()
    family = cpu_field("cpu family")
    # Virtual machines often hide the model's name; family and model still identify the generation.
    return f"{model} (family {family} model {cpu_field('model')})" if family else model


def library_version():
    """Returns the version of CMakeLists.txt and, in a clone, the commit; '+' marks a changed working tree."""
    match = re.search(r"project\(openaclnn VERSION ([\d.]+)", read(ROOT / "CMakeLists.txt"))
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--abbrev=8"]
    try:
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = ""
    return " ".join(part for part in (match.group(1) if match else "", commit) if part)


def describe():
    """The header of a report, as plain data."""
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "library": library_version(),
        "cpu": cpu_model(),
        "cores": cores(),
        "caches": caches(),
        "kernel": f"{platform.system()} {platform.release()}",
    }


def header_lines(machine):
    """The header of a report, as text."""
    lines = [
        f"openaclnn {machine['library']}, {machine['date']}",
        f"{machine['cpu']}, {machine['cores']} cores, {', '.join(machine['caches'])}, {machine['kernel']}",
    ]
    if machine.get("peers"):
        lines.append(f"peers: {machine['peers']}")
    lines += [machine["quiet"]] if "quiet" in machine else []
    lines += machine.get("regimes", [])
    # Other programs were running: ratios of long calls are still valid, times hardly.
    if machine.get("disturbed", 0) > 0.1:
        lines.append(f"note: other programs held the cores in {machine['disturbed']:.0%} of the measurements")
    return lines
