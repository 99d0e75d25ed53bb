// SPDX-License-Identifier: MIT
/* Baselines of hotpath ci: any text; what is accepted is compared with itself, judged, printed, and
 * written so that it reads the same. */
#include "diff/baseline.h"
#include "diff/gate.h"
#include "support.h"

#include <stdlib.h>

static void judge(const struct hp_digest *digest)
{
    struct hp_gate_limits limits = {.functions = 1};
    struct hp_diff *diff;
    struct hp_gate *gate;
    for (size_t i = 0; i < HP_TOTALS; i++)
        limits.totals[i] = 1;
    FUZZ_ASSERT(hp_diff_make(digest, digest, &(struct hp_diff_options){0}, &diff) == HP_OK);
    FUZZ_ASSERT(hp_gate_make(diff, &limits, &gate) == HP_OK);
    struct hp_gate_print print = {.name = "name", .baseline = "file"};
    hp_gate_print_text(gate, &print, fuzz_nowhere());
    hp_gate_print_json(gate, &print, fuzz_nowhere());
    hp_gate_print_markdown(gate, &print, fuzz_nowhere());
    free(gate);
    struct hp_diff_print all = {.old_name = "old", .new_name = "new"};
    hp_diff_print(diff, &all, fuzz_nowhere());
    hp_diff_print_json(diff, &all, fuzz_nowhere());
    hp_diff_free(diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hp_baseline *baseline = NULL, *again = NULL;
    enum hp_err err = hp_baseline_load(fuzz_file("baseline", data, size), &baseline);
    FUZZ_ASSERT(err == HP_OK || err == HP_ERR_FORMAT || err == HP_ERR_VERSION);
    if (err != HP_OK)
        return 0;
    FUZZ_ASSERT(hp_baseline_new(&again) == HP_OK);
    for (size_t i = 0; i < baseline->n && i < 4; i++) {
        struct hp_digest *digest = NULL;
        err = hp_baseline_get(baseline, baseline->sections[i].name, &digest);
        FUZZ_ASSERT(err == HP_OK || err == HP_ERR_FORMAT);
        if (err == HP_OK) {
            judge(digest);
            FUZZ_ASSERT(hp_baseline_put(again, baseline->sections[i].name, digest) == HP_OK);
        }
        hp_digest_free(digest);
    }
    FUZZ_ASSERT(hp_baseline_save(again, fuzz_path("again")) == HP_OK);
    hp_baseline_free(again);
    hp_baseline_free(baseline);
    FUZZ_ASSERT(hp_baseline_load(fuzz_path("again"), &again) == HP_OK);
    for (size_t i = 0; i < again->n; i++) {
        struct hp_digest *digest = NULL;
        FUZZ_ASSERT(hp_baseline_get(again, again->sections[i].name, &digest) == HP_OK);
        hp_digest_free(digest);
    }
    hp_baseline_free(again);
    return 0;
}
