# Tests of the layer siblings: the gaps that it must notice, on made-up lists, and that it can read the lists of the tree.
import importlib
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "check"))
siblings = importlib.import_module("layers.siblings")
sys.path.insert(0, str(ROOT / "tools"))
rooms = importlib.import_module("rooms")

OPERATORS = [*sorted(siblings.FOUR), "ApplyAdamW"]


class Judge(unittest.TestCase):
    def test_all_take_part(self):
        self.assertEqual(siblings.judge({"bits": set(OPERATORS)}, OPERATORS, {}), [])

    def test_a_gap_is_a_finding(self):
        self.assertEqual(siblings.judge({"bits": set(siblings.FOUR)}, OPERATORS, {}), ["bits: ApplyAdamW does not take part"])
        self.assertEqual(siblings.judge({"bits": {"NsaCompressGrad", "ApplyAdamW"}}, OPERATORS, {})[0],
                         "bits: ApplyFusedEmaAdam does not take part")

    def test_a_reason_closes_a_gap_and_must_not_outlive_it(self):
        reasons = {("bits", "ApplyAdamW"): "made up"}
        self.assertEqual(siblings.judge({"bits": set(siblings.FOUR)}, OPERATORS, reasons), [])
        self.assertEqual(siblings.judge({"bits": set(OPERATORS)}, OPERATORS, reasons), ["bits: ApplyAdamW takes part, so its reason must go"])

    def test_a_list_that_was_not_understood_is_a_finding(self):
        for nothing in (set(), {"ApplyAdamW"}):
            self.assertIn("not understood", siblings.judge({"bits": nothing}, OPERATORS, {})[0])


class Lists(unittest.TestCase):
    def test_the_tree_has_operators_with_rooms(self):
        operators = siblings.read_rooms(ROOT)
        self.assertLessEqual(siblings.FOUR, set(operators.values()))
        self.assertEqual(set(operators), set(rooms.rooms(ROOT)))

    def test_versions_belong_to_their_operator(self):
        self.assertEqual(siblings.operators_among({"ApplyAdamWV2", "Other"}, OPERATORS), {"ApplyAdamW"})

    def test_reasons_name_kinds_and_operators_that_exist(self):
        kinds = {proof.name for proof in siblings.PROOFS}
        self.assertEqual(len(kinds), len(siblings.PROOFS))
        for kind, name in siblings.REASONS:
            self.assertIn(kind, kinds)
            self.assertIn(name, siblings.read_rooms(ROOT).values())


if __name__ == "__main__":
    unittest.main()
