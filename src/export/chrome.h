// SPDX-License-Identifier: MIT
/*
 * Phases as Chrome's trace events, for Perfetto and chrome://tracing: when which hot spot ran. Time is instructions: one is shown as a nanosecond.
 */
#ifndef HP_EXPORT_CHROME_H
#define HP_EXPORT_CHROME_H

#include "export/export.h"

/* HP_ERR_INVALID: the profile has neither hot spots nor windows in cycles, or the request asks for what there is not. */
enum hp_err hp_export_chrome(const struct hp_profile *profile,
                             const struct hp_export_request *request, FILE *out,
                             struct hp_export_written *written);

#endif
