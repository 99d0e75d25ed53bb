// SPDX-License-Identifier: MIT
/* What is asked of the kernel before recording, and how perf is called. */
#include "import/hardware.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/ibs.h"

/* A kernel that allows what its rules say. */
struct kernel {
    bool stacks, ibs, ibs_without_kernel;
    int error; /* of the rest */
};

static int open_event(void *context, struct perf_event_attr *attr)
{
    const struct kernel *kernel = context;
    bool ibs = attr->type == 77;
    bool allowed =
        ibs ? (attr->exclude_kernel ? kernel->ibs_without_kernel && attr->config2 : kernel->ibs)
        : attr->exclude_kernel ? kernel->stacks
                               : false;
    assert_true(attr->disabled);
    assert_int_equal(attr->size, sizeof *attr);
    assert_true(ibs ? attr->config == HP_IBS_CONFIG_OPS : attr->branch_sample_type != 0);
    errno = kernel->error;
    return allowed ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
}

static void put_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A folder with ibs_op/type, and the file of the level. */
static int setup(void **state)
{
    char *folder = strdup("/tmp/hotpath-hardware-XXXXXX"), path[256];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/ibs_op", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/ibs_op/type", folder);
    put_text(path, "77\n");
    snprintf(path, sizeof path, "%s/level", folder);
    put_text(path, "3\n");
    *state = folder;
    return 0;
}

static int teardown(void **state)
{
    const char *const names[] = {"ibs_op/type", "ibs_op", "level", "perf", "words"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", (char *)*state, names[i]);
        remove(path);
    }
    remove(*state);
    free(*state);
    return 0;
}

/* The event that is chosen; NULL: none, and the text says why. */
static const char *event_of(const char *folder, const char *maker, struct kernel kernel)
{
    char level[256];
    const struct hp_hardware *hardware;
    snprintf(level, sizeof level, "%s/level", folder);
    const struct hp_hardware_host host = {maker, folder, level, open_event, &kernel};
    enum hp_err err = hp_hardware_find(&host, false, &hardware);
    if (err != HP_OK) {
        assert_int_equal(err, HP_ERR_UNSUPPORTED);
        return NULL;
    }
    for (size_t i = 0; hardware->words[i]; i++)
        if (strcmp(hardware->words[i], "-e") == 0)
            return hardware->words[i + 1];
    return "";
}

static void best_is_chosen(void **state)
{
    const struct kernel all = {.stacks = true, .ibs = true, .ibs_without_kernel = true};
    const struct kernel ibs = {.ibs = true, .error = EOPNOTSUPP};
    const struct kernel filtered = {.ibs_without_kernel = true, .error = EACCES};
    assert_string_equal(event_of(*state, "intel", all), "r20c4:u");
    assert_string_equal(event_of(*state, "amd", all), "rc4:u");
    assert_string_equal(event_of(*state, "", all), "cycles:u");
    assert_string_equal(event_of(*state, "amd", ibs), "ibs_op/cnt_ctl=1/");
    assert_string_equal(event_of(*state, "amd", filtered), "ibs_op/cnt_ctl=1,swfilt=1/u");
    assert_null(event_of(*state, "intel", ibs));
}

static void instructions_can_be_demanded(void **state)
{
    struct kernel kernel = {.stacks = true, .error = EOPNOTSUPP};
    const struct hp_hardware_host host = {"amd", *state, "", open_event, &kernel};
    const struct hp_hardware *hardware;
    assert_int_equal(hp_hardware_find(&host, true, &hardware), HP_ERR_UNSUPPORTED);
    assert_non_null(strstr(hp_error_text(), "no samples of instructions"));
    kernel.ibs = true;
    assert_int_equal(hp_hardware_find(&host, true, &hardware), HP_OK);
    assert_string_equal(hardware->what, "samples of instructions");
}

static void reason_is_said(void **state)
{
    assert_null(event_of(*state, "amd", (struct kernel){.error = EACCES}));
    assert_non_null(strstr(hp_error_text(), "kernel.perf_event_paranoid is 3"));
    assert_null(event_of(*state, "intel", (struct kernel){.error = EOPNOTSUPP}));
    assert_non_null(strstr(hp_error_text(), "neither branch stacks nor samples"));
    assert_null(event_of(*state, "intel", (struct kernel){.error = ENOENT}));
    assert_non_null(strstr(hp_error_text(), "counters are not there"));
    assert_null(event_of("/nowhere", "amd", (struct kernel){.error = EPERM}));
    assert_non_null(strstr(hp_error_text(), "containers"));
}

/* A perf that writes down its words. */
static void perf_gets_the_words(void **state)
{
    const struct hp_hardware hardware = {"branch stacks", {"-j", "any,u", NULL}};
    char *words_of[] = {"prog", "-x", "a b", NULL};
    const struct hp_hardware_program program = {words_of, "/dev/null", "/dev/null"};
    char path[256], script[512], words[256] = "", *before = strdup(getenv("PATH"));
    int status = -1;
    snprintf(path, sizeof path, "%s/perf", (char *)*state);
    snprintf(script, sizeof script, "#!/bin/sh\nprintf '%%s|' \"$@\" > %s/words\nexit 7\n",
             (char *)*state);
    put_text(path, script);
    chmod(path, 0700);
    setenv("PATH", *state, 1);
    assert_int_equal(hp_hardware_record(&hardware, "out.data", &program, &status), HP_OK);
    setenv("PATH", before, 1);
    assert_int_equal(status, 7);
    snprintf(path, sizeof path, "%s/words", (char *)*state);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(words, sizeof words, file));
    fclose(file);
    assert_string_equal(words, "record|-q|-o|out.data|-j|any,u|--|prog|-x|a b|");
    free(before);
}

static void missing_perf_is_said(void **state)
{
    const struct hp_hardware hardware = {"branch stacks", {NULL}};
    char *words[] = {"prog", NULL}, *before = strdup(getenv("PATH"));
    const struct hp_hardware_program program = {.words = words};
    int status;
    setenv("PATH", *state, 1);
    assert_int_equal(hp_hardware_record(&hardware, "out.data", &program, &status), HP_ERR_NOTFOUND);
    setenv("PATH", before, 1);
    assert_non_null(strstr(hp_error_text(), "not installed"));
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(best_is_chosen, setup, teardown),
        cmocka_unit_test_setup_teardown(instructions_can_be_demanded, setup, teardown),
        cmocka_unit_test_setup_teardown(reason_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(perf_gets_the_words, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_perf_is_said, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
