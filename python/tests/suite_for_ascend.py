# A test suite in the shape of those written for torch_npu and MindSpeed; test_compat_suite.py runs it in a process of its own.
"""Below the first import everything is written as for an NPU: classes from torch_npu.testing, tensors on "npu"."""
import openaclnn.compat.mindspeed
import copy
import warnings

import numpy as np
import torch
import torch_npu
from mindspeed.ops.npu_apply_fused_ema_adamw import npu_apply_fused_ema_adamw
from mindspeed.optimizer.ema_adamw import FusedEmaAdamW, fused_ema_adamw
from torch_npu.testing.common_utils import SupportedDevices, create_common_tensor, get_npu_device
from torch_npu.testing.testcase import TestCase, run_tests


class Golden:
    """The optimizer in NumPy, with float64."""

    def __init__(self, values, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, ema_decay=0.9999, mode=1,
                 bias_correction=True, use_num_updates=True):
        self.var = [np.array(value, np.float64) for value in values]
        self.m, self.v = ([np.zeros_like(value) for value in self.var] for _ in range(2))
        self.s = [value.copy() for value in self.var]
        self.numbers = lr, *betas, eps, weight_decay
        self.ema_decay, self.mode, self.bias_correction, self.warms_up = ema_decay, mode, bias_correction, use_num_updates
        self.step_count = 0

    def step(self, grads):
        self.step_count += 1
        lr, beta1, beta2, eps, weight_decay = self.numbers
        corrections = [1 - beta ** self.step_count if self.bias_correction else 1 for beta in (beta1, beta2)]
        decay = min(self.ema_decay, (1 + self.step_count) / (10 + self.step_count)) if self.warms_up else self.ema_decay
        for n, grad in enumerate(np.array(grad, np.float64) for grad in grads):
            grad = grad + (1 - self.mode) * weight_decay * self.var[n]
            self.m[n] = beta1 * self.m[n] + (1 - beta1) * grad
            self.v[n] = beta2 * self.v[n] + (1 - beta2) * grad ** 2
            update = self.m[n] / corrections[0] / (np.sqrt(self.v[n] / corrections[1]) + eps)
            self.var[n] = self.var[n] - lr * (update + self.mode * weight_decay * self.var[n])
            self.s[n] = decay * self.s[n] + (1 - decay) * self.var[n]


def parameters_on_npu():
    torch.manual_seed(3)
    return [torch.nn.Parameter(torch.randn(shape).npu()) for shape in ((4, 3), (5,), ())]


def gradients(step):
    return [torch.randn(shape, generator=torch.Generator().manual_seed(10 * step + n)) for n, shape in
            enumerate(((4, 3), (5,), ()))]


