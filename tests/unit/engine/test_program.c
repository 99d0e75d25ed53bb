// SPDX-License-Identifier: MIT
/* From a command to the file that has to be run; and what an ELF file says of itself. */
#include "engine/elf_file.h"
#include "engine/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[64];

/* A path in the test's directory; valid for the next few calls. */
static char *in_directory(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t size, mode_t mode)
{
    const char *path = in_directory(name);
    unlink(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void write_script(const char *name, const char *text)
{
    write_file(name, text, strlen(text), 0755);
}

/* The smallest file that is a program: one loadable segment, an interpreter, a build id. */
struct tiny_elf {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    char interpreter[16];
    Elf64_Nhdr note;
    char name[4];
    uint8_t id[8];
};

static struct tiny_elf tiny_elf(uint16_t machine)
{
    struct tiny_elf e = {
        .header = {.e_type = ET_DYN,
                   .e_machine = machine,
                   .e_version = EV_CURRENT,
                   .e_phoff = offsetof(struct tiny_elf, segments),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 3},
        .segments = {{.p_type = PT_LOAD, .p_filesz = sizeof e, .p_memsz = sizeof e},
                     {.p_type = PT_INTERP,
                      .p_offset = offsetof(struct tiny_elf, interpreter),
                      .p_filesz = 16},
                     {.p_type = PT_NOTE,
                      .p_offset = offsetof(struct tiny_elf, note),
                      .p_filesz = sizeof(Elf64_Nhdr) + 12,
                      .p_align = 4}},
        .interpreter = "/lib/ld.so",
        .note = {.n_namesz = 4, .n_descsz = 8, .n_type = NT_GNU_BUILD_ID},
        .name = "GNU",
        .id = {0x01, 0xab, 0, 0, 0, 0, 0, 0xff},
    };
    memcpy(e.header.e_ident, ELFMAG, SELFMAG);
    e.header.e_ident[EI_CLASS] = ELFCLASS64;
    e.header.e_ident[EI_DATA] = ELFDATA2LSB;
    e.header.e_ident[EI_VERSION] = EV_CURRENT;
    return e;
}

static int setup(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/hotpath-test-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    struct tiny_elf e = tiny_elf(EM_X86_64);
    write_file("elf", &e, sizeof e, 0755);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

/* --- ELF files -------------------------------------------------------------------------------- */

static void an_elf_file_is_read(void **state)
{
    (void)state;
    struct hp_elf_file file;
    assert_int_equal(hp_elf_file_read(in_directory("elf"), &file), HP_OK);
    assert_int_equal(file.arch, HP_ARCH_X86_64);
    assert_int_equal(file.machine, EM_X86_64);
    assert_true(file.loadable);
    assert_string_equal(file.interpreter, "/lib/ld.so");
    assert_string_equal(file.build_id, "01ab0000000000ff");
}

static void architectures(void **state)
{
    (void)state;
    static const struct {
        uint16_t machine;
        enum hp_arch arch;
    } known[] = {{EM_X86_64, HP_ARCH_X86_64}, {EM_AARCH64, HP_ARCH_AARCH64},
                 {EM_ARM, HP_ARCH_ARM},       {EM_RISCV, HP_ARCH_RISCV64},
                 {EM_ALPHA, HP_ARCH_ALPHA},   {EM_PPC64, HP_ARCH_NONE},
                 {EM_386, HP_ARCH_NONE}};
    struct hp_elf_file file;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct tiny_elf e = tiny_elf(known[i].machine);
        write_file("other", &e, sizeof e, 0755);
        assert_int_equal(hp_elf_file_read(in_directory("other"), &file), HP_OK);
        assert_int_equal(file.arch, known[i].arch);
    }
    struct tiny_elf big = tiny_elf(EM_AARCH64);
    big.header.e_ident[EI_DATA] = ELFDATA2MSB;
    write_file("other", &big, sizeof big, 0755);
    if (hp_elf_file_read(in_directory("other"), &file) == HP_OK)
        assert_int_equal(file.arch, HP_ARCH_NONE);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    struct hp_elf_file file;
    assert_int_equal(hp_elf_file_read(in_directory("nothing"), &file), HP_ERR_IO);
    assert_int_equal(hp_elf_file_read("/dev/null", &file), HP_ERR_FORMAT);
    assert_int_equal(hp_elf_file_read(directory, &file), HP_ERR_FORMAT);
    write_script("text", "hello\n");
    assert_int_equal(hp_elf_file_read(in_directory("text"), &file), HP_ERR_FORMAT);
}

/* Any byte of it changed, any length: an answer or an error. */
static void damaged_elf_files(void **state)
{
    (void)state;
    struct hp_elf_file file;
    struct tiny_elf good = tiny_elf(EM_X86_64);
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t i = 0; i < sizeof good; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            struct tiny_elf bad = good;
            ((uint8_t *)&bad)[i] = values[k];
            write_file("bad", &bad, sizeof bad, 0755);
            hp_elf_file_read(in_directory("bad"), &file);
            assert_true(memchr(file.interpreter, 0, sizeof file.interpreter) != NULL);
            assert_true(memchr(file.build_id, 0, sizeof file.build_id) != NULL);
        }
    for (size_t size = 0; size < sizeof good; size++) {
        write_file("bad", &good, size, 0755);
        hp_elf_file_read(in_directory("bad"), &file);
    }
}

/* --- Programs --------------------------------------------------------------------------------- */

/* Finds the program of a command; `expected` is its path and then its arguments. */
static void expect_program(char **command, const char *expected)
{
    struct hp_executable program;
    char text[1024];
    if (hp_executable_find(command, &program) != HP_OK)
        fail_msg("%s", hp_error_text());
    /* What execve() would be given: of a script its own name. */
    if (strchr(command[0], '/'))
        assert_string_equal(program.name, command[0]);
    else
        assert_string_equal(program.name, program.path);
    snprintf(text, sizeof text, "%s:", program.path);
    for (char **word = program.argv; *word; word++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %s", *word);
    assert_string_equal(text, expected);
    assert_true(program.elf.loadable);
    hp_executable_fini(&program);
}

static void expect_failure(char **command, enum hp_err err, const char *text)
{
    struct hp_executable program;
    assert_int_equal(hp_executable_find(command, &program), err);
    assert_string_equal(hp_error_text(), text);
    assert_null(program.path);
    assert_null(program.argv);
    assert_null(program.name);
    hp_executable_fini(&program);
}

#define COMMAND(...) ((char *[]){__VA_ARGS__, NULL})

static char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text_of(const char *format, ...)
{
    static char texts[8][1024];
    static int next;
    char *text = texts[next++ % 8];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof texts[0], format, args);
    va_end(args);
    return text;
}

static void programs_by_path(void **state)
{
    (void)state;
    char *elf = in_directory("elf");
    expect_program(COMMAND(elf), text_of("%s: %s", elf, elf));
    expect_program(COMMAND(elf, "", "b c"), text_of("%s: %s  b c", elf, elf));
}

static void programs_in_the_search_path(void **state)
{
    (void)state;
    char old[4096];
    snprintf(old, sizeof old, "%s", getenv("PATH"));
    char *elf = in_directory("elf");
    write_file("plain", "x", 1, 0644);
    setenv("PATH", text_of("/nonexistent:%s:/bin", directory), 1);
    expect_program(COMMAND("elf", "x"), text_of("%s: elf x", elf));
    expect_failure(COMMAND("plain"), HP_ERR_NOTFOUND, "plain: command not found");
    expect_failure(COMMAND("no-such-program"), HP_ERR_NOTFOUND,
                   "no-such-program: command not found");
    expect_failure(COMMAND(""), HP_ERR_NOTFOUND, ": command not found");
    /* An empty element, wherever it stands, is the directory one is in. */
    char here[1024];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(directory), 0);
    static const char *const paths[] = {":/nonexistent", "/nonexistent::/x", "/nonexistent:", ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        setenv("PATH", paths[i], 1);
        expect_program(COMMAND("elf"), "./elf: elf");
    }
    unsetenv("PATH");
    expect_failure(COMMAND("elf"), HP_ERR_NOTFOUND, "elf: command not found");
    char *sh = hp_find_in_path("sh");
    assert_non_null(sh);
    free(sh);
    assert_int_equal(chdir(here), 0);
    setenv("PATH", old, 1);
}

