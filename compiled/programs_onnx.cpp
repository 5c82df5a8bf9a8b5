// SPDX-License-Identifier: Apache-2.0
// compiled/programs_onnx.cpp: how ONNX files are read and made ready.
#include <zrt/compiled/programs_backend.hpp>

template class zrt::OnnxModel<zrt::TensorBackend>;
