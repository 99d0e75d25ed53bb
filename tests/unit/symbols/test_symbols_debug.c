// SPDX-License-Identifier: MIT
/*
 * Lines and inlined functions, separate debug files, and files that were damaged.
 */
#include "symbols/build.h"

#include "symbols/demangle.h"
#include "symbols/symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>

static struct hp_symbols *open_built(const char *name)
{
    struct hp_symbols *symbols;
    enum hp_err err = hp_symbols_open(built(name), "", &symbols);
    if (err != HP_OK)
        fail_msg("%s: %s", name, hp_error_text());
    return symbols;
}

static const struct hp_symbol *function(struct hp_symbols *symbols, const char *name)
{
    uint64_t offset;
    if (hp_symbols_by_name(symbols, name, &offset, 1) != 1)
        fail_msg("not one function named %s", name);
    return hp_symbols_find(symbols, offset);
}

static bool has_line(struct hp_symbols *symbols, const char *name)
{
    struct hp_source source;
    return hp_symbols_source(symbols, function(symbols, name)->offset, &source) == HP_OK &&
           strstr(source.file, "/inline.c") && source.line;
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* Whether some instruction of outer() is from that line, inlined from there. */
static bool occurs(struct hp_symbols *symbols, const char *mark, const char *inlined,
                   const char *call_mark)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/inline.c", sources_dir);
    uint32_t line = line_of("inline.c", mark),
             call = call_mark ? line_of("inline.c", call_mark) : 0;
    const struct hp_symbol *outer = function(symbols, "outer");
    for (uint64_t i = 0; i < outer->size; i++) {
        struct hp_source source;
        assert_int_equal(hp_symbols_source(symbols, outer->offset + i, &source), HP_OK);
        if (source.line == line && strcmp(source.file, path) == 0 &&
            strcmp(source.inlined, inlined) == 0 && source.call_line == call &&
            strcmp(source.call_file, call ? path : "") == 0)
            return true;
    }
    return false;
}

static void check_inlining(const char *compiler, const char *options)
{
    if (run("%s %s -O2 $S/inline.c -o inline", compiler, options) != 0)
        fail_msg("cannot build: %s %s", compiler, options);
    struct hp_symbols *symbols = open_built("inline");
    if (!occurs(symbols, "/* INNER", "inner", "/* CALL INNER") ||
        !occurs(symbols, "/* MIDDLE", "middle", "/* CALL MIDDLE") ||
        !occurs(symbols, "return a + 1", "", NULL))
        fail_msg("%s %s: lines or inlining not found", compiler, options);
    assert_false(occurs(symbols, "/* INNER", "middle", "/* CALL MIDDLE"));
    assert_false(occurs(symbols, "/* INNER", "", NULL));
    struct hp_source source;
    assert_int_equal(hp_symbols_source(symbols, 0, &source), HP_ERR_NOTFOUND);
    assert_string_equal(source.file, "");
    hp_symbols_close(symbols);
}

static void inlined_lines_are_found(void **state)
{
    (void)state;
    check_inlining("cc", "-gdwarf-4");
    check_inlining("cc", "-gdwarf-5");
    check_inlining("cc", "-gdwarf-5 -gz=zlib");
    check_inlining("cc", "-gdwarf-4 -ffunction-sections -Wl,--gc-sections");
    check_inlining("cc", "-gdwarf-5 -flto");
    if (!have("clang"))
        return;
    check_inlining("clang", "-gdwarf-4 -fno-lto");
    check_inlining("clang", "-gdwarf-5 -ffunction-sections");
    check_inlining("clang", "-gdwarf-5 -gsplit-dwarf");
}

/* clang's units are not in .debug_aranges, gcc's are. */
static void units_outside_of_aranges_are_found(void **state)
{
    (void)state;
    if (!have("clang"))
        skip();
    assert_int_equal(run("printf 'unsigned outer(unsigned);\\nint more(int x)\\n{ return x + "
                         "(int)outer(3); }\\n' > more.c && clang -g -O1 -c more.c && "
                         "gcc -g -O2 $S/inline.c more.o -o mixed"),
                     0);
    struct hp_symbols *symbols = open_built("mixed");
    assert_true(has_line(symbols, "outer"));
    struct hp_source source;
    assert_int_equal(hp_symbols_source(symbols, function(symbols, "more")->offset, &source), HP_OK);
    assert_string_equal(source.file, built("more.c"));
    hp_symbols_close(symbols);
}

