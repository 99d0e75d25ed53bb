// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "text/strbuf.h"

#include <unistd.h>

enum hp_err hp_cli_write(const char *path, enum hp_err (*print)(void *context, FILE *out),
                         void *context)
{
    struct hp_outfile out HP_CLEANUP(hp_outfile_abort) = {0};
    if (!path || strcmp(path, "-") == 0)
        return print(context, stdout);
    HP_TRY(hp_outfile_open(&out, path));
    enum hp_err err = print(context, out.file);
    if (err != HP_OK)
        return hp_fail(err, "%s: %s", path, hp_error_text());
    return hp_outfile_commit(&out);
}

struct report {
    const struct hp_profile *profile;
    struct hp_report_options options;
};

static enum hp_err print_report(void *context, FILE *out)
{
    struct report *r = context;
    hp_cli_style(&r->options, out);
    return hp_report(r->profile, &r->options, out);
}

enum hp_err hp_cli_write_report(const struct hp_profile *profile,
                                const struct hp_report_options *options, const char *path)
{
    return hp_cli_write(path, print_report, &(struct report){profile, *options});
}

enum hp_err hp_cli_flush(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return hp_fail(HP_ERR_IO, "cannot write to standard output: %m");
    return HP_OK;
}

enum hp_err hp_cli_output_name(const char *pattern, char **name)
{
    struct hp_strbuf text = {0};
    for (const char *c = pattern; *c; c++)
        if (c[0] == '%' && (c[1] == 'p' || c[1] == '%')) {
            if (*++c == 'p')
                hp_strbuf_format(&text, "%d", (int)getpid());
            else
                hp_strbuf_add(&text, "%");
        } else {
            hp_strbuf_bytes(&text, c, 1);
        }
    *name = text.failed ? NULL : text.data ? text.data : strdup("");
    return *name ? HP_OK : hp_fail_nomem();
}

enum hp_err hp_cli_check_output(const char *path)
{
    char *copy HP_CLEANUP(hp_free) = strdup(path);
    if (!copy)
        return hp_fail_nomem();
    char *slash = strrchr(copy, '/');
    const char *directory = slash == copy ? "/" : slash ? copy : ".";
    if (slash)
        *slash = 0;
    return access(directory, W_OK) == 0 ? HP_OK : hp_fail(HP_ERR_IO, "cannot write %s: %m", path);
}
