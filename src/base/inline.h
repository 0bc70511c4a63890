// Forced inlining, for functions that kernels of several instruction sets share: an out-of-line copy would be a weak symbol
// compiled for one set that code of another could pick.
#pragma once

#define OPENACLNN_INLINE [[gnu::always_inline]] inline