static void relative_directories_are_not_doubled(void **state)
{
    (void)state;
    for (int version = 4; version <= 5; version++) {
        assert_int_equal(
            run("mkdir -p sub/in && cp $S/inline.c sub/in && cd sub && "
                "cc -gdwarf-%d -ffile-prefix-map=\"$PWD\"=./src in/inline.c -o ../a && "
                "cd in && cc -gdwarf-%d -ffile-prefix-map=\"$PWD\"=./src inline.c "
                "-o ../../b",
                version, version),
            0);
        struct hp_source source;
        struct hp_symbols *symbols = open_built("a");
        assert_int_equal(hp_symbols_source(symbols, function(symbols, "outer")->offset, &source),
                         HP_OK);
        assert_string_equal(source.file, "src/in/inline.c");
        hp_symbols_close(symbols);
        symbols = open_built("b");
        assert_int_equal(hp_symbols_source(symbols, function(symbols, "outer")->offset, &source),
                         HP_OK);
        assert_string_equal(source.file, "src/inline.c");
        hp_symbols_close(symbols);
    }
}

/* --- Against libdw's own look-ups ------------------------------------------------------------- */

/* The name of a DIE behind those of what it is declared in: "std::thread::name". */
static char *qualified_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die declared = *die, *scopes = NULL;
    while (dwarf_attr(&declared, DW_AT_abstract_origin, &attribute) ||
           dwarf_attr(&declared, DW_AT_specification, &attribute))
        assert_non_null(dwarf_formref_die(&attribute, &declared));
    const char *own = dwarf_diename(&declared);
    bool is_namespace = dwarf_tag(&declared) == DW_TAG_namespace;
    char *name = strdup(own ? own : is_namespace ? "(anonymous namespace)" : "{unnamed}");
    int n = dwarf_getscopes_die(&declared, &scopes);
    for (int i = 1; i < n; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_namespace && tag != DW_TAG_subprogram && tag != DW_TAG_class_type &&
            tag != DW_TAG_structure_type && tag != DW_TAG_union_type)
            continue;
        char *before = qualified_name(&scopes[i]), *longer;
        char *unnamed = strstr(before, "{unnamed}");
        if (strcmp(name, "operator()") == 0 && unnamed && !unnamed[strlen("{unnamed}")])
            strcpy(unnamed, "{lambda}");
        assert_true(asprintf(&longer, "%s::%s", before, name) >= 0);
        free(before);
        free(name);
        name = longer;
        break;
    }
    free(scopes);
    return name;
}

/* The innermost inlined function at `address` by dwarf_getscopes(), "" when there is none. */
static char *scope_name(Dwarf_Die *unit, Dwarf_Addr address, int *call_line)
{
    Dwarf_Die *scopes = NULL;
    int n = dwarf_getscopes(unit, address, &scopes);
    char *name = NULL;
    *call_line = 0;
    for (int i = 0; i < n && !name; i++) {
        if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
            break;
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
            continue;
        Dwarf_Attribute attribute;
        Dwarf_Word line = 0;
        if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &line) == 0)
            *call_line = (int)line;
        const char *linkage =
            dwarf_formstring(dwarf_attr_integrate(&scopes[i], DW_AT_linkage_name, &attribute));
        name = linkage ? hp_demangle(linkage, true) : NULL;
        if (!name)
            name = linkage ? strdup(linkage) : qualified_name(&scopes[i]);
    }
    free(scopes);
    return name ? name : strdup("");
}

