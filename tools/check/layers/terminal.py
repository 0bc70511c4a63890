"""Every command of the program survives streams that are closed, full or ended, and terminals that are narrow or without UTF-8.

tests/cli/terminal_matrix.py runs each command that `openaclnn --help` names with valid arguments, with --help and with wrong ones, under each
condition. It compares exit code, output and files with a run under none. A command without a row there is a finding.
"""
from workshop import Result

GOAL = "0 findings in at least 350 cells of command and condition"
FAST = True


def run(workshop):
    workshop.build("release", "openaclnn_cli", "openaclnn-train")
    output = workshop.run(["python3", "tests/cli/terminal_matrix.py", workshop.program("release", "openaclnn")], seconds=600, accept=(0, 1))
    if output.status:
        print(output.text[-6000:])
    figures = {name: int(value) for name, value in output.figures().items()}
    cells, findings = figures.get("cells", 0), figures.get("findings", -1)
    met = output.status == 0 and findings == 0 and cells >= 350
    return Result(f"{findings} findings in {cells} cells, {figures.get('commands', 0)} commands, {figures.get('conditions', 0)} conditions", met)
