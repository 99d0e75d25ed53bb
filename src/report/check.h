// SPDX-License-Identifier: MIT
#ifndef HP_REPORT_CHECK_H
#define HP_REPORT_CHECK_H

#include "hotpath/profile.h"

/* HP_OK when every index of the profile refers to something, else HP_ERR_INVALID. A loaded profile
 * passes; one made by hand may not, and a report must not crash on it. */
enum hp_err hp_profile_check_references(const struct hp_profile *profile);

#endif
