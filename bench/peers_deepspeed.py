# DeepSpeed's AdamW for CPUs with a moving average; see peers_torch.py.
"""DeepSpeed compiles its kernel when it is first used, for minutes, and keeps it in ~/.cache/torch_extensions."""


def adamw_and_average(problem, steps_before, lerp_all):
    """Raises ImportError without DeepSpeed, RuntimeError if its kernel can't be compiled."""
    from deepspeed.ops.adam import DeepSpeedCPUAdam

    parameter = problem["varRef"].detach()
    parameter.grad = problem["grad"]
    # The moments have the dtype of the parameter, as ours do.
    optimizer = DeepSpeedCPUAdam([parameter], lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, adamw_mode=True,
                                 fp32_optimizer_states=False)
    optimizer.state[parameter] = {"step": steps_before, "exp_avg": problem["mRef"], "exp_avg_sq": problem["vRef"]}

    def step():
        optimizer.step()
        lerp_all([problem["sRef"]], [parameter])

    return step, lambda: {name: problem[name] for name in ("varRef", "mRef", "vRef", "sRef")}