/* The frames of an instruction say the same as its source. */
static void check_frames(struct hp_symbols *symbols, uint64_t offset,
                         const struct hp_source *source, struct hp_source_frames *frames)
{
    assert_int_equal(hp_symbols_frames(symbols, offset, frames), HP_OK);
    assert_true(frames->n > 0 && frames->until > offset);
    assert_string_equal(frames->frames[0].file, source->file);
    assert_int_equal(frames->frames[0].line, source->line);
    assert_int_equal(frames->n > 1, source->inlined[0] != '\0');
    if (frames->n == 1)
        return;
    char *name = hp_demangle(frames->frames[0].function, true);
    assert_string_equal(name ? name : frames->frames[0].function, source->inlined);
    assert_string_equal(frames->frames[1].file, source->call_file);
    assert_int_equal(frames->frames[1].line, source->call_line);
    free(name);
}

/* Every fifth byte of the functions of a C++ program: the same line and inlining as libdw finds the
 * slow way. (Not with clang, whose functions inside of namespaces dwarf_getscopes() does not find.)
 */
static void check_against_libdw(const char *command)
{
    if (run("%s", command) != 0)
        fail_msg("cannot build: %s", command);
    struct hp_symbols *symbols = open_built("cxx");
    int fd = open(built("cxx"), O_RDONLY);
    Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
    assert_non_null(dwarf);
    unsigned lines = 0, inlined = 0;
    struct hp_source_frames frames = {0};
    const struct hp_symbol *first = function(symbols, "main");
    for (uint64_t offset = 0; offset < first->offset + 0x4000; offset += 5) {
        if (!hp_symbols_find(symbols, offset))
            continue;
        Dwarf_Die unit;
        Dwarf_Line *line =
            dwarf_addrdie(dwarf, offset, &unit) ? dwarf_getsrc_die(&unit, offset) : NULL;
        struct hp_source source;
        enum hp_err err = hp_symbols_source(symbols, offset, &source);
        if (!line)
            continue; /* dwarf_addrdie() knows only what .debug_aranges knows */
        int number = 0, call_line = 0;
        dwarf_lineno(line, &number);
        assert_int_equal(err, HP_OK);
        assert_int_equal(source.line, number);
        char *name = scope_name(&unit, offset, &call_line);
        assert_string_equal(source.inlined, name);
        assert_int_equal(source.call_line, call_line);
        check_frames(symbols, offset, &source, &frames);
        inlined += name[0] != '\0';
        lines++;
        free(name);
    }
    assert_true(lines > 100);
    assert_true(inlined > 25);
    free(frames.frames);
    dwarf_end(dwarf);
    close(fd);
    hp_symbols_close(symbols);
}

static void lines_and_inlining_agree_with_libdw(void **state)
{
    (void)state;
    if (!have("g++"))
        skip();
    check_against_libdw("g++ -std=c++17 -g -O2 $S/sort.cc -o cxx");
    check_against_libdw("g++ -std=c++17 -gdwarf-4 -O3 $S/sort.cc -o cxx");
}

/* --- Line tables alone ------------------------------------------------------------------------ */

/* Every byte of a program: hp_symbols_line() gives what hp_symbols_source() gives. It may know
 * more: it does not depend on what a unit says about where its code is. */
static void check_lines_alone(const char *command)
{
    if (run("%s", command) != 0)
        fail_msg("cannot build: %s", command);
    struct hp_symbols *alone = open_built("cxx"), *whole = open_built("cxx");
    unsigned known = 0;
    for (uint64_t offset = 0; offset < 0x8000; offset++) {
        struct hp_source source;
        const char *file;
        uint32_t line;
        enum hp_err err = hp_symbols_line(alone, offset, &file, &line);
        if (err != HP_OK) {
            assert_string_equal(file, "");
            assert_int_equal(line, 0);
        }
        if (hp_symbols_source(whole, offset, &source) != HP_OK)
            continue;
        known++;
        assert_int_equal(err, HP_OK);
        assert_int_equal(line, source.line);
        assert_string_equal(file, source.file);
        /* Once all debug information is open, it is asked. */
        assert_int_equal(hp_symbols_line(whole, offset, &file, &line), HP_OK);
        assert_int_equal(line, source.line);
    }
    assert_true(known > 1000);
    hp_symbols_close(alone);
    hp_symbols_close(whole);
}

