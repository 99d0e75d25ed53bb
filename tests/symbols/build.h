// SPDX-License-Identifier: MIT
/*
 * For tests that need ELF files: a directory that goes away with the test, and compilers.
 */
#ifndef TESTS_SYMBOLS_BUILD_H
#define TESTS_SYMBOLS_BUILD_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char build_dir[] = "/tmp/hotpath-symbols-XXXXXX";
static char sources_dir[PATH_MAX]; /* tests/symbols */

/* Runs a shell command; $S is the directory of the sources, $PWD the temporary one. */
static __attribute__((format(printf, 1, 2), unused)) int run(const char *format, ...)
{
    char command[8192];
    int n = snprintf(command, sizeof command, "S='%s'; cd '%s' && ", sources_dir, build_dir);
    va_list args;
    va_start(args, format);
    vsnprintf(command + n, sizeof command - (size_t)n, format, args);
    va_end(args);
    return system(command);
}

static __attribute__((unused)) bool have(const char *tool)
{
    return run("command -v %s >/dev/null 2>&1", tool) == 0;
}

/* The path of a file in the temporary directory; good for eight calls. */
static __attribute__((unused)) const char *built(const char *name)
{
    static char paths[8][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, PATH_MAX, "%s/%s", build_dir, name);
    return path;
}

/* The line of a source that has `mark`; 0: none. */
static __attribute__((unused)) uint32_t line_of(const char *source, const char *mark)
{
    char path[PATH_MAX + 64], line[512];
    snprintf(path, sizeof path, "%s/%s", sources_dir, source);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    uint32_t number = 0, found = 0;
    while (!found && fgets(line, sizeof line, file)) {
        number++;
        if (strstr(line, mark))
            found = number;
    }
    fclose(file);
    return found;
}

static int build_setup(void **state)
{
    (void)state;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", __FILE__);
    char *slash = strrchr(path, '/');
    if (!slash)
        return -1;
    *slash = '\0';
    if (!realpath(path, sources_dir) || !mkdtemp(build_dir))
        return -1;
    return setenv("HOTPATH_DEBUG_DIR", built("debug"), 1);
}

static int build_teardown(void **state)
{
    (void)state;
    return run("rm -rf '%s'", build_dir);
}

#endif
