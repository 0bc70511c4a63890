# The module whose import runs programs for GPUs on the device that "npu" stands for.
"""from torch_npu.contrib import transfer_to_npu"""
from openaclnn.compat import npu_transfer

npu_transfer.install()
