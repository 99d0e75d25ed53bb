// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/text.h"

static const struct hp_field fields[] = {
    {"thread", "its number in this profile", .from = HP_FROM_ITEM},
    {"pid", "of its process", .kind = HP_FIELD_OF_RUN},
    {"tid", "of the thread", .kind = HP_FIELD_OF_RUN},
    {"instructions", "executed", HP_COUNTED(0)},
    {"blocks", "executed", HP_COUNTED(1)},
    {"branches", "executed", HP_COUNTED(2)},
    {"share", "of `instructions` in all of them", HP_SHARE(0)},
    {0}};

static const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                           {"instructions", .right = true},
                                           {"blocks", .right = true},
                                           {"branches", .right = true},
                                           {"thread", .plain = true, .right = true},
                                           {"pid", .right = true},
                                           {"tid", .right = true},
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
