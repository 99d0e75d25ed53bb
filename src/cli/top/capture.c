// SPDX-License-Identifier: MIT
#include "cli/top/terminal.h"

#include "base/base.h"
#include "base/memory_file.h"

#include <fcntl.h>
#include <unistd.h>

/* A file in TMPDIR that is gone when it is closed: what a program prints may be more than memory
 * takes. Where no such file can be made, one in memory. */
static int open_file(void)
{
    const char *directory = getenv("TMPDIR");
    int file = open(directory && *directory ? directory : "/tmp",
                    O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0)
        return file;
    file = hp_memory_file("hotpath-output");
    if (file >= 0)
        fcntl(file, F_SETFL, O_APPEND);
    return file;
}

enum hp_err hp_capture_begin(struct hp_capture *c)
{
    *c =
        (struct hp_capture){.active = true, .file = open_file(), .standard = HP_STANDARD_UNTOUCHED};
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool good = c->file >= 0 && null >= 0;
    fflush(NULL);
    for (int standard = 0; standard < 3 && good; standard++)
        if (isatty(standard))
            good = hp_standard_replace(&c->standard, standard,
                                       standard == STDIN_FILENO ? null : c->file);
    if (null >= 0)
        close(null);
    c->replaced = c->standard.saved[STDOUT_FILENO] >= 0   ? STDOUT_FILENO
                  : c->standard.saved[STDERR_FILENO] >= 0 ? STDERR_FILENO
                                                          : -1;
    if (good)
        return HP_OK;
    enum hp_err err = hp_fail(
        HP_ERR_IO, "cannot keep the program's output in a temporary file: %m; --plain needs none");
    hp_capture_end(c);
    return err;
}

void hp_capture_show(struct hp_capture *c)
{
    char bytes[16384];
    if (!c->active || c->file < 0 || c->replaced < 0)
        return;
    int saved = c->standard.saved[c->replaced], to = saved >= 0 ? saved : c->replaced;
    for (ssize_t n; (n = pread(c->file, bytes, sizeof bytes, c->shown)) > 0; c->shown += n)
        hp_write_all(to, bytes, (size_t)n);
}

void hp_capture_say(const struct hp_capture *c, const char *text)
{
    int replaced = c->active ? c->standard.saved[STDERR_FILENO] : -1;
    hp_write_all(replaced >= 0 ? replaced : STDERR_FILENO, text, strlen(text));
}

void hp_capture_release(struct hp_capture *c)
{
    if (!c->active)
        return;
    fflush(NULL);
    hp_capture_show(c);
    hp_standard_restore(&c->standard);
    c->standard = HP_STANDARD_UNTOUCHED;
}

void hp_capture_end(struct hp_capture *c)
{
    if (!c->active)
        return;
    hp_capture_release(c);
    hp_capture_show(c);
    if (c->file >= 0)
        close(c->file);
    *c = (struct hp_capture){0};
}
