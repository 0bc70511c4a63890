# Trains with Lightning: mixed precision with clipped gradients, checkpoints, and averages of its callback.
import copy
import warnings

import pytest

from conftest import needs_torch, optional, torch
from training import equal, model

pytestmark = [needs_torch, pytest.mark.slow]
lightning = optional("lightning.pytorch")
if torch is None or lightning is None:
    pytest.skip("Lightning is not installed (pip install lightning)", allow_module_level=True)

from lightning.pytorch.plugins import MixedPrecision  # noqa: E402

from openaclnn.torch import FusedEmaAdamW  # noqa: E402


class Training(lightning.LightningModule):
    def __init__(self, make_optimizer):
        super().__init__()
        self.network, self.make_optimizer, self.average_loss = model(), make_optimizer, None

    def training_step(self, batch):
        return self.network(batch).square().sum()

    def validation_step(self, batch):
        optimizer = self.optimizers().optimizer
        with optimizer.swap_ema():
            self.average_loss = self.network(batch).square().sum()

    def configure_optimizers(self):
        return self.make_optimizer(self.network.parameters())


STEPS = 6


def batches(count=STEPS):
    values = [torch.randn(16, 6, generator=torch.Generator().manual_seed(n)) for n in range(count)]
    return torch.utils.data.DataLoader(values, batch_size=None)


def trainer(folder, **options):
    return lightning.Trainer(accelerator="cpu", default_root_dir=folder, logger=False, enable_progress_bar=False,
                             enable_model_summary=False, **{"max_epochs": 1, "enable_checkpointing": False, **options})


def fit(folder, make_optimizer, validates=False, ckpt_path=None, **options):
    module = Training(make_optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's advice about data loaders
        made = trainer(folder, **options)
        made.fit(module, batches(), batches(1) if validates else None, ckpt_path=ckpt_path)
    return module, made


def mixed(kind):
    """Options of a trainer. Lightning replaces 16-mixed on CPUs by bf16-mixed unless its plugin is given."""
    if kind == "16-mixed":
        return {"plugins": [MixedPrecision("16-mixed", "cpu", scaler=torch.amp.GradScaler("cpu", init_scale=256.0))]}
    return {"precision": kind}


@pytest.mark.parametrize("kind", ["16-mixed", "bf16-mixed", "32-true"])
@pytest.mark.parametrize("options", [{}, dict(amp_scaling=False)], ids=["default", "amp_scaling=False"])
def test_clipped_gradients(tmp_path, kind, options):
    clipping = {"gradient_clip_val": 0.5, **mixed(kind)}
    ours, _ = fit(tmp_path, lambda values: FusedEmaAdamW(values, lr=0.01, **options), **clipping)
    theirs, _ = fit(tmp_path, lambda values: torch.optim.AdamW(values, lr=0.01), **{**clipping, **mixed(kind)})
    equal(ours, theirs, 1e-5)
    assert ours.optimizers().optimizer.param_groups[0]["ema_updates"] == STEPS


def test_internal_scaling_excludes_clipping(tmp_path):
    """The reason for amp_scaling: Lightning clips only gradients that it has unscaled itself."""
    def make(values):
        return FusedEmaAdamW(values, lr=0.01, amp_scaling=True)

    with pytest.raises(RuntimeError, match="performs unscaling of gradients internally"):
        fit(tmp_path, make, gradient_clip_val=0.5, **mixed("16-mixed"))
    ours, _ = fit(tmp_path, make, **mixed("16-mixed"))
    theirs, _ = fit(tmp_path, lambda values: torch.optim.AdamW(values, lr=0.01), **mixed("16-mixed"))
    equal(ours, theirs, 1e-5)


def test_a_resumed_training_is_the_whole_one(tmp_path):
    def make(values):
        return FusedEmaAdamW(values, lr=0.01, ema_decay=0.9)

    whole, _ = fit(tmp_path, make, max_epochs=2, validates=True)
    _, first = fit(tmp_path, make, max_epochs=1, validates=True)
    assert first.lightning_module.average_loss is not None
    first.save_checkpoint(tmp_path / "half.ckpt")
    second, _ = fit(tmp_path, make, max_epochs=2, ckpt_path=tmp_path / "half.ckpt", validates=True)
    equal(whole, second)
    for one, other in zip(*(each.optimizers().optimizer.state.values() for each in (whole, second))):
        assert torch.equal(one["ema_params"], other["ema_params"])


def test_averages_of_the_callback_continue(tmp_path):
    callbacks = optional("lightning.pytorch.callbacks")
    if not hasattr(callbacks, "EMAWeightAveraging"):
        pytest.skip("this Lightning has no callback EMAWeightAveraging")

    # After the training Lightning has no parameters but the averages.
    during = callbacks.ModelCheckpoint(tmp_path, "averaged", every_n_train_steps=STEPS - 1)
    fit(tmp_path, lambda values: torch.optim.AdamW(values, lr=0.01), enable_checkpointing=True,
        callbacks=[callbacks.EMAWeightAveraging(decay=0.9), during])
    saved = torch.load(tmp_path / "averaged.ckpt", weights_only=False)
    module = Training(None)
    module.load_state_dict(saved["current_model_state"])
    optimizer = FusedEmaAdamW(module.parameters(), lr=0.01, ema_decay=0.9)
    optimizer.load_state_dict(saved["optimizer_states"][0])
    optimizer.load_ema_state_dict(saved["state_dict"], module, updates=saved["averaging_state"]["n_averaged"])
    for name, value in optimizer.ema_state_dict(module).items():
        assert torch.equal(value, saved["state_dict"][name])
        assert not torch.equal(value, saved["current_model_state"][name])
    assert optimizer.param_groups[0]["ema_updates"] == int(saved["averaging_state"]["n_averaged"]) > 0
    assert copy.deepcopy(optimizer).param_groups[0]["ema_updates"] > 0
