# python -m openaclnn.compat: runs a program that is written for torch_npu, MindSpeed or pyACL without a change.
"""usage: python -m openaclnn.compat SCRIPT [arguments]
       python -m openaclnn.compat -m MODULE [arguments]

Runs a program whose torch_npu, mindspeed and acl are those of this package.
Real packages that are installed take precedence; a line on stderr names them.
With several processes: torchrun [options] -m openaclnn.compat SCRIPT."""
import importlib
import importlib.util
import os
import runpy
import sys

SCRIPT = "_OPENACLNN_COMPAT_SCRIPT"  # the variable that names the script for spawned processes


def stand_in() -> None:
    """Imports the stand-ins. A real package that is installed is named on stderr, and the program uses that one."""
    has_torch = importlib.util.find_spec("torch") is not None
    for name in ("torch_npu", "mindspeed", "acl") if has_torch else ("acl",):
        is_real = name not in sys.modules and importlib.util.find_spec(name) is not None
        importlib.import_module(f"openaclnn.compat.{name}")
        if is_real:
            print(f"openaclnn.compat: {name} is installed and takes precedence", file=sys.stderr)


def main() -> None:
    """Runs the program that the command line names."""
    arguments = sys.argv[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return
    if not arguments or arguments == ["-m"]:
        raise SystemExit(f"{__doc__}\n\npython -m openaclnn.compat: a script, or -m and a module, is needed")
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        stand_in()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    if not os.path.isfile(arguments[0]):
        raise SystemExit(f"python -m openaclnn.compat: SCRIPT is {arguments[0]}, which is not a file")
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    os.environ[SCRIPT] = os.path.abspath(arguments[0])
    runpy.run_module("openaclnn.compat._program", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
