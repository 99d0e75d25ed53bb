// SPDX-License-Identifier: MIT
/* What views of system calls are made of: names, times, and for whom a call was made. */
#include "report/syscalls/syscalls.h"
#include "symbols/syscalls.h"

#include "report_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include <cmocka.h>

static void calls_have_names(void **state)
{
    (void)state;
    assert_string_equal(hp_syscall_name(HP_ARCH_X86_64, 0), "read");
    assert_string_equal(hp_syscall_name(HP_ARCH_X86_64, 231), "exit_group");
    assert_string_equal(hp_syscall_name(HP_ARCH_X86_64, 462), "mseal");
    assert_string_equal(hp_syscall_name(HP_ARCH_AARCH64, 63), "read");
    assert_string_equal(hp_syscall_name(HP_ARCH_RISCV64, 94), "exit_group");
    assert_string_equal(hp_syscall_name(HP_ARCH_ARM, 3), "read");
    assert_string_equal(hp_syscall_name(HP_ARCH_ARM, 0xf0005), "set_tls");
    assert_string_equal(hp_syscall_name(HP_ARCH_ALPHA, 59), "execve");
    assert_null(hp_syscall_name(HP_ARCH_X86_64, 100000));
    assert_null(hp_syscall_name(HP_ARCH_X86_64, UINT32_MAX));
    assert_null(hp_syscall_name(HP_ARCH_NONE, 0));
#ifdef __x86_64__
    assert_string_equal(hp_syscall_name(HP_ARCH_X86_64, SYS_epoll_wait), "epoll_wait");
    assert_string_equal(hp_syscall_name(HP_ARCH_X86_64, SYS_futex), "futex");
    assert_string_equal(hp_syscall_name(HP_ARCH_X86_64, SYS_clone3), "clone3");
#endif
}

static void expect_time(uint64_t ns, const char *expected)
{
    struct hp_strbuf text = {0};
    hp_put_time(ns, &text);
    assert_string_equal(hp_strbuf_text(&text), expected);
    hp_strbuf_fini(&text);
}

static void times_have_three_digits(void **state)
{
    (void)state;
    expect_time(0, "0 ns");
    expect_time(999, "999 ns");
    expect_time(1000, "1.00 \u00b5s");
    expect_time(12345, "12.3 \u00b5s");
    expect_time(999499, "999 \u00b5s");
    expect_time(999500, "1.00 ms");
    expect_time(99940000, "99.9 ms");
    expect_time(99960000, "100 ms");
    expect_time(1234567890, "1.23 s");
    expect_time(3600000000000, "3600 s");
}

/* main calls work of the program, that read of the C library, and that a part of it. */
static struct hp_pmodule modules[] = {{"/bin/p", ""}, {"/lib/libc.so.6", ""}};
static struct hp_pfunction functions[] = {
    {{0, 0x1000}, 16, "main", "main", "", 0},       {{0, 0x1100}, 16, "work", "work", "", 0},
    {{1, 0x100}, 16, "fread", "fread", "", 0},      {{1, 0x200}, 16, "__read", "__read", "", 0},
    {{0, 0x1200}, 16, "my_read", "my_read", "", 0},
};
static struct hp_pcontext contexts[] = {{HP_PROFILE_NONE, 0}, {0, 1}, {1, 2}, {2, 3}, {0, 4}};

static void calls_are_made_for_somebody(void **state)
{
    (void)state;
    struct hp_profile p = {.run = {.arch = HP_ARCH_X86_64}};
    uint32_t path[HP_CONTEXT_DEPTH + 1];
    p.modules = modules;
    p.n_modules = 2;
    p.functions = functions;
    p.n_functions = 5;
    p.contexts = contexts;
    p.n_contexts = 5;
    struct hp_psyscall call = {.context = 3, .function = 3};
    assert_int_equal(hp_syscall_caller(&p, &call), 1);
    assert_int_equal(hp_syscall_path(&p, &call, path), 4);
    assert_int_equal(path[0], 3);
    assert_int_equal(path[3], 0);
    call = (struct hp_psyscall){.context = 4, .function = 4}; /* named like it */
    assert_int_equal(hp_syscall_caller(&p, &call), 0);
    call.number = 1; /* write */
    assert_int_equal(hp_syscall_caller(&p, &call), 4);
    call = (struct hp_psyscall){.context = HP_PROFILE_NONE, .function = 3};
    assert_int_equal(hp_syscall_caller(&p, &call), 3);
    assert_int_equal(hp_syscall_path(&p, &call, path), 1);
    /* The context was too light to be kept: its parent's is there, and the function. */
    call = (struct hp_psyscall){.context = 1, .function = 3};
    assert_int_equal(hp_syscall_caller(&p, &call), 1);
    assert_int_equal(hp_syscall_path(&p, &call, path), 3);
    call = (struct hp_psyscall){.context = HP_PROFILE_NONE, .function = HP_PROFILE_NONE};
    assert_int_equal(hp_syscall_caller(&p, &call), HP_PROFILE_NONE);
}

static void rows_are_of_a_number(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    fixture_add_syscalls(&profile);
    struct hp_report_options options = {.view = &hp_view_syscalls};
    profile.n_notes = 0;
    char *text = render(&profile, &options);
    assert_string_equal(text,
                        "  share    time  calls  errors    mean  longest  call          for\n"
                        "  50.0%  1.50 s     12       1  125 ms   800 ms  read          work\n"
                        "  <0.1%   30 ns      3       3   10 ns    10 ns  syscall_5000  helper\n"
                        "   0.0%              1                           exit_group    work\n");
    free(text);
    options = (struct hp_report_options){.view = &hp_view_syscalls, .query.thread = "0"};
    text = render(&profile, &options);
    assert_non_null(strstr(text, "  30.0%  600 ms     10       1  60.0 ms   500 ms  read"));
    free(text);
    options = (struct hp_report_options){.view = &hp_view_syscalls, .query.function = "helper"};
    text = render(&profile, &options);
    assert_null(strstr(text, "read"));
    assert_non_null(strstr(text, "syscall_5000"));
    free(text);
    options = (struct hp_report_options){.view = &hp_view_summary};
    text = render(&profile, &options);
    assert_non_null(strstr(text,
                           "\n  30.0% of the time of the busiest thread (demo) in system calls: "
                           "read 30.0%\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_names),
        cmocka_unit_test(times_have_three_digits),
        cmocka_unit_test(calls_are_made_for_somebody),
        cmocka_unit_test(rows_are_of_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