static void lines_alone_are_the_same(void **state)
{
    (void)state;
    if (!have("g++"))
        skip();
    check_lines_alone("g++ -std=c++17 -gdwarf-5 -O2 $S/sort.cc -o cxx");
    check_lines_alone("g++ -std=c++17 -gdwarf-5 -O0 $S/sort.cc -o cxx");
    check_lines_alone("g++ -std=c++17 -gdwarf-5 -O2 -gz $S/sort.cc -o cxx");
    check_lines_alone("g++ -std=c++17 -gdwarf-5 -O2 -ffunction-sections -Wl,--gc-sections "
                      "$S/sort.cc -o cxx");
    check_lines_alone("g++ -std=c++17 -gdwarf-4 -O2 -gz $S/sort.cc -o cxx"); /* left to libdw */
    check_lines_alone("g++ -std=c++17 -gdwarf-5 -O2 $S/sort.cc -o full && "  /* in another file */
                      "objcopy --only-keep-debug full full.debug && strip full -o cxx && "
                      "objcopy --add-gnu-debuglink=full.debug cxx");
    check_lines_alone("mkdir -p far/away && cp $S/sort.cc far/away && "
                      "g++ -std=c++17 -gdwarf-5 -O2 -ffile-prefix-map=$PWD=src far/away/sort.cc "
                      "-o cxx");
    if (have("clang++"))
        check_lines_alone("clang++ -std=c++17 -gdwarf-5 -O2 $S/sort.cc -o cxx");
}

/* A file that became another after it was opened: its debug information, which was not read then,
 * is not mixed up with that of the other. */
static void lines_of_a_file_that_was_replaced(void **state)
{
    (void)state;
    struct hp_source source;
    assert_int_equal(run("g++ -std=c++17 -g -O2 $S/sort.cc -o cxx && cp cxx copy"), 0);
    struct hp_symbols *symbols = open_built("cxx");
    assert_int_equal(run("mv copy cxx"), 0);
    assert_int_equal(hp_symbols_source(symbols, function(symbols, "main")->offset, &source),
                     HP_ERR_NOTFOUND);
    hp_symbols_close(symbols);
}

/* --- Separate debug files --------------------------------------------------------------------- */

#define SPLIT "objcopy --only-keep-debug full full.debug && strip full -o bare && "

static void debug_files_are_found_by_link(void **state)
{
    (void)state;
    assert_int_equal(run("cc -g -O2 -Wl,--build-id=none $S/inline.c -o full && " SPLIT
                         "objcopy --add-gnu-debuglink=full.debug bare"),
                     0);
    const char *const places[] = {".", ".debug", "debug$PWD"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(run("d=\"%s\"; mkdir -p \"$d\" && cp full.debug keep && "
                             "{ [ \"$d\" = . ] || mv full.debug \"$d\"; }",
                             places[i]),
                         0);
        struct hp_symbols *symbols = open_built("bare");
        assert_true(has_line(symbols, "hidden"));
        hp_symbols_close(symbols);
        assert_int_equal(run("rm -rf .debug debug full.debug && mv keep full.debug"), 0);
    }
    /* One byte more, and the checksum is wrong. */
    assert_int_equal(run("echo >> full.debug"), 0);
    struct hp_symbols *symbols = open_built("bare");
    assert_int_equal(hp_symbols_by_name(symbols, "hidden", NULL, 0), 0);
    hp_symbols_close(symbols);
    assert_int_equal(run("rm full.debug"), 0);
}

/* A link that names the file itself must not hide the one in .debug/. */
static void a_debug_link_to_itself_is_passed_over(void **state)
{
    (void)state;
    assert_int_equal(run("cc -g -O2 -Wl,--build-id=sha1 $S/inline.c -o full && mkdir -p .debug && "
                         "objcopy --only-keep-debug full .debug/self && strip full -o self && "
                         "objcopy --add-gnu-debuglink=.debug/self self"),
                     0);
    struct hp_symbols *symbols = open_built("self");
    assert_true(has_line(symbols, "hidden"));
    hp_symbols_close(symbols);
    assert_int_equal(run("rm -rf .debug"), 0);
}

