// SPDX-License-Identifier: MIT
/*
 * A database in a file that is known by its descriptor only: SQLite opens files by name, and a file
 * that is being made has none.
 */
#ifndef HP_PROFILE_FILE_H
#define HP_PROFILE_FILE_H

#include <sqlite3.h>

/* Opens the file, without locks or journal; as sqlite3_open_v2(). The descriptor stays open. */
int hp_profile_file_open(int fd, sqlite3 **db);

#endif