static void scripts_lead_to_their_interpreter(void **state)
{
    (void)state;
    char *elf = in_directory("elf"), *a = in_directory("a"), *b = in_directory("b");
    write_script("a", text_of("#!%s\nrest\n", elf));
    expect_program(COMMAND(a, "x"), text_of("%s: %s %s x", elf, elf, a));
    write_script("a", text_of("#! \t%s  -x  -y \t\r\n", elf));
    expect_program(COMMAND(a, "x"), text_of("%s: %s -x  -y %s x", elf, elf, a));
    write_script("a", text_of("#!%s", elf)); /* no end of line */
    expect_program(COMMAND(a), text_of("%s: %s %s", elf, elf, a));
    /* the interpreter of a script may be a script */
    write_script("b", text_of("#!%s -b\n", a));
    expect_program(COMMAND(b, "x"), text_of("%s: %s %s -b %s x", elf, elf, a, b));
    /* text without a first line is the shell's */
    write_script("a", "echo hello\n");
    struct hp_executable program;
    assert_int_equal(hp_executable_find(COMMAND(a, "x"), &program), HP_OK);
    assert_string_equal(program.name, "/bin/sh");
    assert_string_equal(program.argv[0], "/bin/sh");
    assert_string_equal(program.argv[1], a);
    assert_string_equal(program.argv[2], "x");
    hp_executable_fini(&program);
}