class TestFusedEmaAdamW(TestCase):
    def train(self, optimizer, parameters, first, last, golden=None):
        for step in range(first, last):
            for parameter, grad in zip(parameters, gradients(step)):
                parameter.grad = grad.npu()
            optimizer.step()
            if golden is not None:
                golden.step(gradients(step))

    def require_golden(self, optimizer, parameters, golden):
        for parameter, var, m, v, s in zip(parameters, golden.var, golden.m, golden.v, golden.s):
            state = optimizer.state[parameter]
            for got, want in ((parameter, var), (state["exp_avg"], m), (state["exp_avg_sq"], v), (state["ema_params"], s)):
                self.assertRtolEqual(got.detach().cpu(), torch.tensor(want), auto_trans_dtype=True)

    def test_steps_follow_the_formula(self):
        for options in ({}, {"adam_w_mode": False, "weight_decay": 0.3}, {"bias_correction": False}, {"use_num_updates": False},
                        {"lr": 0.1, "eps": 1e-3, "betas": (0.5, 0.8), "weight_decay": 0.0, "ema_decay": 0.3}):
            parameters = parameters_on_npu()
            golden_options = {**options, "mode": int(options.get("adam_w_mode", True))}
            golden_options.pop("adam_w_mode", None)
            golden = Golden([parameter.detach().cpu().numpy() for parameter in parameters], **golden_options)
            optimizer = FusedEmaAdamW(parameters, **options)
            self.train(optimizer, parameters, 0, 5, golden)
            self.require_golden(optimizer, parameters, golden)

    def test_arguments_have_their_order(self):
        optimizer = FusedEmaAdamW(parameters_on_npu(), 0.1, 1e-6, (0.5, 0.6), 0.2, 0.7, False)
        group = optimizer.param_groups[0]
        self.assertEqual([group[name] for name in ("lr", "eps", "betas", "weight_decay", "ema_decay")],
                         [0.1, 1e-6, (0.5, 0.6), 0.2, 0.7])

    def test_amsgrad_and_maximize_raise(self):
        for option in ("amsgrad", "maximize"):
            with self.assertRaisesRegex(RuntimeError, option):
                FusedEmaAdamW(parameters_on_npu(), **{option: True})
            optimizer = FusedEmaAdamW(parameters_on_npu())
            with self.assertRaisesRegex(RuntimeError, option):
                optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))], option: True})
            self.assertEqual(len(optimizer.param_groups), 1)
            state = copy.deepcopy(optimizer.state_dict())
            state["param_groups"][0][option] = True
            with self.assertRaisesRegex(RuntimeError, option):
                optimizer.load_state_dict(state)
            self.assertFalse(optimizer.param_groups[0][option])
            with self.assertRaisesRegex(RuntimeError, option):
                fused_ema_adamw([], [], [], [], [], 1, **{option: True})

    def test_the_decay_of_the_averages_can_change(self):
        parameters = parameters_on_npu()
        optimizer = FusedEmaAdamW(parameters, ema_decay=0.9, use_num_updates=False)
        self.assertEqual(optimizer.ema_decay, 0.9)
        optimizer.ema_decay = 0.0
        self.train(optimizer, parameters, 0, 1)
        for parameter in parameters:
            self.assertEqual(optimizer.state[parameter]["ema_params"], parameter, 0)
        optimizer.ema_decay = 1
        kept = [parameter.detach().clone() for parameter in parameters]
        self.train(optimizer, parameters, 1, 2)
        for parameter, value in zip(parameters, kept):
            self.assertEqual(optimizer.state[parameter]["ema_params"], value, 0)
        for wrong in (-0.1, 1.5):
            with self.assertRaisesRegex(ValueError, "ema_decay"):
                optimizer.ema_decay = wrong
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
        self.assertEqual(optimizer.param_groups[1]["ema_decay"], 1)

    def test_the_number_of_updates_can_be_read_and_set(self):
        parameters = parameters_on_npu()
        optimizer = FusedEmaAdamW(parameters)
        self.assertEqual(optimizer.num_updates, 0)
        self.train(optimizer, parameters, 0, 3)
        self.assertEqual(optimizer.num_updates, 3)
        with self.assertRaisesRegex(ValueError, "num_updates is -11; it must be at least 0"):
            optimizer.num_updates = -11
        optimizer.num_updates = 10 ** 6  # the warm-up is over: the decay is 0.9999
        before = [optimizer.state[parameter]["ema_params"].clone() for parameter in parameters]
        self.train(optimizer, parameters, 3, 4)
        for parameter, average in zip(parameters, before):
            expected = 0.9999 * average.double() + 0.0001 * parameter.detach().double()
            self.assertRtolEqual(optimizer.state[parameter]["ema_params"].double(), expected, 1e-6)

    def test_the_mode_can_change(self):
        found = []
        for chosen, changed in ((False, None), (True, False), (True, None)):
            parameters = parameters_on_npu()
            optimizer = FusedEmaAdamW(parameters, weight_decay=0.5, adam_w_mode=chosen)
            self.assertEqual(optimizer.adam_w_mode, chosen)
            if changed is not None:
                optimizer.adam_w_mode = changed
            self.train(optimizer, parameters, 0, 1)
            found.append(parameters[0].detach().clone())
        self.assertEqual(found[0], found[1], 0)
        self.assertFalse(torch.equal(found[0], found[2]))
        self.assertFalse(copy.deepcopy(FusedEmaAdamW(parameters_on_npu(), adam_w_mode=False)).adam_w_mode)

    def test_a_group_can_be_added_after_the_mode_changed(self):
        found = []
        for first, changed in ((True, False), (False, True), (False, None), (True, None)):
            parameters = parameters_on_npu()
            optimizer = FusedEmaAdamW(parameters[:1], weight_decay=0.5, adam_w_mode=first)
            mode = first if changed is None else changed
            if changed is not None:
                optimizer.adam_w_mode = changed
            optimizer.add_param_group({"params": parameters[1:]})
            self.assertEqual([group["decoupled_weight_decay"] for group in optimizer.param_groups], [mode, mode])
            optimizer.load_state_dict(optimizer.state_dict())
            self.train(optimizer, parameters, 0, 1)
            found.append([parameter.detach().clone() for parameter in parameters])
        for changed, expected in ((0, 2), (1, 3)):
            for one, other in zip(found[changed], found[expected]):
                self.assertEqual(one, other, 0)
        self.assertFalse(torch.equal(found[0][1], found[1][1]))

    def test_a_closure_and_zero_grad(self):
        parameter = torch.nn.Parameter(torch.ones(3).npu())
        for set_grad_none in (True, False):
            optimizer = FusedEmaAdamW([parameter], set_grad_none=set_grad_none)

            def closure(optimizer=optimizer):
                optimizer.zero_grad()
                loss = parameter.square().sum()
                loss.backward()
                return loss

            self.assertEqual(float(optimizer.step(closure)), 3.0, 0.1)
            optimizer.zero_grad()
            self.assertEqual(parameter.grad is None, set_grad_none)

    def test_groups_have_their_own_options(self):
        first, second = parameters_on_npu()[:2]
        optimizer = FusedEmaAdamW([{"params": [first], "lr": 0.0, "weight_decay": 0.0}, {"params": [second]}], lr=0.1)
        before = first.detach().clone()
        self.train(optimizer, [first, second], 0, 1)
        self.assertEqual(first, before, 0)
        self.assertFalse(torch.equal(second, parameters_on_npu()[1]))

    def test_store_copy_to_restore(self):
        parameters = parameters_on_npu()
        optimizer = FusedEmaAdamW(parameters, lr=0.1, ema_decay=0.9)
        self.train(optimizer, parameters, 0, 3)
        before = [parameter.detach().clone() for parameter in parameters]
        optimizer.store(optimizer.param_groups)
        optimizer.copy_to()
        self.assertEqual([optimizer.state[parameter]["ema_params"] for parameter in parameters], parameters, 0)
        optimizer.restore(optimizer.param_groups)
        self.assertEqual(parameters, before, 0)

    def test_a_loaded_checkpoint_goes_on(self):
        whole = parameters_on_npu()
        optimizer = FusedEmaAdamW(whole, lr=0.1)
        self.train(optimizer, whole, 0, 2)
        saved = copy.deepcopy(optimizer.state_dict())
        parts = [torch.nn.Parameter(parameter.detach().clone()) for parameter in whole]
        other = FusedEmaAdamW(parts, lr=0.5)
        other.load_state_dict(saved)
        self.assertEqual(other.num_updates, 2)
        for each, values in ((optimizer, whole), (other, parts)):
            self.train(each, values, 2, 4)
        self.assertEqual(whole, parts, 0)
        for one, two in zip(whole, parts):
            self.assertEqual(optimizer.state[one]["ema_params"], other.state[two]["ema_params"], 0)

    def test_a_group_with_one_step_loads(self):
        """Checkpoints of the original have the counter in the group."""
        parameters = parameters_on_npu()
        optimizer = FusedEmaAdamW(parameters)
        self.train(optimizer, parameters, 0, 2)
        saved = copy.deepcopy(optimizer.state_dict())
        for state in saved["state"].values():
            del state["step"]
        for group in saved["param_groups"]:
            group["step"] = 2
            del group["ema_updates"]
        other = FusedEmaAdamW(parameters_on_npu())
        other.load_state_dict(saved)
        self.assertEqual(other.num_updates, 2)

    def test_the_function_form_equals_the_class(self):
        parameters, others = parameters_on_npu(), parameters_on_npu()
        optimizer = FusedEmaAdamW(parameters, lr=0.1, ema_decay=0.5, use_num_updates=False)
        zeros = [[torch.zeros_like(parameter) for parameter in others] for _ in range(2)]
        averages = [parameter.detach().clone() for parameter in others]
        for step in range(3):
            self.train(optimizer, parameters, step, step + 1)
            fused_ema_adamw(others, gradients(step), *zeros, averages, step + 1, lr=0.1, ema_decay=0.5)
        self.assertEqual(parameters, others, 0)
        self.assertEqual([optimizer.state[parameter]["ema_params"] for parameter in parameters], averages, 0)
        with self.assertRaisesRegex(RuntimeError, "^fused_ema_adamw: ") as caught:
            fused_ema_adamw(others, [grad.double() for grad in gradients(0)], *zeros, averages, 1)
        self.assertIn("torch.float64", str(caught.exception))

    def test_the_operator_follows_the_formula(self):
        cpu, npu = zip(*(create_common_tensor([np.float32, 2, (7, 5)], low, 1) for low in (-1, -1, -1, 0, -1)))
        grad, var, m, v, s = (tensor.numpy().astype(np.float64) for tensor in cpu)
        result = npu_apply_fused_ema_adamw(*npu, torch.tensor([4]), 0.1, 0.9, 0.8, 0.9, 1e-6, 1, True, 0.2)
        m, v = 0.8 * m + 0.2 * grad, 0.9 * v + 0.1 * grad ** 2
        var = var - 0.1 * (m / (1 - 0.8 ** 4) / (np.sqrt(v / (1 - 0.9 ** 4)) + 1e-6) + 0.2 * var)
        for got, want in zip(result, (var, m, v, 0.9 * s + 0.1 * var)):
            self.assertRtolEqual(got.cpu().numpy(), want.astype(np.float32))


