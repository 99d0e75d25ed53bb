// SPDX-License-Identifier: MIT
#include "cli/output.h"

#include "base/outfile.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum hp_err hp_output_report(const struct hp_profile *profile, struct hp_report_options *options,
                             const char *path)
{
    struct hp_outfile out;
    if (!path || strcmp(path, "-") == 0) {
        hp_cli_style(options, stdout);
        return hp_report(profile, options, stdout);
    }
    HP_TRY(hp_outfile_open(&out, path));
    enum hp_err err = hp_report(profile, options, out.file);
    if (err != HP_OK) {
        char reason[256];
        snprintf(reason, sizeof reason, "%s", hp_error_text());
        hp_outfile_abort(&out);
        return hp_fail(err, "%s: %s", path, reason);
    }
    return hp_outfile_commit(&out);
}

char *hp_output_name(const char *pattern, int pid)
{
    char *name = NULL;
    size_t size;
    FILE *out = open_memstream(&name, &size);
    if (!out)
        return NULL;
    for (const char *c = pattern; *c; c++) {
        if (c[0] == '%' && c[1] == 'p') {
            fprintf(out, "%d", pid);
            c++;
        } else if (c[0] == '%' && c[1] == '%') {
            fputc('%', out);
            c++;
        } else {
            fputc(*c, out);
        }
    }
    if (fclose(out) != 0) {
        free(name);
        return NULL;
    }
    return name;
}

enum hp_err hp_output_check(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return hp_fail_nomem();
    char *slash = strrchr(copy, '/');
    const char *directory = slash == copy ? "/" : slash ? copy : ".";
    if (slash)
        *slash = 0;
    enum hp_err err = HP_OK;
    if (access(directory, W_OK) != 0)
        err = hp_fail(HP_ERR_IO, "cannot write %s: %m", path);
    free(copy);
    return err;
}
