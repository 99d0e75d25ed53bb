// SPDX-License-Identifier: MIT
#include "report/sources.h"

#include "base/base.h"
#include "base/infile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_LIMIT  ((size_t)16 << 20)
#define TOTAL_LIMIT ((size_t)256 << 20)

/* The name comes from a profile and may be anything: O_NONBLOCK so that a FIFO does not hang. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int open_in(const char *directory, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return -1;
    int fd = open(path, OPEN_FLAGS);
    free(path);
    return fd;
}

static int open_source(const struct hp_sources *sources, const char *name)
{
    for (const char *end = name; sources->path && *end;) {
        end += *end == '/';
        int fd = *end ? open_in(sources->path, end) : -1;
        if (fd >= 0)
            return fd;
        end = strchrnul(end, '/');
    }
    if (name[0] == '/' || !sources->directory || !*sources->directory)
        return open(name, OPEN_FLAGS);
    return open_in(sources->directory, name);
}

static bool index_lines(struct hp_source_file *file, size_t size)
{
    size_t n = 1;
    for (size_t i = 0; i < size; i++)
        n += file->text[i] == '\n';
    file->starts = calloc(n + 1, sizeof *file->starts);
    if (!file->starts)
        return false;
    file->n_lines = 1;
    for (size_t i = 0; i < size; i++)
        if (file->text[i] == '\n')
            file->starts[file->n_lines++] = i + 1;
    file->starts[file->n_lines] = size + 1;
    return true;
}

static void load(struct hp_sources *sources, struct hp_source_file *file, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0 ||
        (uint64_t)status.st_size > FILE_LIMIT ||
        sources->bytes + (size_t)status.st_size > TOTAL_LIMIT)
        return;
    size_t size = (size_t)status.st_size;
    bool newer = sources->time > 0 && (int64_t)status.st_mtime > sources->time;
    bool skip = sources->only_older && (newer || sources->time <= 0);
    /* One that cannot be read, or changes meanwhile, is not shown. */
    if (!skip && hp_infile_read(fd, file->name, size, &file->text) == HP_OK &&
        !index_lines(file, size)) {
        free(file->text);
        file->text = NULL;
    }
    sources->bytes += size;
    file->changed = (int64_t)status.st_mtime;
    if (file->text && newer && sources->n_newer++ == 0)
        sources->newer = file->name;
}

const struct hp_source_file *hp_sources_file(struct hp_sources *sources, const char *name)
{
    uint32_t index = hp_map64_get(&sources->by_name, (uintptr_t)name);
    if (index != HP_MAP64_NONE)
        return &sources->files[index];
    if (hp_grow(&sources->files, &sources->capacity, sources->n_files + 1,
                sizeof *sources->files) != HP_OK ||
        hp_map64_put(&sources->by_name, (uintptr_t)name, (uint32_t)sources->n_files) != HP_OK)
        return NULL;
    struct hp_source_file *file = &sources->files[sources->n_files++];
    *file = (struct hp_source_file){.name = name};
    int fd = open_source(sources, name);
    if (fd >= 0) {
        load(sources, file, fd);
        close(fd);
    }
    return file;
}

const char *hp_sources_line(struct hp_sources *sources, const char *name, uint32_t line,
                            size_t *length)
{
    const struct hp_source_file *file = hp_sources_file(sources, name);
    if (!file || !file->text || line == 0 || line > file->n_lines)
        return NULL;
    *length = file->starts[line] - file->starts[line - 1] - 1;
    return file->text + file->starts[line - 1];
}

void hp_sources_fini(struct hp_sources *sources)
{
    for (size_t i = 0; i < sources->n_files; i++) {
        free(sources->files[i].text);
        free(sources->files[i].starts);
    }
    free(sources->files);
    hp_map64_fini(&sources->by_name);
    sources->files = NULL;
    sources->n_files = sources->capacity = 0;
}
