# The main module of a script that `python -m openaclnn.compat` runs, in its process and in those that it spawns.
"""As the main module, this file executes the script that openaclnn.compat.__main__ noted, in its own namespace.

Python's multiprocessing imports the main module again in each process that it spawns, as __mp_main__. The main module is
therefore this file: it makes the stand-ins available there before the script is executed. Spawned processes inherit variables,
but not the first argument, so a variable has the name of the script.
"""
import os
import sys

from openaclnn.compat.__main__ import SCRIPT, stand_in

if __name__ in ("__main__", "__mp_main__"):
    stand_in()
    __file__ = sys.argv[0] = os.environ[SCRIPT]
    with open(__file__, "rb") as _script:
        _code = compile(_script.read(), __file__, "exec")
    exec(_code, globals())
