// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "report/tables.h"
#include "symbols/debuginfod.h"
#include "text/strbuf.h"

#include <unistd.h>

#define EVERY_SECONDS 0.25

static bool on_terminal, shown;

/* Where fetching takes a while, how far it is; where it fails, why. */
static void tell(const struct hp_fetch *fetch)
{
    static double last;
    struct hp_strbuf line HP_CLEANUP(hp_strbuf_fini) = {0};
    if (shown && (!fetch->file || fetch->failure)) {
        fputs("\r\033[K", stderr);
        shown = false;
    }
    if (fetch->failure) {
        hp_strbuf_format(&line,
                         "no debug information was fetched for %s: %s; the servers of "
                         "DEBUGINFOD_URLS are not asked again",
                         hp_base_name(fetch->file), fetch->failure);
        hp_cli_note(NULL, hp_strbuf_text(&line));
        return;
    }
    if (!fetch->file || !on_terminal || hp_now() - last < EVERY_SECONDS)
        return;
    last = hp_now();
    shown = true;
    hp_strbuf_clean(&line, hp_base_name(fetch->file));
    if (fetch->total)
        hp_strbuf_format(&line, ": %.1f of %.1f MB", (double)fetch->bytes * 1e-6,
                         (double)fetch->total * 1e-6);
    fprintf(stderr, "\r\033[Khotpath: debug information of %s", hp_strbuf_text(&line));
    fflush(stderr);
}

void hp_cli_tell_fetches(bool quiet)
{
    on_terminal = isatty(STDERR_FILENO);
    hp_debuginfod_tell(quiet ? NULL : tell);
}
