"""Programs that were compiled and linked before keep working: symbols, types and headers are unchanged.

Every header compiles alone in six language modes. The library exports exactly the golden symbols. The binary interface of the headers is that of
tests/abi/libopenaclnn.abi (abidiff). C11 and C++11 programs link and run. tools/tests/test_abi.py also runs here: it plants nine changes, eight of
which would break programs, and expects each to be found.
"""
import re
import sys

from workshop import Failure, Result

GOAL = "0 differences: symbols, types, headers alone; 9 planted changes are seen"
FAST = True
PROGRAMS = ("c11_program", "cpp11_program", "door_test")


def run(workshop):
    workshop.setup("check")
    library = workshop.build("release", "openaclnn", *PROGRAMS) / "lib" / "libopenaclnn.so"
    here = workshop.root / "tests" / "abi"
    include = workshop.root / "include"
    symbols = workshop.run(["sh", here / "check_symbols.sh", library, include], seconds=60).text
    headers = workshop.run(["sh", here / "check_headers.sh", include], seconds=120).text
    interface = workshop.run([sys.executable, workshop.root / "tools" / "check_abi"], seconds=60, accept=(0, 1))
    for program in PROGRAMS:
        workshop.run([workshop.program("release", program)], seconds=60)
    planted = workshop.run([sys.executable, "-B", workshop.root / "tools" / "tests" / "test_abi.py"], seconds=120).text
    if "skipped" in planted:
        raise Failure("the test of tools/check_abi was skipped")
    figures = interface.figures()
    if figures["status"]:
        print(interface.text)
    count = int(re.search(r"exports the (\d+) golden", symbols).group(1))
    alone = int(re.search(r"(\d+) headers are fine", headers).group(1))
    met = figures["status"] == 0 and figures["functions"] >= 122 and count >= 125
    difference = "no difference" if figures["status"] == 0 else "DIFFERENCES"
    return Result(f"{difference} in {figures['functions']:.0f} functions, {count} symbols; {alone} headers alone; planted changes seen", met)
