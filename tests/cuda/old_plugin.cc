// A plugin of another build, which the library must reject before it calls any of its functions.
#include "cuda/plugin.h"

static constexpr openaclnn::cuda::PluginTable kTable = {sizeof(kTable), "0.0.0-old"};

extern "C" const openaclnn::cuda::PluginTable* openaclnn_cuda_plugin() { return &kTable; }
