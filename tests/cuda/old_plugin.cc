// A plugin of another build: what the library must refuse before it calls anything in it.
#include "cuda/plugin.h"

static constexpr openaclnn::cuda::PluginTable kTable = {sizeof(kTable), "0.0.0-old"};

extern "C" const openaclnn::cuda::PluginTable* openaclnn_cuda_plugin() { return &kTable; }
