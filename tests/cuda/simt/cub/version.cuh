// Replaces CUB's header of this name: the version whose sort device/device_radix_sort.cuh replaces.
#pragma once

#define CUB_VERSION 300000
