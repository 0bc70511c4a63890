"""Every operator has the same kinds of tests as the first four operators.

For each kind (negative tables, handle doors, fuzz targets, failure scenarios, guarded cases, properties, hashes, numerics, injected bugs, soak,
peers' crashes, large tensors, command line, bench) the programs themselves tell which operators take part: by their lists of tests, the functions
that they import, or the cases that they print. An operator of src/ops/ops.def that is missing where one of the four takes part is a gap, unless
REASONS says why. A reason that is not needed any more is also a finding.
"""
import json
import re
import sys
from dataclasses import dataclass
from typing import Callable

from golden import golden_hashes
from layers.planted import read_bugs
from workshop import Result

GOAL = "0 gaps in at least 15 kinds of proof x 9 operators"
FAST = True
FOUR = {"ApplyFusedEmaAdam", "EmbeddingDenseBackward", "GroupedBiasAddGrad", "NsaCompressGrad"}
_NOT_STREAMED = "its kernel writes through the caches, there is nothing to stream"
REASONS = {
    ("streams", "ApplyAdamW"): _NOT_STREAMED,
    ("streams", "ApplyFusedEmaAdam"): _NOT_STREAMED,
    ("streams", "ApplyFusedEmaAdamList"): _NOT_STREAMED,
    ("streams", "NsaCompress"): _NOT_STREAMED,
    ("streams", "NsaCompressWithCache"): _NOT_STREAMED,
}


@dataclass(frozen=True)
class Proof:
    name: str
    programs: tuple  # targets of the release build
    find: Callable  # Source -> the names of operators or functions that it has


class Source:
    """The lists that a build's programs print or import."""

    def __init__(self, workshop, rooms):
        self.workshop, self.rooms = workshop, rooms  # rooms: folder -> operator

    def output(self, *command):
        return self.workshop.run(list(command), seconds=120).text

    def program(self, name):
        return self.workshop.program("release", name)

    def imports(self, program):
        """Returns the functions of phase 1 that a program calls."""
        symbols = self.output("nm", "-D", "--undefined-only", self.program(program))
        return set(re.findall(r"\b(?:open)?aclnn([A-Z]\w*)GetWorkspaceSize\b", symbols))

    def tests(self, program, pattern):
        """Returns what the pattern's groups match in the list of tests, as "Suite.Test"."""
        suite, found = "", set()
        for line in self.output(self.program(program), "--gtest_list_tests").splitlines():
            if not line.startswith(" "):
                suite = line.strip()
            elif match := re.fullmatch(pattern, suite + line.split("#")[0].strip()):
                found.add(match.group(1))
        return found

    def parameters(self, program, test):
        """Returns the operators that a parametrised test runs with."""
        return self.tests(program, rf"\w+/{test}/(\w+)")

    def rooms_with(self, pattern):
        """Returns the operators whose own test program has a test of this name."""
        return {name for room, name in self.rooms.items() if self.tests(f"{room}_test", f"({pattern})")}

    def planted(self):
        """Returns the operators whose tests must notice an injected bug."""
        found = set()
        for _, _, command in read_bugs(self.workshop.root):
            found |= {name for room, name in self.rooms.items() if command.program in (f"{room}_test", f"{room}_internals_test")}
            found |= {name for name in self.rooms.values() if re.search(rf"/{name}$", command.tests)}
        return found

    def hashed(self):
        """Returns the operators of the golden hashes. bits_test requires them to be exactly those of its cases."""
        return {name.split(" ", 1)[0] for name in golden_hashes(self.workshop.root)}

    def on_cuda(self):
        operators = json.loads(self.output(self.program("openaclnn"), "ops", "--json"))
        return {operator["name"].partition("nn")[2] for operator in operators if any(device.startswith("CUDA") for device in operator["devices"])}


