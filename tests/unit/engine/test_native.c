// SPDX-License-Identifier: MIT
/* Starting the native engine. The engine here is this test itself: executed as one, it says what it
 * was given. */
#include "engine/native/native.h"
#include "engine/native/start.h"
#include "engine/spawn.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/hotpath-native.XXXXXX";

/* --- The engine that was executed ------------------------------------------------------------- */

/* What it found, written into the memory that stands for the arena. */
struct seen {
    int n_starts; /* descriptors with a start block */
    int n_low;    /* other descriptors that are open, below 100 */
    int engine_is_readable;
    struct hp_start start;
    char argv[256];
    char variable[64];
};

static void look_at(int fd, struct seen *seen)
{
    char link[64], target[256] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, target, sizeof target - 1) < 0)
        return;
    if (strcmp(target, "/memfd:" HP_START_NAME " (deleted)") == 0 &&
        pread(fd, &seen->start, sizeof seen->start, 0) == (ssize_t)sizeof seen->start)
        seen->n_starts++;
    else if (fd > 2 && fd < 100)
        seen->n_low++;
}

static int be_engine(int argc, char **argv)
{
    struct seen seen = {0};
    char magic[4] = "";
    for (int fd = 0; fd < 1024; fd++)
        look_at(fd, &seen);
    for (int i = 0; i < argc; i++) {
        strcat(seen.argv, argv[i]);
        strcat(seen.argv, "|");
    }
    snprintf(seen.variable, sizeof seen.variable, "%s", getenv("HOTPATH_TEST_VARIABLE"));
    seen.engine_is_readable = pread(seen.start.engine_fd, magic, 4, 0) == 4 &&
                              memcmp(magic, "\177ELF", 4) == 0 &&
                              (fcntl(seen.start.engine_fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
    return pwrite(seen.start.arena_fd, &seen, sizeof seen, 0) == (ssize_t)sizeof seen ? 33 : 1;
}

/* --- Starting it ------------------------------------------------------------------------------ */

static struct seen start(struct hp_executable *program)
{
    struct seen seen = {0};
    int status, arena = memfd_create("arena", MFD_CLOEXEC);
    pid_t pid;
    assert_true(arena >= 0);
    if (hp_native_start(program, arena, false, &pid) != HP_OK)
        fail_msg("%s", hp_error_text());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 33);
    assert_int_equal(pread(arena, &seen, sizeof seen, 0), sizeof seen);
    close(arena);
    return seen;
}

static void gives_the_engine_what_start_h_says(void **state)
{
    (void)state;
    struct hp_executable program;
    char *argv[] = {"true", "a b", "", NULL};
    assert_int_equal(hp_executable_find(argv, &program), HP_OK);
    setenv("HOTPATH_TEST_VARIABLE", "value", 1);
    struct seen seen = start(&program);
    assert_int_equal(seen.n_starts, 1);
    assert_int_equal(seen.start.magic, HP_START_MAGIC);
    assert_int_equal(seen.start.serial, 0);
    char *real = realpath(program.path, NULL);
    assert_non_null(real);
    assert_string_equal(seen.start.path, real);
    free(real);
    assert_string_equal(seen.start.name, program.path);
    assert_string_equal(seen.argv, "true|a b||");
    assert_string_equal(seen.variable, "value");
    assert_true(seen.engine_is_readable);
    hp_executable_fini(&program);
}

static void leaves_low_descriptors_alone(void **state)
{
    (void)state;
    struct hp_executable program;
    char *argv[] = {"true", NULL};
    assert_int_equal(hp_executable_find(argv, &program), HP_OK);
    struct seen none = start(&program);
    int given[3];
    for (int i = 0; i < 3; i++)
        assert_true((given[i] = open("/dev/null", O_RDONLY)) >= 0);
    struct seen three = start(&program);
    assert_int_equal(three.n_low, none.n_low + 3);
    assert_true(three.start.arena_fd > 100 && three.start.engine_fd > 100);
    assert_int_not_equal(three.start.arena_fd, three.start.engine_fd);
    /* One that the program was given keeps its place. */
    int taken = none.start.arena_fd;
    assert_int_equal(dup2(given[0], taken), taken);
    struct seen moved = start(&program);
    assert_int_not_equal(moved.start.arena_fd, taken);
    assert_int_not_equal(moved.start.engine_fd, taken);
    close(taken);
    for (int i = 0; i < 3; i++)
        close(given[i]);
    hp_executable_fini(&program);
}

static void stays_below_the_limit_on_files(void **state)
{
    (void)state;
    struct hp_executable program;
    char *argv[] = {"true", NULL};
    struct rlimit old, low;
    assert_int_equal(hp_executable_find(argv, &program), HP_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = (struct rlimit){.rlim_cur = 40, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    struct seen seen = start(&program);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_true(seen.start.arena_fd < 40 && seen.start.engine_fd < 40);
    hp_executable_fini(&program);
}

static void fails_when_no_descriptor_is_free(void **state)
{
    (void)state;
    int numbers[3], filled[64], n = 0, fd;
    struct rlimit old, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = (struct rlimit){.rlim_cur = 40, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (n < 64 && (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        filled[n++] = fd;
    close(filled[--n]);
    enum hp_err one = hp_spare_descriptors(numbers, 1), two = hp_spare_descriptors(numbers, 2);
    /* The pipe does not take the place of what is handed over. */
    struct hp_handed handed = {.fd = 0, .as = numbers[0]};
    pid_t pid;
    enum hp_err spawned =
        hp_spawn("/bin/true", (char *[]){"true", NULL}, environ, &handed, 1, &pid);
    while (n > 0)
        close(filled[--n]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(one, HP_OK);
    assert_int_equal(two, HP_ERR_IO);
    assert_int_equal(spawned, HP_ERR_IO);
}

/* The path is the file's own, as /proc/self/exe has it; the name as it would be given to execve().
 */
static void paths_are_real_and_names_as_given(void **state)
{
    (void)state;
    struct hp_executable program;
    char here[4096], *expected = realpath("/bin/true", NULL), *argv[] = {"./linked-true", NULL};
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(directory), 0);
    assert_int_equal(symlink("/bin/true", "linked-true"), 0);
    assert_int_equal(hp_executable_find(argv, &program), HP_OK);
    struct seen seen = start(&program);
    assert_int_equal(chdir("/"), 0);
    strcpy(program.path, "bin/true"); /* relative to the root */
    struct seen root = start(&program);
    assert_int_equal(chdir(here), 0);
    assert_non_null(expected);
    assert_string_equal(seen.start.path, expected);
    assert_string_equal(seen.start.name, "./linked-true");
    assert_string_equal(seen.argv, "./linked-true|");
    assert_string_equal(root.start.path, expected);
    free(expected);
    hp_executable_fini(&program);
}

/* --- What cannot be started ------------------------------------------------------------------- */

static void refuses_other_architectures(void **state)
{
    (void)state;
    struct hp_executable program = {.path = "/x/prog", .elf = {.arch = HP_ARCH_AARCH64}};
    assert_int_equal(hp_native_check(&program), HP_ERR_UNSUPPORTED);
    assert_non_null(strstr(hp_error_text(), "--engine qemu"));
#ifdef __x86_64__
    assert_non_null(strstr(hp_error_text(), "/x/prog is a program for aarch64"));
    program.elf.arch = HP_ARCH_X86_64;
    assert_int_equal(hp_native_check(&program), HP_OK);
#endif
}

static void says_when_there_is_no_interpreter(void **state)
{
    (void)state;
#ifdef __x86_64__
    struct hp_executable program = {.path = "/x/prog", .elf = {.arch = HP_ARCH_X86_64}};
    strcpy(program.elf.interpreter, "/no/such/ld.so");
    assert_int_equal(hp_native_check(&program), HP_ERR_NOTFOUND);
    assert_string_equal(hp_error_text(), "/x/prog: cannot run its interpreter /no/such/ld.so: No "
                                         "such file or directory");
    strcpy(program.elf.interpreter, "/bin/true/ld.so");
    assert_int_equal(hp_native_check(&program), HP_ERR_NOTFOUND);
    strcpy(program.elf.interpreter, "/proc/self/maps"); /* there, but nobody may run it */
    assert_int_equal(hp_native_check(&program), HP_ERR_UNSUPPORTED);
    strcpy(program.elf.interpreter, "/bin/true");
    assert_int_equal(hp_native_check(&program), HP_OK);
#endif
}

static void says_when_the_engine_is_not_installed(void **state)
{
    (void)state;
    struct hp_executable program;
    char *argv[] = {"true", NULL};
    char *path = NULL;
    pid_t pid;
    setenv("HOTPATH_PLUGIN_DIR", "/nonexistent", 1);
    assert_int_equal(hp_find_part("no-such-part", R_OK, &path), HP_ERR_NOTFOUND);
    assert_non_null(strstr(hp_error_text(), "no-such-part is neither beside the hotpath command"));
    assert_non_null(strstr(hp_error_text(), "HOTPATH_PLUGIN_DIR"));
    assert_null(path);
    assert_int_equal(hp_executable_find(argv, &program), HP_OK);
    assert_int_equal(hp_native_start(&program, 0, false, &pid), HP_ERR_NOTFOUND);
    assert_false(hp_native_installed());
    setenv("HOTPATH_PLUGIN_DIR", directory, 1);
    assert_true(hp_native_installed());
    hp_executable_fini(&program);
}

static void says_when_an_exec_fails(void **state)
{
    (void)state;
    pid_t pid;
    char *argv[] = {"x", NULL};
    assert_int_equal(hp_spawn("/nonexistent/x", argv, environ, NULL, 0, &pid), HP_ERR_IO);
    assert_string_equal(hp_error_text(), "cannot start /nonexistent/x: No such file or directory");
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* no process is left behind */
}

static int install_engine(void **state)
{
    (void)state;
    char self[4096] = "", path[256];
    if (!mkdtemp(directory) || readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/hotpath-engine", directory);
    return setenv("HOTPATH_PLUGIN_DIR", directory, 1) || symlink(self, path);
}

static int remove_engine(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

int main(int argc, char **argv)
{
    if (getenv("HOTPATH_PLUGIN_DIR") && strstr(getenv("HOTPATH_PLUGIN_DIR"), "hotpath-native."))
        return be_engine(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_engine_what_start_h_says),
        cmocka_unit_test(leaves_low_descriptors_alone),
        cmocka_unit_test(stays_below_the_limit_on_files),
        cmocka_unit_test(fails_when_no_descriptor_is_free),
        cmocka_unit_test(paths_are_real_and_names_as_given),
        cmocka_unit_test(refuses_other_architectures),
        cmocka_unit_test(says_when_there_is_no_interpreter),
        cmocka_unit_test(says_when_the_engine_is_not_installed),
        cmocka_unit_test(says_when_an_exec_fails),
    };
    return cmocka_run_group_tests(tests, install_engine, remove_engine);
}
