"""The layers of ./dev check in their order. One file each: a first line that says what it proves, GOAL, FAST, run(workshop)."""
NAMES = [
    "negative",
    "handles",
    "fuzz",
    "failures",
    "concurrency",
    "guard",
    "properties",
    "bits",
    "bits_arm64",
    "numerics",
    "conversions",
    "soak",
    "abi",
    "hardening",
    "reproducible",
]
