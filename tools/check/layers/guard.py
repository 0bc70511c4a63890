"""No operator touches a byte beside its tensors, and the guard allocator detects every byte that a program accesses there.

Runs guard_test: one byte behind and before a block, use after free, and double frees, for every kind and size of block. Then runs the cases of all
rooms, their layouts and the random properties, with OPENACLNN_ALLOCATOR=guard and all memory of the tests from aclrtMalloc
(OPENACLNN_TEST_PLACEMENT=library). A program fails if it asked for the guard allocator and did not get it.
"""
from workshop import Result

GOAL = "0 accesses outside in at least 30,000 guarded blocks (--fast: 10,000)"
FAST = True


def run(workshop):
    workshop.build("release", "guard_test", "cases_test", "layouts_test", "properties")
    workshop.run([workshop.program("release", "guard_test")], seconds=120)
    guarded = {"OPENACLNN_ALLOCATOR": "guard", "OPENACLNN_TEST_PLACEMENT": "library"}
    cases, layouts = workshop.pick(("*FollowTheFormula*", "*Bits*/Embedding"), ("*", "*"), ("*", "*"))
    runs = [(["cases_test", f"--gtest_filter={cases}"], guarded),
            (["layouts_test", f"--gtest_filter={layouts}"], guarded),
            (["properties", "--seed", "77", "--cases", workshop.pick(10, 100, 1000)], guarded)]
    blocks = 0
    for (name, *arguments), environment in runs:
        output = workshop.run([workshop.program("release", name), *arguments], seconds=600, env=environment)
        made = int(output.figures().get("blocks", 0))
        if made == 0:
            return Result(f"{name} used no guarded block", met=False)
        blocks += made
    return Result(f"0 accesses outside {blocks} guarded blocks", blocks >= workshop.pick(10000, 30000, 30000))
