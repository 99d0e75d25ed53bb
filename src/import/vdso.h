// SPDX-License-Identifier: MIT
/*
 * The kernel's page of code, which is in no file.
 */
#ifndef HP_IMPORT_VDSO_H
#define HP_IMPORT_VDSO_H

#include "hotpath/error.h"

#include <stdbool.h>

bool hp_is_vdso(const char *path);

/* Where it can be read: the copy that perf keeps of the one with this build id ("": not known), or
 * ours, which may be another one. free() `*path`; it is valid as long as `*fd` is open (-1:
 * always). HP_ERR_NOTFOUND, HP_ERR_NOMEM. */
enum hp_err hp_vdso_find(const char *build_id, char **path, int *fd);

#endif
