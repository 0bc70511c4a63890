"""The tables of msprobe's acc_check for pairs, and what `msprobe api_precision_compare` says of them."""

import csv
import pathlib
import subprocess
import sys

import torch
from msprobe.pytorch.api_accuracy_checker.compare import algorithm
from msprobe.pytorch.api_accuracy_checker.compare.compare import Comparator, CompareColumn
from msprobe.pytorch.api_accuracy_checker.compare.compare_input import CompareInput

import msprobe_dumps


def golden_of(pair):
    """msprobe raises goldens of 16-bit outputs to FLOAT, and of FLOAT to DOUBLE."""
    return torch.tensor(pair.golden.elements).to(torch.float64 if pair.device.dtype == "FLOAT" else torch.float32)


def comparator(folder):
    return Comparator(f"{folder}/result.csv", f"{folder}/details.csv", False, config=None)


RULES = {"ulp": Comparator._ulp_compare, "absolute": Comparator._absolute_standard_compare, "accumulative": Comparator._accumulative_error_compare,
         "thousandth": Comparator._thousandth_standard_compare}


def metrics(pair):
    """Returns {rule: the metrics of msprobe's detail rules, by the names of its columns}."""
    device = msprobe_dumps.tensor_of(pair.device)
    golden, values = golden_of(pair).numpy(), (device.float() if pair.device.dtype == "BF16" else device).numpy()
    denominators = algorithm.get_abs_bench_with_eps(golden, device.dtype)[1]
    errors = algorithm.get_rel_err_origin(algorithm.get_abs_err(golden, values), denominators)
    columns = {}
    for rule, measure in RULES.items():
        columns[rule] = CompareColumn()
        measure(CompareInput(golden, values, columns[rule], device.dtype, errors))
    return columns


def write_details(path, pairs, devices, folder):
    compare = comparator(folder)
    with open(f"{folder}/details.csv", encoding="utf-8-sig", newline="") as empty:
        rows = [next(csv.reader(empty))]
    for number, (pair, device) in enumerate(zip(pairs, devices)):
        _, details = compare._compare_core_wrapper(pair.settings["api"], golden_of(pair), msprobe_dumps.tensor_of(device), False)
        rows.append([f"Torch.{pair.settings['api']}.{number}.forward.output.0", *details[0]])
    with open(path, "w", encoding="utf-8-sig", newline="") as table:
        csv.writer(table).writerows(rows)


def compared(pairs, folder):
    """Returns a row for each pair, which has a third result and an API."""
    folder = pathlib.Path(folder)
    write_details(folder / "npu.csv", pairs, [pair.device for pair in pairs], folder)
    write_details(folder / "gpu.csv", pairs, [pair.third for pair in pairs], folder)
    program = pathlib.Path(sys.executable).parent / "msprobe"
    done = subprocess.run([program, "api_precision_compare", "-npu", folder / "npu.csv", "-gpu", folder / "gpu.csv", "-o", folder / "out"],
                          capture_output=True, text=True)
    tables = list((folder / "out").glob("api_precision_compare_details_*.csv"))
    if done.returncode or len(tables) != 1:
        sys.exit(f"msprobe api_precision_compare fails:\n{done.stdout}{done.stderr}")
    with open(tables[0], encoding="utf-8-sig", newline="") as table:
        return list(csv.DictReader(table))