class TestTorchNpu(TestCase):
    def test_tensors_for_tests(self):
        cpu, npu = create_common_tensor([np.float16, -1, [2, 3]], 1, 2)
        self.assertEqual(cpu.dtype, torch.float16)
        self.assertTrue(npu.is_npu and torch.equal(cpu, npu.cpu()) and cpu.data_ptr() != npu.data_ptr())
        self.assertTrue(bool((cpu >= 1).all() and (cpu <= 2).all()))
        cpu, npu = create_common_tensor([np.float32, 29, (2, 2)], 0, 1)
        self.assertEqual([torch_npu.get_npu_format(tensor) for tensor in (cpu, npu)], [2, 29])
        self.assertEqual(cpu, npu.cpu(), 0)
        self.assertEqual(get_npu_device(), self.npu_device)

    def test_random_numbers_are_seeded(self):
        drawn = torch.rand(3)
        self.setUp()
        self.assertEqual(torch.rand(3), drawn, 0)

    @SupportedDevices(["no such device"])
    def test_skipped_on_other_devices(self):
        self.fail("ran on another device")

    @SupportedDevices([torch_npu.npu.get_device_name(0)[:10]])
    def test_runs_on_its_device(self):
        type(self).has_run = True

    def test_zz_the_test_of_this_device_ran(self):
        self.assertTrue(self.has_run)

    def test_comparisons_accept_and_refuse(self):
        one = torch.ones(1000)
        self.assertRtolEqual(one, one + 5e-5)
        self.assertRtolEqual([one, one.numpy()], (one * (1 + 5e-5), one.numpy()))
        few = one.clone()
        few[0] = 5  # a share of the tolerance's size may differ
        self.assertRtolEqual(one, few, prec=1e-3)
        self.assertRtolEqual(torch.tensor([float("nan"), float("inf")]), torch.tensor([float("nan"), float("inf")]))
        self.assertRtolEqual(one.double(), one, auto_trans_dtype=True)
        self.assertRtolEqual(one.bfloat16(), one.bfloat16() + 0.0009)
        for x, y, reason in ((one, one + 1e-3, "result error"), (one, one[1:], "shape error"), (one, one.double(), "dtype error"),
                             (one, few, "result error"), (one, torch.full((1000,), float("nan")), "NaNs"),
                             (one > 0, one < 0, "result error"), (one.bfloat16(), 1.1 * one.bfloat16(), "bfloat16"),
                             (one, one.bfloat16(), "dtype error"), ([one], [one, one], "error")):
            with self.assertRaisesRegex(AssertionError, reason):
                self.assertRtolEqual(x, y)
        with self.assertRaisesRegex(AssertionError, "^said so$"):
            self.assertRtolEqual(one, -one, message="said so")
        self.assertEqual(one, one + 1e-6)
        self.assertEqual({"a": [one, 1]}, {"a": (one, 1 + 1e-7)})
        for x, y in ((one, one + 1e-4), ({"a": 1}, {"b": 1}), ([1, 2], [1]), ("a", "b"), (1, 1.1), (None, 0), (True, False)):
            with self.assertRaises(AssertionError):
                self.assertEqual(x, y)

    def test_other_comparisons(self):
        one = torch.ones(3)
        self.assertNotEqual(one, one + 1e-3)
        self.assertNotEqual(one, torch.ones(2))
        self.assertNotEqual("a", "b")
        self.assertAlmostEqual(one, one + 1e-6)
        self.assertAlmostEqual(1.0, 1.004, places=2)
        self.assertAlmostEqual([one, 2], [one + 0.3, 2], delta=0.5)
        self.assertTensorsSlowEqual(one, one + 1e-6)
        self.assertObjectIn(one, [torch.zeros(1), one])
        self.assertWarns(lambda: warnings.warn("here"))
        self.assertNotWarn(lambda: None)
        with self.assertWarns(UserWarning, msg="nothing"):
            warnings.warn("here")
        self.assertWarns(UserWarning, warnings.warn, "here")
        for wrong in (lambda: self.assertNotEqual(one, one + 1e-6), lambda: self.assertNotEqual(one, one + 0.3, 0.5),
                      lambda: self.assertAlmostEqual(1.0, 1.02, places=2), lambda: self.assertAlmostEqual(one, one + 1e-3),
                      lambda: self.assertTensorsSlowEqual(one, one + 1e-3), lambda: self.assertObjectIn(one, [torch.ones(3)]),
                      lambda: self.assertWarns(lambda: None), lambda: self.assertNotWarn(lambda: warnings.warn("here"))):
            with self.assertRaises(AssertionError):
                wrong()
        with self.assertRaisesRegex(AssertionError, "^said so$"):
            self.assertNotEqual(one, one, message="said so")

    def test_formats(self):
        tensor = torch.ones(2, 3, requires_grad=True)
        self.assertTrue(torch_npu.npu_format_cast(tensor, 2) is tensor)
        self.assertTrue(torch_npu.npu_format_cast(tensor, torch_npu.Format.ND) is tensor)
        self.assertTrue(torch_npu.npu_format_cast(tensor, torch.zeros(1)) is tensor and tensor.npu_format_cast(2) is tensor)
        self.assertEqual(torch_npu.get_npu_format(tensor), torch_npu.Format.ND)
        packed = tensor.npu_format_cast(torch_npu.Format.FRACTAL_NZ)
        self.assertEqual([torch_npu.get_npu_format(one) for one in (packed, tensor)], [29, 2])
        self.assertEqual(packed, tensor, 0)
        with self.assertRaisesRegex(RuntimeError, r"npu_format_cast: acl_format is 77; accepted: -1 \(UNDEFINED\), 0 \(NCHW\)"):
            torch_npu.npu_format_cast(tensor, 77)
        with self.assertRaisesRegex(NotImplementedError, "customize_dtype"):
            torch_npu.npu_format_cast(tensor, 2, torch.int8)
        torch.ops.npu.npu_format_cast(tensor, 2).sum().backward()
        self.assertEqual(tensor.grad, torch.ones(2, 3), 0)

    def adam_w(self):
        var, m, v, grad, most = (torch.rand(3, generator=torch.Generator().manual_seed(seed)) for seed in range(5))
        return (0.9 ** 2, 0.99 ** 2, 0.1, 0.02, 0.9, 0.99, 1e-8, grad, most, True, False), (var, m, v)

    def test_adam_w_has_three_forms(self):
        results = []
        for call in (lambda numbers, out: torch_npu.npu_apply_adam_w(*numbers, out=out),
                     lambda numbers, out: torch_npu.npu_apply_adam_w_out(*numbers, *out),
                     lambda numbers, out: torch.ops.npu.npu_apply_adam_w(*numbers, var=out[0], m=out[1], v=out[2])):
            numbers, out = self.adam_w()
            before = out[0].clone()
            returned = call(numbers, out)
            self.assertTrue(all(one.data_ptr() == other.data_ptr() for one, other in zip(returned, out)))
            self.assertFalse(torch.equal(before, out[0]))
            results.append(out)
        self.assertEqual(results[0], results[1], 0)
        self.assertEqual(results[0], results[2], 0)

    def test_operators_have_gradients(self):
        tokens, weight = torch.randn(32, 2, 8).npu().requires_grad_(), torch.randn(8, 2).npu().requires_grad_()
        got = torch.ops.npu.npu_nsa_compress(tokens, weight, 8, 4, actual_seq_len=[12, 32])
        want = torch_npu.npu_nsa_compress(tokens, weight, 8, 4, actual_seq_len=[12, 32])
        self.assertEqual(got, want, 0)
        grads = torch.autograd.grad(got.sin().sum(), (tokens, weight))
        cos = want.detach().cos()
        direct = torch.ops.npu.npu_nsa_compress_grad(cos, tokens.detach(), weight.detach(), 8, 4, actual_seq_len=[12, 32])
        self.assertEqual(list(grads), list(direct), 0)
        cache = torch.zeros(3, 2, 8)
        pages, slots = torch.ones(2, 8, 2, 8), torch.tensor([1], dtype=torch.int32)
        out = torch.ops.npu.npu_nsa_compress_infer(pages, weight.detach(), slots, 8, 4, 8, actual_seq_len=[12], cache=cache,
                                                   block_table=torch.tensor([[1, 0]], dtype=torch.int32))
        self.assertTrue(out.data_ptr() == cache.data_ptr() and bool(cache[1].any()) and not bool(cache[[0, 2]].any()))

    def test_errors_name_the_function(self):
        with self.assertRaisesRegex(RuntimeError, r"^npu_nsa_compress: weight has dtype torch.float64"):
            torch_npu.npu_nsa_compress(torch.ones(8, 1, 2), torch.ones(2, 1).double(), 2, 1)
        with self.assertRaisesRegex(AttributeError, "npu_fused_infer_attention_score"):
            torch.ops.npu.npu_fused_infer_attention_score


if __name__ == "__main__":
    run_tests()
