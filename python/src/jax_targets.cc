// The operators as targets of XLA's foreign function interface, for openaclnn.jax: XLA calls them on its threads, without Python.
#include <nanobind/nanobind.h>

#include "operators.h"

#if __has_include(<xla/ffi/api/ffi.h>)
#include <xla/ffi/api/ffi.h>

#include <array>
#include <string>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "call.h"
#include "jax_calls.h"
#include "names.h"

namespace openaclnn::python {

namespace {

namespace ffi = xla::ffi;

using Buffer = ffi::AnyBuffer;
using jax_calls::View;
using Result = ffi::Result<ffi::AnyBuffer>;
using Lengths = ffi::Span<const int64_t>;

aclDataType dtype_of(ffi::DataType dtype) {
  switch (dtype) {
    case ffi::DataType::F32: return ACL_FLOAT;
    case ffi::DataType::F16: return ACL_FLOAT16;
    case ffi::DataType::BF16: return ACL_BF16;
    case ffi::DataType::F64: return ACL_DOUBLE;
    case ffi::DataType::S8: return ACL_INT8;
    case ffi::DataType::S16: return ACL_INT16;
    case ffi::DataType::S32: return ACL_INT32;
    case ffi::DataType::S64: return ACL_INT64;
    case ffi::DataType::U8: return ACL_UINT8;
    case ffi::DataType::PRED: return ACL_BOOL;
    case ffi::DataType::C64: return ACL_COMPLEX64;
    case ffi::DataType::C128: return ACL_COMPLEX128;
    default: return ACL_DT_UNDEFINED;
  }
}

// XLA's buffers are contiguous.
View view(const Buffer& buffer) {
  const auto dims = buffer.dimensions();
  return {dtype_of(buffer.element_type()), {dims.begin(), dims.size()}, buffer.untyped_data()};
}

ffi::Error error_of(int code, const char* function) {
  if (code == 0) return ffi::Error::Success();
  const char* const text = aclGetRecentErrMsg();
  const std::string lines = text != nullptr ? text : "the library gave no reason";
  const auto kind = code == ACL_ERROR_RT_VECTOR_CORE_EXCEPTION ? ffi::ErrorCode::kOutOfRange
                                                               : ffi::ErrorCode::kInvalidArgument;
  return {kind, in_python(lines.substr(0, lines.find('\n')), {function, Library::jax})};
}

// `function` is that of openaclnn.jax. Exceptions must not reach XLA.
template <class Phase1>
ffi::Error call(const char* function, Phase1&& phase1, Phase2 phase2) {
  try {
    const auto both = [&](uint64_t* bytes, aclOpExecutor** executor) {
      return phase1(jax_calls::Out{bytes, executor});
    };
    return error_of(run_without_python(both, phase2), function);
  } catch (const std::exception& error) {
    return ffi::Error::Internal(error.what());
  }
}

ffi::Error embedding(Buffer weight, Buffer indices, Result out) {
  return call(
      "embedding",
      [&](jax_calls::Out phase1) {
        return jax_calls::embedding(view(weight), view(indices), view(*out), phase1);
      },
      aclnnEmbedding);
}

ffi::Error embedding_dense_backward(Buffer grad, Buffer indices, Result out, int64_t padding_idx,
                                    int64_t scale) {
  return call(
      "embedding_dense_backward",
      [&](jax_calls::Out phase1) {
        return jax_calls::embedding_dense_backward(view(grad), view(indices), view(*out), padding_idx,
                                                   scale != 0, phase1);
      },
      aclnnEmbeddingDenseBackward);
}

ffi::Error grouped_bias_add_grad(Buffer grad_y, Buffer group_idx, Result out, int64_t type) {
  return call(
      "grouped_bias_add_grad",
      [&](jax_calls::Out phase1) {
        return jax_calls::grouped_bias_add_grad(view(grad_y), view(group_idx), view(*out), type, phase1);
      },
      aclnnGroupedBiasAddGradV2);
}

ffi::Error nsa_compress(Buffer input, Buffer weight, Result out, int64_t block, int64_t stride,
                        Lengths lengths, int64_t type) {
  const jax_calls::Windows windows = {block, stride, {lengths.begin(), lengths.size()}, type};
  return call(
      "nsa_compress",
      [&](jax_calls::Out phase1) {
        return jax_calls::nsa_compress(view(input), view(weight), view(*out), windows, phase1);
      },
      aclnnNsaCompress);
}

ffi::Error nsa_compress_grad(Buffer grad, Buffer input, Buffer weight, Result input_grad, Result weight_grad,
                             int64_t block, int64_t stride, Lengths lengths, int64_t type) {
  const jax_calls::Windows windows = {block, stride, {lengths.begin(), lengths.size()}, type};
  return call(
      "nsa_compress_grad",
      [&](jax_calls::Out phase1) {
        return jax_calls::nsa_compress_grad(view(grad), view(input), view(weight), view(*input_grad),
                                            view(*weight_grad), windows, phase1);
      },
      aclnnNsaCompressGrad);
}

// XLA gets var, m, v and s as aliases of the results, which therefore already hold their values. JAX has no
// int64 by default, and learning rates come from compiled schedules: both are read here.
ffi::Error apply_fused_ema_adam(Buffer grad, Buffer var, Buffer m, Buffer v, Buffer s, Buffer step, Buffer lr,
                                Result var_out, Result m_out, Result v_out, Result s_out, double ema_decay,
                                double beta1, double beta2, double eps, int64_t mode, int64_t bias_correction,
                                double weight_decay) {
  if (step.element_type() != ffi::DataType::S32 || lr.element_type() != ffi::DataType::F32 ||
      step.element_count() != 1 || lr.element_count() != 1)
    return ffi::Error::InvalidArgument("step must be one int32 and lr one float32");
  const std::array<std::pair<const Buffer*, const Buffer*>, 4> pairs = {
      {{&var, &*var_out}, {&m, &*m_out}, {&v, &*v_out}, {&s, &*s_out}}};
  for (const auto& [in, out] : pairs) {
    if (in->untyped_data() != out->untyped_data())
      return ffi::Error::Internal("XLA did not alias the states with the results");
  }
  const int64_t count = *static_cast<const int32_t*>(step.untyped_data());
  if (bias_correction != 0 && count < 1) {  // the corrections 1 - beta**step would be 0 and all results NaN
    return ffi::Error::InvalidArgument(
        "apply_fused_ema_adam: step is " + std::to_string(count) +
        "; with bias_correction it must be at least 1, the number of this update");
  }
  jax_calls::Step numbers = {count,       *static_cast<const float*>(lr.untyped_data()),
                             ema_decay,   beta1,
                             beta2,       eps,
                             mode,        bias_correction != 0,
                             weight_decay};
  return call(
      "apply_fused_ema_adam",
      [&](jax_calls::Out phase1) {
        return jax_calls::apply_fused_ema_adam(view(grad), view(*var_out), view(*m_out), view(*v_out),
                                               view(*s_out), numbers, phase1);
      },
      aclnnApplyFusedEmaAdam);
}

XLA_FFI_DEFINE_HANDLER(kEmbedding, embedding, ffi::Ffi::Bind().Arg<Buffer>().Arg<Buffer>().Ret<Buffer>());
XLA_FFI_DEFINE_HANDLER(kEmbeddingDenseBackward, embedding_dense_backward,
                       ffi::Ffi::Bind()
                           .Arg<Buffer>()
                           .Arg<Buffer>()
                           .Ret<Buffer>()
                           .Attr<int64_t>("padding_idx")
                           .Attr<int64_t>("scale"));
XLA_FFI_DEFINE_HANDLER(kGroupedBiasAddGrad, grouped_bias_add_grad,
                       ffi::Ffi::Bind().Arg<Buffer>().Arg<Buffer>().Ret<Buffer>().Attr<int64_t>("type"));
XLA_FFI_DEFINE_HANDLER(kNsaCompress, nsa_compress,
                       ffi::Ffi::Bind()
                           .Arg<Buffer>()
                           .Arg<Buffer>()
                           .Ret<Buffer>()
                           .Attr<int64_t>("block")
                           .Attr<int64_t>("stride")
                           .Attr<Lengths>("lengths")
                           .Attr<int64_t>("type"));
XLA_FFI_DEFINE_HANDLER(kNsaCompressGrad, nsa_compress_grad,
                       ffi::Ffi::Bind()
                           .Arg<Buffer>()
                           .Arg<Buffer>()
                           .Arg<Buffer>()
                           .Ret<Buffer>()
                           .Ret<Buffer>()
                           .Attr<int64_t>("block")
                           .Attr<int64_t>("stride")
                           .Attr<Lengths>("lengths")
                           .Attr<int64_t>("type"));
XLA_FFI_DEFINE_HANDLER(kApplyFusedEmaAdam, apply_fused_ema_adam,
                       ffi::Ffi::Bind()
                           .Arg<Buffer>()
                           .Arg<Buffer>()
                           .Arg<Buffer>()
                           .Arg<Buffer>()
                           .Arg<Buffer>()
                           .Arg<Buffer>()
                           .Arg<Buffer>()
                           .Ret<Buffer>()
                           .Ret<Buffer>()
                           .Ret<Buffer>()
                           .Ret<Buffer>()
                           .Attr<double>("ema_decay")
                           .Attr<double>("beta1")
                           .Attr<double>("beta2")
                           .Attr<double>("eps")
                           .Attr<int64_t>("mode")
                           .Attr<int64_t>("bias_correction")
                           .Attr<double>("weight_decay"));

}  // namespace

void add_jax_targets(nb::module_& module) {
  module.def(
      "jax_targets",
      [] {
        nb::dict targets;
        const auto add = [&](const char* name, XLA_FFI_Handler* handler) {
          targets[name] = nb::capsule(reinterpret_cast<void*>(handler));
        };
        add("openaclnn_embedding", kEmbedding);
        add("openaclnn_embedding_dense_backward", kEmbeddingDenseBackward);
        add("openaclnn_grouped_bias_add_grad", kGroupedBiasAddGrad);
        add("openaclnn_nsa_compress", kNsaCompress);
        add("openaclnn_nsa_compress_grad", kNsaCompressGrad);
        add("openaclnn_apply_fused_ema_adam", kApplyFusedEmaAdam);
        return targets;
      },
      "Capsules of XLA's foreign functions, by name; empty in a build without jaxlib.");
}

}  // namespace openaclnn::python

#else

void openaclnn::python::add_jax_targets(nanobind::module_& module) {
  module.def(
      "jax_targets", [] { return nanobind::dict(); },
      "Capsules of XLA's foreign functions, by name; empty in a build without jaxlib.");
}

#endif
