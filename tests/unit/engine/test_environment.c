// SPDX-License-Identifier: MIT
/* The environment of runs that are to be repeated elsewhere. */
#include "engine/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void environment_fills_pages(void **state)
{
    (void)state;
    char text[5000], *environment[4] = {0}, *argv[4] = {0};
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (size_t length = 0; length < sizeof text; length += 61)
        for (size_t n = 0; n < 9; n++) {
            size_t bytes = sizeof "/the/engine", count = 0;
            for (size_t i = 0; i < 3; i++) {
                environment[i] = i < n % 3 ? text + length : NULL;
                argv[i] = i < n / 3 ? "word" : NULL;
            }
            char **padded;
            assert_int_equal(hp_environment_pad(environment, argv, "/the/engine", &padded), HP_OK);
            for (char **at = padded; *at; at++, count++)
                bytes += strlen(*at) + 1;
            for (char **at = argv; *at; at++, count++)
                bytes += strlen(*at) + 1;
            assert_int_equal((bytes + count * sizeof(char *)) % 4096, 0);
            assert_int_equal(count % 2, 0);
            assert_int_equal(strncmp(padded[n % 3], HP_ENVIRONMENT_PAD "=", 12), 0);
            free(padded);
        }
}

static void fixed_variables_and_more(void **state)
{
    char **environment;
    (void)state;
    setenv("PATH", "/a:/b", 1);
    unsetenv("HOME");
    setenv("LC_ALL", "de_DE", 1);
    assert_int_equal(hp_environment_fixed(1, &environment), HP_OK);
    assert_int_equal(hp_environment_set(environment, "TZ=", 2, "CET"), HP_OK);
    assert_int_equal(hp_environment_set(environment, "MORE", 4, "a=b"), HP_OK);
    const char *expected[] = {"PATH=/a:/b", "HOME=/", "LC_ALL=C", "TZ=CET", "MORE=a=b"};
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(environment[i], expected[i]);
    assert_null(environment[5]);
    hp_environment_free(environment);
    hp_environment_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_fills_pages),
        cmocka_unit_test(fixed_variables_and_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