static void debug_files_are_found_by_build_id(void **state)
{
    (void)state;
    assert_int_equal(run("cc -g -O2 -Wl,--build-id=0x1234abcd $S/inline.c -o full && " SPLIT
                         "mkdir -p debug/.build-id/12 && mv full.debug "
                         "debug/.build-id/12/34abcd.debug"),
                     0);
    struct hp_symbols *symbols = open_built("bare");
    assert_true(has_line(symbols, "hidden"));
    hp_symbols_close(symbols);
    /* The file there is another one's. */
    assert_int_equal(run("cc -g -O2 -Wl,--build-id=0x1234abce $S/inline.c -o full && "
                         "objcopy --only-keep-debug full debug/.build-id/12/34abcd.debug"),
                     0);
    symbols = open_built("bare");
    assert_int_equal(hp_symbols_by_name(symbols, "hidden", NULL, 0), 0);
    hp_symbols_close(symbols);
    assert_int_equal(run("rm -rf debug"), 0);
}

/* The symbols may be in the file while only the lines are elsewhere. */
static void lines_come_from_a_debug_file_when_symbols_do_not(void **state)
{
    (void)state;
    assert_int_equal(run("cc -g -O2 -Wl,--build-id=0x5678abcd $S/inline.c -o full && "
                         "mkdir -p debug/.build-id/56 && "
                         "objcopy --only-keep-debug full debug/.build-id/56/78abcd.debug && "
                         "strip --strip-debug full -o bare"),
                     0);
    struct hp_symbols *symbols = open_built("bare");
    assert_true(has_line(symbols, "hidden"));
    hp_symbols_close(symbols);
    assert_int_equal(run("rm -rf debug"), 0);
}

/* Names of inlined functions are in the alternate file then. The programs differ only in their
 * build ids, so that dwz moves what it can. */
static unsigned names_starting_with(const char *program, const char *start)
{
    struct hp_symbols *symbols = open_built(program);
    const struct hp_symbol *symbol = function(symbols, "main");
    unsigned n = 0;
    for (uint64_t i = 0; i < symbol->size; i++) {
        struct hp_source source;
        if (hp_symbols_source(symbols, symbol->offset + i, &source) == HP_OK)
            n += strncmp(source.inlined, start, strlen(start)) == 0;
    }
    hp_symbols_close(symbols);
    return n;
}

static void alternate_debug_files_are_found(void **state)
{
    (void)state;
    if (!have("dwz"))
        skip();
    assert_int_equal(run("c++ -std=c++17 -gdwarf-4 -O2 $S/sort.cc -Wl,--build-id=0x11223344 -o one "
                         "&& c++ -std=c++17 -gdwarf-4 -O2 $S/sort.cc -Wl,--build-id=0x11223355 "
                         "-o two && cp one plain && dwz -m common -M common one two && "
                         "readelf -SW one | grep -q gnu_debugaltlink"),
                     0);
    unsigned n = names_starting_with("plain", "std::");
    assert_true(n > 100);
    assert_int_equal(names_starting_with("one", "std::"), n);
    assert_int_equal(run("mv common elsewhere"), 0);
    assert_true(names_starting_with("one", "std::") < n);
    assert_int_equal(run("cp two common"), 0); /* not what was asked for */
    assert_true(names_starting_with("one", "std::") < n);
    /* By build id. */
    assert_int_equal(run("i=$(readelf -n elsewhere | sed -n 's/.*Build ID: //p'); "
                         "d=debug/.build-id/$(echo $i | cut -c1-2); mkdir -p $d && "
                         "mv elsewhere $d/$(echo $i | cut -c3-).debug"),
                     0);
    assert_int_equal(names_starting_with("one", "std::"), n);
    assert_int_equal(run("rm -rf debug"), 0);
}

/* --- Damaged files ---------------------------------------------------------------------------- */

static size_t read_whole(const char *path, unsigned char **bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    *bytes = malloc(size);
    assert_non_null(*bytes);
    assert_int_equal(fread(*bytes, 1, size, file), size);
    fclose(file);
    return size;
}

static uint64_t random_state;

static uint64_t next_random(uint64_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % limit;
}

