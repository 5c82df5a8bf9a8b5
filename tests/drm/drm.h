// SPDX-License-Identifier: Apache-2.0
// tests/drm/drm.h: where linux/kfd_ioctl.h looks for libdrm's header.
#pragma once

#include <libdrm/drm.h>