/* An archive behind the first line, as Python's zipapp makes them. */
static void scripts_with_binary_inside(void **state)
{
    (void)state;
    char *elf = in_directory("elf"), *a = in_directory("a");
    char *text = text_of("#!%s\nPK__", elf);
    size_t size = strlen(text);
    memcpy(text + size - 2, "\0\1", 2);
    write_file("a", text, size, 0755);
    expect_program(COMMAND(a), text_of("%s: %s %s", elf, elf, a));
}

static void scripts_that_lead_nowhere(void **state)
{
    (void)state;
    char *a = in_directory("a"), *plain = in_directory("plain");
    write_script("a", text_of("#!%s\n", a)); /* itself */
    expect_failure(COMMAND(a), HP_ERR_UNSUPPORTED, text_of("%s: too many levels of scripts", a));
    write_script("a", "#!/nonexistent/sh\n");
    expect_failure(COMMAND(a), HP_ERR_UNSUPPORTED,
                   text_of("%s: cannot run its interpreter /nonexistent/sh", a));
    write_script("a", "#!\n");
    expect_failure(COMMAND(a), HP_ERR_UNSUPPORTED, text_of("%s: cannot run its interpreter ", a));
    write_file("plain", "#!x", 3, 0644);
    write_script("a", text_of("#!%s\n", plain));
    expect_failure(COMMAND(a), HP_ERR_UNSUPPORTED,
                   text_of("%s: cannot run its interpreter %s", a, plain));
    write_file("a", "\0\1\2\3", 4, 0755);
    expect_failure(COMMAND(a), HP_ERR_UNSUPPORTED,
                   text_of("%s is neither an ELF program nor a script", a));
    write_file("a", "#!/bin/\0sh\n", 11, 0755);
    expect_failure(COMMAND(a), HP_ERR_UNSUPPORTED,
                   text_of("%s is neither an ELF program nor a script", a));
}

static void what_cannot_be_run(void **state)
{
    (void)state;
    char *plain = in_directory("plain"), *other = in_directory("other");
    char *nothing = in_directory("nothing");
    write_file("plain", "x", 1, 0644);
    expect_failure(COMMAND(nothing), HP_ERR_NOTFOUND,
                   text_of("%s: No such file or directory", nothing));
    expect_failure(COMMAND(plain), HP_ERR_UNSUPPORTED,
                   text_of("%s: not an executable file", plain));
    expect_failure(COMMAND(directory), HP_ERR_UNSUPPORTED,
                   text_of("%s: not an executable file", directory));
    struct tiny_elf e = tiny_elf(EM_PPC64);
    struct hp_executable program;
    write_file("other", &e, sizeof e, 0755);
    assert_int_equal(hp_executable_find(COMMAND(other), &program), HP_ERR_UNSUPPORTED);
    assert_non_null(strstr(hp_error_text(), "architecture hotpath cannot watch (ELF machine 21)"));
    e = tiny_elf(EM_X86_64);
    e.header.e_ident[EI_CLASS] =
        ELFCLASS32; /* what follows is then no header that fits, but it is read */
    write_file("other", &e, sizeof e, 0755);
    assert_int_equal(hp_executable_find(COMMAND(other), &program), HP_ERR_UNSUPPORTED);
    assert_non_null(strstr(hp_error_text(), "is a 32-bit x86 program"));
    assert_non_null(strstr(hp_error_text(), "--engine qemu"));
    e = tiny_elf(EM_X86_64);
    e.header.e_type = ET_REL;
    write_file("other", &e, sizeof e, 0755);
    assert_int_equal(hp_executable_find(COMMAND(other), &program), HP_ERR_UNSUPPORTED);
    assert_non_null(strstr(hp_error_text(), "an ELF file without a program"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_elf_file_is_read),
        cmocka_unit_test(architectures),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(damaged_elf_files),
        cmocka_unit_test(programs_by_path),
        cmocka_unit_test(programs_in_the_search_path),
        cmocka_unit_test(scripts_lead_to_their_interpreter),
        cmocka_unit_test(scripts_with_binary_inside),
        cmocka_unit_test(scripts_that_lead_nowhere),
        cmocka_unit_test(what_cannot_be_run),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
