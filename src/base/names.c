// SPDX-License-Identifier: MIT
#include "base/names.h"

#include <stdio.h>
#include <string.h>

enum hp_err hp_name_find(const struct hp_name *list, const char *what, const char *name,
                         unsigned *place)
{
    char all[256] = "";
    for (unsigned i = 0; list[i].name; i++) {
        if (strcmp(list[i].name, name) == 0) {
            *place = i;
            return HP_OK;
        }
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", list[i].name);
    }
    return hp_fail(HP_ERR_INVALID, "there is no %s '%s'; there are: %s", what, name, all);
}
