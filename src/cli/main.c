// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "base/debug.h"
#include "cli/cli.h"
#include "cli/help.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Were a standard descriptor closed, the next file opened would take its number, and what is
 * printed would end up in it. The program that is watched still finds it closed. */
static void keep_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", O_RDWR | O_CLOEXEC);
}

static void do_nothing(int signal)
{
    (void)signal;
}

/* A file that grows beyond the limit (ulimit -f) should be an error like others, not the end. With
 * a handler, as the program that is watched would inherit that it is ignored. */
static void survive_file_size_limit(void)
{
    struct sigaction old, action = {.sa_handler = do_nothing};
    if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
    keep_standard_descriptors();
    survive_file_size_limit();
    if (hp_debug_start(getenv("HOTPATH_DEBUG")) != HP_OK)
        return hp_cli_fail(HP_ERR_INVALID);
    hp_cli_tell_fetches(false);
    const char *name = argc > 1 ? argv[1] : "";
    if (argc < 2 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        hp_help();
        return argc < 2 ? HP_STATUS_FAILED : 0;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        printf("hotpath " HP_VERSION "\n");
        return 0;
    }
    for (const struct hp_command *const *c = hp_commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return hp_command_execute(*c, argc - 1, argv + 1);
    return hp_cli_fail(
        hp_fail(HP_ERR_INVALID, "unknown command '%s' (hotpath --help lists them)", name));
}
