// SPDX-License-Identifier: MIT
#include "page/page.h"

#include "base/base.h"
#include "base/infile.h"
#include "base/own_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST (64 << 20) /* template, in bytes */

static enum hp_err find(char **path)
{
    const char *said = getenv("HOTPATH_PAGE");
    char self[4096];
    hp_own_directory(self, sizeof self);
    if (said && *said) {
        *path = strdup(said);
        return *path ? HP_OK : hp_fail_nomem();
    }
    const char *directories[] = {self, self, HP_DATA_DIR};
    const char *below[] = {"", "/../share/hotpath", ""};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        if (asprintf(path, "%s%s/page.html", directories[i], below[i]) < 0)
            return hp_fail_nomem();
        if (access(*path, R_OK) == 0)
            return HP_OK;
        free(*path);
        *path = NULL;
    }
    return hp_fail(HP_ERR_NOTFOUND,
                   "the page's template is not there: 'make' builds it when npm is installed and "
                   "can get its packages (hotpath html FILE --data needs none)");
}

enum hp_err hp_page_template(char **text)
{
    char *path HP_CLEANUP(hp_free) = NULL;
    struct stat status;
    HP_TRY(find(&path));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return hp_fail(HP_ERR_NOTFOUND, "cannot open the template %s: %s", path, strerror(errno));
    enum hp_err err = HP_ERR_FORMAT;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= LARGEST)
        err = hp_infile_read(fd, path, (size_t)status.st_size, text);
    else
        hp_fail(err, "the template %s is not a file of a page's size", path);
    close(fd);
    return err;
}

/* Where the data goes: behind the opening tag of the one line that has both. */
static const char *find_data(const char *text)
{
    static const char line[] = "\n" HP_PAGE_DATA_OPEN HP_PAGE_DATA_CLOSE "\n";
    const char *at = strstr(text, line);
    if (!at || strstr(at + 1, line))
        return NULL;
    return at + strlen("\n" HP_PAGE_DATA_OPEN);
}

typedef enum hp_err put_fn(const void *what, FILE *out);

static enum hp_err pack_data(put_fn *put, const void *what, FILE *out)
{
    FILE *file;
    HP_TRY(hp_pack_open(out, &file));
    enum hp_err err = put(what, file);
    enum hp_err closed = hp_pack_close(file);
    return err != HP_OK ? err : closed;
}

/* Writes a page whose data is what `put` writes. */
static enum hp_err write_page(const char *text, put_fn *put, const void *what, FILE *out)
{
    const char *data = find_data(text);
    if (!data)
        return hp_fail(HP_ERR_FORMAT, "the page's template has no place for the data: build it "
                                      "again with 'make'");
    fwrite(text, 1, (size_t)(data - text), out);
    HP_TRY(pack_data(put, what, out));
    fputs(data, out);
    errno = 0;
    if (fflush(out) != 0 || ferror(out))
        return hp_fail(HP_ERR_IO, "cannot write the page: %s",
                       errno ? strerror(errno) : "write error");
    return HP_OK;
}

struct one {
    const struct hp_profile *profile;
    const struct hp_page_options *options;
};

static enum hp_err put_one(const void *what, FILE *out)
{
    const struct one *one = what;
    return hp_page_data(one->profile, one->options, out);
}

static enum hp_err put_diff(const void *what, FILE *out)
{
    return hp_page_diff_data(what, out);
}

enum hp_err hp_page_write(const struct hp_profile *profile, const struct hp_page_options *options,
                          const char *text, FILE *out)
{
    return write_page(text, put_one, &(struct one){profile, options}, out);
}

enum hp_err hp_page_diff_write(const struct hp_page_diff *diff, const char *text, FILE *out)
{
    return write_page(text, put_diff, diff, out);
}
