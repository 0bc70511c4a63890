# Types of arrays on several devices, which JAX doesn't derive for foreign functions: varying axes and explicit shardings.
"""Types of JAX 0.5 have neither of them. Those of JAX 0.6 have varying axes."""
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp


def _axes(*arrays: Any) -> frozenset[Any]:
    """Returns the axes of a mesh over which arrays vary inside jax.shard_map."""
    axes: frozenset[Any] = frozenset()
    if hasattr(jax, "typeof"):
        for kind in (jax.typeof(array) for array in arrays if isinstance(array, jax.Array)):  # NumPy's have one value
            # The second name is that of JAX before 0.10.
            axes |= kind.manual_axis_type.varying if hasattr(kind, "manual_axis_type") else getattr(kind, "vma", axes)
    return axes


def varying_as(array: Any, *models: Any) -> Any:
    """Returns an array that varies over the axes of models. The gradient of a replicated array becomes the sum over devices."""
    missing = tuple(sorted(_axes(*models) - _axes(array), key=str))
    if not missing:
        return array
    return jax.lax.pcast(array, missing, to="varying") if hasattr(jax.lax, "pcast") else jax.lax.pvary(array, missing)


def vary_alike(*arrays: Any) -> tuple[Any, ...]:
    """Returns arrays that vary over their common axes, as jax.numpy's functions cast their operands."""
    return tuple(varying_as(array, *arrays) for array in arrays)


def _explicit_sharding(array: Any) -> Any:
    """Returns the sharding that is part of an array's type, or None. Meshes without explicit axes leave it to XLA."""
    if not hasattr(jax.sharding, "reshard") or not isinstance(array, jax.Array):
        return None
    sharding = jax.typeof(array).sharding
    return sharding if jax.sharding.AxisType.Explicit in sharding.mesh.axis_types else None


def gathered(array: Any) -> jax.Array:
    """Returns an array that all devices have whole, as XLA makes it for foreign functions. Not all of jax.numpy takes parts."""
    sharding = _explicit_sharding(array)
    if sharding is None:
        return jnp.asarray(array)
    whole: jax.Array = jax.sharding.reshard(array, jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec()))
    return whole


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Kind:
    """The shape, dtype and explicit sharding of an array. JAX can save it for a backward pass without the array."""
    shape: tuple[int, ...]
    dtype: Any
    sharding: Any

    @classmethod
    def of(cls, array: Any) -> "Kind":
        return cls(tuple(array.shape), jnp.dtype(array.dtype), _explicit_sharding(array))

    def place(self, array: Any) -> Any:
        """Returns an array of this shape with this sharding."""
        if self.sharding is None or _explicit_sharding(array) == self.sharding:
            return array
        return jax.sharding.reshard(array, self.sharding)
