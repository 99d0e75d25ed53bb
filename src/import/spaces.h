// SPDX-License-Identifier: MIT
/*
 * Which code was where: the memory of the recorded processes, as mappings, forks and execs say it.
 *
 * A *view* is the memory of a process during a time in which nothing was mapped over something
 * else. In a view an address means one thing.
 */
#ifndef HP_IMPORT_SPACES_H
#define HP_IMPORT_SPACES_H

#include "base/map64.h"
#include "hotpath/code.h"
#include "import/reader.h"
#include "symbols/module_code.h"

#define HP_NO_VIEW UINT32_MAX

/* A file that code came from. */
struct hp_import_file {
    char *path;                  /* as recorded */
    char *found;                 /* where it is now; the same, or one that was given */
    char *recorded;              /* build id; "": not known */
    char *build_id;              /* the same; of an open file its own */
    struct hp_module_code *code; /* NULL: it cannot be read, or is not needed yet */
    bool tried;
    char problem[256]; /* why not; "": none */
    bool verified;     /* it has the one that was recorded */
};

struct hp_import_mapping {
    uint64_t start, end, offset, time;
    uint32_t file;
    uint32_t module; /* of the code map; HP_NO_ID: not asked for, or none */
    bool asked;
};

/* A mapping in the order of addresses; `end`: the last of it and of those before it. */
struct hp_import_order {
    uint32_t mapping;
    uint64_t end;
};

struct hp_import_process {
    int32_t pid;
    uint32_t parent; /* index; HP_NO_ID: none, or its memory was replaced by an exec since */
    uint64_t forked; /* when */
    struct hp_import_mapping *mappings; /* in the order of time */
    size_t n_mappings, cap_mappings;
    struct hp_import_order *order; /* by address */
    uint64_t *changes;             /* when something was mapped over something else, ascending */
    uint64_t *execs;               /* ascending */
    size_t n_changes, cap_changes, n_execs, cap_execs;
    uint32_t first_view;
};

struct hp_import_view {
    uint32_t process;
    uint64_t until; /* this is its last moment */
};

struct hp_import_spaces {
    struct hp_import_process *processes;
    size_t n_processes, cap_processes;
    struct hp_import_file *files;
    size_t n_files, cap_files;
    struct hp_import_view *views;
    size_t n_views, cap_views;
    const char *const *given; /* files to be used in place of those recorded */
    size_t n_given;
    struct hp_map64 process_of; /* pid -> index */
    struct hp_map64 file_of;    /* hash of path and build id, or above -> index */
};

/* Where an address is: a module of the code map with the code of its file. */
struct hp_import_place {
    uint32_t module;
    uint64_t offset;
    const struct hp_module_code *code;
};

enum hp_err hp_spaces_new(const char *const *given, size_t n_given,
                          struct hp_import_spaces **spaces);
void hp_spaces_free(struct hp_import_spaces *spaces);

/* In the order of time. `build_id`: "" not known. */
enum hp_err hp_spaces_map(struct hp_import_spaces *spaces, int32_t pid,
                          const struct hp_import_mapping *mapping, const char *path,
                          const char *build_id);
enum hp_err hp_spaces_fork(struct hp_import_spaces *spaces, int32_t pid, int32_t parent,
                           uint64_t time);
enum hp_err hp_spaces_exec(struct hp_import_spaces *spaces, int32_t pid, uint64_t time);

/* When all is known: makes the views. */
enum hp_err hp_spaces_settle(struct hp_import_spaces *spaces);

/* HP_NO_VIEW: nothing is known of that process. */
uint32_t hp_spaces_view(const struct hp_import_spaces *spaces, int32_t pid, uint64_t time);

/* HP_ERR_NOTFOUND: nothing is mapped there, or it is in no file that can be read. Adds the module
 * to the code map. */
enum hp_err hp_spaces_find(struct hp_import_spaces *spaces, struct hp_code *code, uint32_t view,
                           uint64_t address, struct hp_import_place *place);

#endif
