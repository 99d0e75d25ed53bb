// SPDX-License-Identifier: MIT
#include "report/syscalls/syscalls.h"
#include "report/text.h"

const struct hp_pthread_name *hp_thread_names_of(const struct hp_profile *profile, uint32_t thread)
{
    static const struct hp_pthread_name none = {.name = "", .command = ""};
    size_t n;
    const struct hp_pthread_name *names = hp_items(profile, HP_ROW_THREAD_NAME, thread, &n);
    return names ? names : &none;
}

static const void *find_names(const struct hp_field_input *input)
{
    return hp_thread_names_of(input->tables->profile, input->row->item);
}

const struct hp_field_row hp_field_thread_names = {HP_ROW_THREAD_NAME, find_names, false};

enum { LIVED, IN_SYSCALLS, PART_IN_SYSCALLS };

static struct hp_cell get_time(const struct hp_field_input *in)
{
    const struct hp_profile *p = in->tables->profile;
    uint64_t lived = hp_thread_time(p, in->row->item);
    if (!lived || (!p->n_syscalls && in->field->value != LIVED))
        return hp_cell_none();
    if (in->field->value == LIVED)
        return hp_cell_number(lived);
    uint64_t ns = hp_thread_in_syscalls(p, in->row->item);
    return in->field->value == IN_SYSCALLS ? hp_cell_number(ns)
                                           : hp_cell_fraction(hp_number_share(ns, lived));
}

static const struct hp_field fields[] = {
    {"thread", "its number in this profile", .from = HP_FROM_ITEM},
    {"pid", "of its process", .kind = HP_FIELD_OF_RUN},
    {"tid", "of the thread", .kind = HP_FIELD_OF_RUN},
    {"name", "of the thread, as it was last; \"\": not known", .kind = HP_FIELD_OF_RUN,
     .of = &hp_field_thread_names},
    {"command", "of its process, or the beginning of it; \"\": not known", .kind = HP_FIELD_OF_RUN,
     .of = &hp_field_thread_names},
    {"instructions", "executed", HP_COUNTED(0)},
    {"blocks", "executed", HP_COUNTED(1)},
    {"branches", "executed", HP_COUNTED(2)},
    {"share", "of `instructions` in all of them", HP_SHARE(0)},
    {"ns", "from its beginning to its end; null: not known", .kind = HP_FIELD_OF_RUN,
     .get = get_time, .value = LIVED, .timed = true},
    {"syscall_ns", "of `ns`, in system calls; null: not known", .kind = HP_FIELD_OF_RUN,
     .get = get_time, .value = IN_SYSCALLS, .timed = true},
    {"in_syscalls", "the same as a share of `ns`", .kind = HP_FIELD_OF_RUN, .get = get_time,
     .value = PART_IN_SYSCALLS, .timed = true},
    {0}};

void hp_put_thread_command(const struct hp_text *in, const struct hp_row *row,
                           struct hp_strbuf *cell)
{
    const char *command = hp_thread_names_of(in->tables->profile, row->item)->command;
    size_t program = strcspn(command, " ");
    const char *slash = memrchr(command, '/', program);
    bool shorter = in->options->width > 0 && *command == '/' && slash + 1 < command + program;
    hp_strbuf_clean(cell, !*command ? "(unknown)" : shorter ? slash + 1 : command);
}

static const struct hp_column columns[] = {
    {"share", .right = true, .heat = true},
    {"instructions", .right = true},
    {"in syscalls", .right = true, .field = "in_syscalls"},
    {"thread", .plain = true, .right = true},
    {"pid", .right = true},
    {"tid", .right = true},
    {"name", .plain = true},
    {"command", .put = hp_put_thread_command, .flexible = true},
    {0}};

static bool always(const struct hp_profile *profile)
{
    (void)profile;
    return true;
}

const struct hp_view hp_view_threads = {
    .name = "threads",
    .help = "threads",
    .title = "Threads",
    .each = "thread",
    .order = "`instructions`, then number",
    .empty = "no thread was seen",
    .lines = HP_LINES_NONE,
    .is_there = always,
    .item = HP_ROW_THREAD,
    .counter = HP_ROW_THREAD,
    .values = {"instructions", "blocks", "branches"},
    .fields = fields,
    .columns = columns,
};
