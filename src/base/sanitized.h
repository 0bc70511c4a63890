// Whether a sanitizer checks memory. If so, memory is not recycled, so that the sanitizer detects every use
// after free.
#pragma once

namespace openaclnn {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace openaclnn
