// The CUDA device of the library: memory, streams and copies through the plugin.
#pragma once

#include <memory>

#include "cuda/plugin.h"
#include "runtime/device.h"

namespace openaclnn::cuda {

class QueueRegistry;

// `queues` is shared by all devices.
Device* make_device(const PluginTable& table, int id, std::shared_ptr<QueueRegistry> queues);

}  // namespace openaclnn::cuda
