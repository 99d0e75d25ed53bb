// SPDX-License-Identifier: MIT
/* ELF files: what a program is, its symbols, lines and code, from any bytes. */
#include "engine/elf_file.h"
#include "export/optimizers/bolt.h"
#include "support.h"
#include "symbols/module_code.h"
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

static void look_up(struct hp_symbols *symbols, uint64_t offset)
{
    const struct hp_symbol *symbol = hp_symbols_find(symbols, offset);
    struct hp_source source;
    struct hp_source_frames frames = {0};
    const char *file;
    uint32_t line;
    uint64_t offsets[4];
    if (symbol) {
        FUZZ_ASSERT(strlen(symbol->name) + 1 > 0 && strlen(symbol->linkage) + 1 > 0);
        hp_symbols_by_name(symbols, symbol->name, offsets, 4);
    }
    hp_symbols_line(symbols, offset, &file, &line);
    hp_symbols_source(symbols, offset, &source);
    FUZZ_ASSERT(strlen(source.file) + 1 > 0 && strlen(source.inlined) + 1 > 0);
    enum hp_err err = hp_symbols_frames(symbols, offset, &frames);
    FUZZ_ASSERT(err != HP_OK || frames.n > 0);
    FUZZ_ASSERT(frames.until > offset || offset == UINT64_MAX);
    free(frames.frames);
}

static void read_code(const char *path)
{
    struct hp_module_code *code;
    uint8_t bytes[64];
    uint64_t low, high;
    if (hp_module_code_open(path, NULL, 0, &code) != HP_OK)
        return;
    hp_module_code_base(code);
    for (size_t i = 0; i < 8 && hp_module_code_range(code, i, &low, &high); i++) {
        FUZZ_ASSERT(low < high);
        FUZZ_ASSERT(hp_module_code_read(code, low, bytes, sizeof bytes) <= sizeof bytes);
        FUZZ_ASSERT(hp_module_code_read(code, high - 1, bytes, sizeof bytes) <= sizeof bytes);
        hp_module_code_read(code, high, bytes, sizeof bytes);
    }
    hp_module_code_close(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file("elf", data, size);
    struct hp_elf_file file;
    struct hp_symbols *symbols;
    struct hp_bolt_image image;
    hp_elf_file_read(path, &file);
    read_code(path);
    if (hp_symbols_open(path, "", &symbols) == HP_OK) {
        FUZZ_ASSERT(strlen(hp_symbols_build_id(symbols)) <= 2 * size);
        for (uint64_t offset = 0; offset < 0x4000; offset += offset < 0x1000 ? 0x200 : 0x10)
            if (offset < 0x1000 || offset % 0x1000 < 0x180)
                look_up(symbols, offset);
        look_up(symbols, UINT64_MAX);
        hp_symbols_close(symbols);
    }
    if (hp_bolt_image_open(&(struct hp_pmodule){.path = path, .build_id = file.build_id}, &image) ==
        HP_OK) {
        hp_bolt_image_find(&image, 0x1000);
    }
    hp_bolt_image_close(&image);
    return 0;
}
