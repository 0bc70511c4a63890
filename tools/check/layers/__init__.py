"""The layers of ./dev check in their order. One file each: a first line that says what it proves, GOAL, FAST, run(workshop)."""
NAMES = [
    "handles",
    "bits",
    "numerics",
    "conversions",
    "coverage",
    "planted",
]
