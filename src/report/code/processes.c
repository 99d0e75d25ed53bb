// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

#define THREADS 3 /* the value that counts them */

static const struct hp_field fields[] = {
    {"pid", "of the process", .kind = HP_FIELD_OF_RUN},
    {"parent", "pid of the process that forked it; 0: the first", .kind = HP_FIELD_OF_RUN,
     .of = &hp_field_thread_names},
    {"command", "its command line, or the beginning of it; \"\": not known",
     .kind = HP_FIELD_OF_RUN, .of = &hp_field_thread_names},
    {"threads", "that it had", HP_VALUE(THREADS)},
    {"instructions", "executed", HP_VALUE(0)},
    {"blocks", "executed", HP_VALUE(1)},
    {"branches", "executed", HP_VALUE(2)},
    {"share", "of `instructions` in all of them", HP_SHARE(0)},
    {0}};

static const struct hp_column columns[] = {
    {"share", .right = true, .heat = true},
    {"instructions", .right = true},
    {"threads", .right = true},
    {"pid", .right = true, .plain = true},
    {"parent", .right = true, .plain = true},
    {"command", .put = hp_put_thread_command, .flexible = true},
    {0}};

static bool always(const struct hp_profile *profile)
{
    (void)profile;
    return true;
}

/* By process; a pid that executes another program goes on as another one. */
static int compare_process(const void *a, const void *b, void *context)
{
    const struct hp_row *x = a, *y = b;
    const struct hp_profile *p = context;
    return HP_COMPARE(p->threads[x->item].pid, p->threads[y->item].pid)
               ?: strcmp(hp_thread_names_of(p, x->item)->command,
                         hp_thread_names_of(p, y->item)->command);
}

static int compare_first(const void *a, const void *b, void *context)
{
    const struct hp_row *x = a, *y = b;
    return compare_process(a, b, context) ?: HP_COMPARE(x->item, y->item);
}

/* Makes the rows of the threads of a process one: that of its first thread. */
static enum hp_err join_threads(struct hp_rows *rows, struct hp_tables *tables)
{
    struct hp_profile *p = (struct hp_profile *)tables->profile;
    size_t kept = 0;
    if (rows->n > 1)
        qsort_r(rows->rows, rows->n, sizeof *rows->rows, compare_first, p);
    for (size_t i = 0; i < rows->n; i++) {
        struct hp_row *row = &rows->rows[i];
        row->v[THREADS] = 1;
        if (kept && compare_process(&rows->rows[kept - 1], row, p) == 0)
            for (size_t k = 0; k < HP_ROW_VALUES; k++)
                hp_add_up(&rows->rows[kept - 1].v[k], row->v[k]);
        else
            rows->rows[kept++] = *row;
    }
    rows->n = kept;
    return HP_OK;
}

const struct hp_view hp_view_processes = {
    .name = "processes",
    .help = "processes, with their command lines",
    .title = "Processes",
    .each = "process and program that it executed",
    .order = "`instructions`, then the number of its first thread",
    .empty = "no process was seen",
    .lines = HP_LINES_NONE,
    .is_there = always,
    .item = HP_ROW_THREAD,
    .counter = HP_ROW_THREAD,
    .values = {"instructions", "blocks", "branches"},
    .make = join_threads,
    .fields = fields,
    .columns = columns,
};
