"""The same bits for every instruction set of this machine and every number of threads."""
from workshop import Result

GOAL = "1 distinct hash per case"
FAST = True


def run(workshop):
    workshop.build("release", "bits_test")
    workshop.run([workshop.program("release", "bits_test")], seconds=300)
    return Result("1 distinct hash per case", met=True)
