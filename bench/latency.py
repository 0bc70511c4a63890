# The latency of a tiny call beside other work of its process: runs openaclnn_latency and judges its figures.
"""Every row of the table is one kind of work; bench/latency/ makes the measurement. The goal is about frees of gigabytes."""
import pathlib
import re
import subprocess

MOST_BEYOND_IDLE_US = 200  # of frees, in the quietest round: other programs of the machine don't count
FIGURE = re.compile(r"^figure (\w+) (-?[0-9.]+)$", re.M)


def program_beside(library):
    """Returns the program of the build that `library` belongs to."""
    return pathlib.Path(library).resolve().parent.parent / "bin" / "openaclnn_latency"


def require(program):
    """Raises ValueError if the program is not built. It runs last, and without it a whole run would be lost."""
    if not program.is_file():
        raise ValueError(f"{program} is not built: use ./dev bench, or build target openaclnn_latency")


def measure(program):
    """Returns the lines of the table, and the figures by name. Raises OSError or ValueError if there are none."""
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    figures = {name: float(value) for name, value in FIGURE.findall(done.stdout)}
    if done.returncode or "frees_us" not in figures:
        raise ValueError(f"{program} gave no latencies: {done.stderr.strip() or done.stdout.strip()}")
    return [line for line in done.stdout.splitlines() if not line.startswith("figure ")], figures


def judge(figures):
    """Returns a line about the goal, and whether it was met."""
    beyond = max(figures["frees_quietest_beyond_idle_us"], figures["small_pages_quietest_beyond_idle_us"])
    met = beyond <= MOST_BEYOND_IDLE_US
    return (f"free while computing: 99.9 % of tiny calls take at most {max(beyond, 0):.0f} us longer than idle while another thread frees "
            f"{figures['freed_mib']:.0f} MiB, goal <= {MOST_BEYOND_IDLE_US} us: {'met' if met else 'missed'}"), met


def report(program):
    """Returns the lines of table and goal, and whether the goal was met."""
    lines, figures = measure(program)
    line, met = judge(figures)
    return ["", *lines, line], met