/* A few bytes set to values that hurt; sometimes the end cut off. */
static void write_damaged(const unsigned char *bytes, size_t size, const char *path)
{
    static const unsigned char values[] = {0x00, 0xff, 0x7f, 0x80, 0x01, 0xfe};
    unsigned char *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    for (uint64_t n = 1 + next_random(24); n; n--) {
        /* The headers at both ends are hit as often as all the rest. */
        uint64_t where = next_random(4), at = next_random(size);
        if (where == 0)
            at = next_random(1024);
        else if (where == 1)
            at = size - 1 - next_random(2560);
        copy[at] =
            next_random(2) ? values[next_random(sizeof values)] : (unsigned char)next_random(256);
    }
    size_t length = next_random(16) ? size : next_random(size);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(copy, 1, length, file), length);
    fclose(file);
    free(copy);
}

static void ask_for_lines_alone(const char *path)
{
    struct hp_symbols *symbols;
    if (hp_symbols_open(path, "", &symbols) != HP_OK)
        return;
    for (uint64_t offset = 0; offset < 0x3000; offset += 13) {
        const char *file;
        uint32_t line;
        if (hp_symbols_line(symbols, offset, &file, &line) == HP_OK)
            assert_true(strlen(file) < SIZE_MAX);
    }
    hp_symbols_close(symbols);
}

static bool ask_everything(const char *path)
{
    struct hp_symbols *symbols;
    ask_for_lines_alone(path);
    if (hp_symbols_open(path, "", &symbols) != HP_OK)
        return false;
    for (uint64_t offset = 0; offset < 0x3000; offset += 13) {
        const struct hp_symbol *symbol = hp_symbols_find(symbols, offset);
        struct hp_source source;
        if (symbol)
            assert_true(strlen(symbol->name) > 0 && symbol->offset <= offset);
        if (hp_symbols_source(symbols, offset, &source) == HP_OK)
            assert_true(strlen(source.file) + strlen(source.inlined) < SIZE_MAX);
    }
    struct hp_source_frames frames = {0};
    for (uint64_t offset = 0; offset < 0x3000; offset = frames.until) {
        hp_symbols_frames(symbols, offset, &frames);
        assert_true(frames.until > offset);
    }
    free(frames.frames);
    hp_symbols_by_name(symbols, "shop::Till::add", NULL, 0);
    hp_symbols_close(symbols);
    return true;
}

static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    const char *rounds_text = getenv("HOTPATH_FUZZ_ROUNDS");
    unsigned rounds = rounds_text ? (unsigned)atoi(rounds_text) : 500, opened = 0;
    assert_int_equal(run("sed 's/main/other/' $S/inline.c > other.c"), 0);
    for (size_t b = 0; b < 2; b++) {
        if (run("cc -gdwarf-%zu -O2 -c other.c && c++ -gdwarf-%zu -O2 $S/names.cc other.o -o "
                "victim",
                5 - b, 5 - b) != 0)
            fail_msg("cannot build the victim");
        unsigned char *bytes;
        size_t size = read_whole(built("victim"), &bytes);
        const char *path = built("damaged");
        for (unsigned i = 0; i < rounds / 2; i++) {
            random_state = 1000 * b + i;
            write_damaged(bytes, size, path);
            opened += ask_everything(path);
        }
        free(bytes);
    }
    assert_true(opened > rounds / 4); /* else the damage was too great to test much */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_lines_are_found),
        cmocka_unit_test(units_outside_of_aranges_are_found),
        cmocka_unit_test(relative_directories_are_not_doubled),
        cmocka_unit_test(lines_and_inlining_agree_with_libdw),
        cmocka_unit_test(lines_alone_are_the_same),
        cmocka_unit_test(lines_of_a_file_that_was_replaced),
        cmocka_unit_test(debug_files_are_found_by_link),
        cmocka_unit_test(a_debug_link_to_itself_is_passed_over),
        cmocka_unit_test(debug_files_are_found_by_build_id),
        cmocka_unit_test(lines_come_from_a_debug_file_when_symbols_do_not),
        cmocka_unit_test(alternate_debug_files_are_found),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, build_setup, build_teardown);
}
