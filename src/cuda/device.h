// The CUDA device: memory, streams and copies through the plugin.
#pragma once

#include <memory>

#include "cuda/plugin.h"
#include "runtime/device.h"

namespace openaclnn::cuda {

class QueueRegistry;

// All devices share `queues`.
Device* make_device(const PluginTable& table, int id, std::shared_ptr<QueueRegistry> queues);

}  // namespace openaclnn::cuda