PROOFS = [
    Proof("negative", ("negative_test",), lambda s: s.imports("negative_test")),
    Proof("phase 1 in pairs", (), lambda s: s.rooms_with(r"(?:\w+/)*\w*Phase1(?:Refusals)?\.TheFirstOfTwoMistakesDecides.*")),
    Proof("phase 2 in pairs", (), lambda s: s.rooms_with(r"(?:\w+/)*\w*Phase2(?:Refusals)?\.TheFirstOfTwoMistakesDecides.*")),
    Proof("handles", ("handles_test",), lambda s: s.imports("handles_test")),
    Proof("fuzz arguments", ("fuzz_arguments",), lambda s: s.imports("fuzz_arguments")),
    Proof("fuzz operators", ("fuzz_operators",), lambda s: s.imports("fuzz_operators")),
    Proof("failures", ("failures",), lambda s: s.imports("failures")),
    Proof("guard", ("cases_test",), lambda s: s.parameters("cases_test", r"Cases\.FollowTheFormulaBetweenGuardPages")),
    # It goes through the cases of every operator and prints the operator whose stack it measures.
    Proof("small stacks", ("small_stacks_test",),
          lambda s: set(re.findall(r"^([A-Z]\w+)$", s.output(s.program("small_stacks_test"), "--gtest_filter=*RunsAllKernels"), re.M))),
    Proof("layouts", ("layouts_test",), lambda s: s.parameters("layouts_test", r"Layouts\.GiveTheBitsOfContiguousTensors")),
    Proof("properties", ("properties",),
          lambda s: set(re.findall(r"^[0-9a-f]{16} \d (\w+)", s.output(s.program("properties"), "--seed", "1", "--hashes", "30"), re.M))),
    Proof("relations", ("metamorphic_test",), lambda s: s.imports("metamorphic_test")),
    Proof("bits", ("bits_test",), Source.hashed),  # also those of Arm
    Proof("CUDA", ("openaclnn_cli",), Source.on_cuda),
    Proof("numerics", ("numerics_test",), lambda s: s.parameters("numerics_test", r"Numerics\.KeepThePromise")),
    Proof("large", ("large_test",), lambda s: s.imports("large_test")),
    Proof("streams", ("streams_test",), lambda s: s.imports("streams_test")),
    Proof("planted", (), Source.planted),
    Proof("soak", ("soak",), lambda s: s.imports("soak")),  # four threads, also under ThreadSanitizer
    Proof("peers", ("peers_crashes_test",), lambda s: s.imports("peers_crashes_test")),
    Proof("command line", ("openaclnn_cli",),
          lambda s: set(re.findall(r"^  ([A-Z]\w+)\b", s.output(s.program("openaclnn"), "run", "--help"), re.M))),
    Proof("bench", ("openaclnn_bench",),
          lambda s: set(re.findall(r"^(\w+)/", s.output(sys.executable, "bench/bench.py", "--list"), re.M))),
]


def read_rooms(root):
    """Returns {room: operator} of src/ops/ops.def."""
    text = (root / "src/ops/ops.def").read_text()
    return dict(re.findall(r"^OPENACLNN_OPERATOR\((\w+), (\w+)\)", text, re.M))


def operators_among(names, operators):
    """Returns the operators that functions belong to. Version 2 of a function belongs to the same operator."""
    return {re.sub(r"V\d$", "", name) for name in names} & set(operators)


def judge(taking_part, operators, reasons):
    """Returns error messages about gaps. taking_part: kind of proof -> the operators that have it."""
    findings = []
    for kind, present in taking_part.items():
        if not present & FOUR:
            findings.append(f"{kind}: none of the four operators takes part; its list was not understood")
            continue
        findings += [f"{kind}: {name} does not take part" for name in sorted(set(operators) - present) if (kind, name) not in reasons]
    for kind, name in reasons:
        if name in taking_part.get(kind, set()):
            findings.append(f"{kind}: {name} takes part, so its reason must go")
    return findings


def run(workshop):
    rooms = read_rooms(workshop.root)
    targets = {target for proof in PROOFS for target in proof.programs}
    workshop.build("release", *sorted(targets | {f"{room}_test" for room in rooms}))
    source = Source(workshop, rooms)
    taking_part = {proof.name: operators_among(proof.find(source), rooms.values()) for proof in PROOFS}
    findings = judge(taking_part, rooms.values(), REASONS)
    for finding in findings:
        print(f"   GAP {finding}")
    for (kind, name), reason in REASONS.items():
        print(f"   {kind}: {name}: {reason}")
    places = len(PROOFS) * len(rooms)
    figure = f"{len(findings)} gaps in {len(PROOFS)} kinds x {len(rooms)} operators ({places} places, {len(REASONS)} with a reason)"
    return Result(figure, met=not findings and len(PROOFS) >= 15 and len(rooms) >= 9)
