// SPDX-License-Identifier: Apache-2.0
// zrt/model/gguf.hpp: the GGUF reader; needs nothing of zrt but its core.
#pragma once

#include <zrt/model/gguf/file.hpp>
#include <zrt/model/gguf/type.hpp>
#include <zrt/model/gguf/value.hpp>
