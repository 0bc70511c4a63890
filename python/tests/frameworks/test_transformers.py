# Trains with Hugging Face's Trainer: mixed precision, clipped gradients, a resumed training.
import pytest

from conftest import needs_torch, optional, torch
from training import equal, model

pytestmark = [needs_torch, pytest.mark.slow]
transformers = optional("transformers")
if torch is None or transformers is None or optional("accelerate") is None:
    pytest.skip("transformers or accelerate is not installed (pip install transformers accelerate)", allow_module_level=True)

from openaclnn.torch import FusedEmaAdamW  # noqa: E402


class WithLoss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.network = model()

    def forward(self, values):
        return {"loss": self.network(values).float().square().sum()}


class Batches(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, n):
        return {"values": torch.randn(6, generator=torch.Generator().manual_seed(n))}


def trained(folder, kind, options, steps=8, resume=None, **more):
    network = WithLoss()
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), use_cpu=True, max_steps=steps, per_device_train_batch_size=8, max_grad_norm=0.5, learning_rate=0.01,
        lr_scheduler_type="constant", report_to=[], save_steps=4, logging_steps=100, disable_tqdm=True, seed=3,
        dataloader_pin_memory=False, **more)
    trainer = transformers.Trainer(network, arguments, train_dataset=Batches(), optimizer_cls_and_kwargs=(kind, options))
    trainer.train(resume_from_checkpoint=resume)
    optimizer = trainer.optimizer
    return network, getattr(optimizer, "optimizer", optimizer)


@pytest.mark.parametrize("more", [{}, dict(bf16=True, gradient_accumulation_steps=2)], ids=["float32", "bf16"])
def test_clipped_gradients(tmp_path, more):
    ours, optimizer = trained(tmp_path / "ours", FusedEmaAdamW, dict(lr=0.01, weight_decay=0.1), **more)
    theirs, _ = trained(tmp_path / "theirs", torch.optim.AdamW, dict(lr=0.01, weight_decay=0.1), **more)
    equal(ours, theirs, 1e-5)
    assert {group["ema_updates"] for group in optimizer.param_groups} == {8}


def test_a_resumed_training_is_the_whole_one(tmp_path):
    options = dict(lr=0.01, ema_decay=0.9)
    whole, one = trained(tmp_path / "whole", FusedEmaAdamW, options)
    second, other = trained(tmp_path / "again", FusedEmaAdamW, options, resume=str(tmp_path / "whole" / "checkpoint-4"))
    equal(whole, second)
    for mine, copied in zip(one.state.values(), other.state.values()):
        assert torch.equal(mine["ema_params"], copied["ema_params"])
