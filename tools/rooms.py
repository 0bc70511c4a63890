# Finds the rooms of operators: src/ops/embedding, or in the folder of their family, src/ops/nsa/compress. A room has an op.h.
import pathlib


def rooms(root):
    """Returns {name of the room, as in ops.def: its folder}. Parts of the folder's name are joined: nsa_compress."""
    ops = pathlib.Path(root) / "src" / "ops"
    folders = sorted(header.parent for pattern in ("*/op.h", "*/*/op.h") for header in ops.glob(pattern))
    return {"_".join(folder.relative_to(ops).parts): folder for folder in folders}
