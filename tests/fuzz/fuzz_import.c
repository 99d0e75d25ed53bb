// SPDX-License-Identifier: MIT
/* Recordings of perf, also traces of Intel PT and Arm ETM: any bytes. What is accepted is a sound
 * profile, that can be saved and read. The code is that of two test programs, which the corpus is
 * of. */
#include "import/import.h"
#include "support.h"

#include <string.h>

static void say(void *context, const char *text)
{
    (void)context;
    FUZZ_ASSERT(text[0] && !strchr(text, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const files[] = {"../programs/flow", "../programs/aarch64/loops"};
    const struct hp_session_settings settings = {.lines = HP_LINES_FUNCTIONS};
    struct hp_import_request request = {.path = fuzz_file("perf.data", data, size),
                                        .files = files,
                                        .n_files = 2,
                                        .lines = HP_LINES_FUNCTIONS,
                                        .settings = &settings,
                                        .say = say};
    struct hp_profile *profile = NULL, *again = NULL;
    enum hp_err err = hp_import_perf(&request, &profile);
    FUZZ_ASSERT(err == HP_OK || err == HP_ERR_FORMAT || err == HP_ERR_INVALID ||
                err == HP_ERR_UNSUPPORTED || err == HP_ERR_IO);
    FUZZ_ASSERT((err == HP_OK) == (profile != NULL));
    if (err != HP_OK)
        return 0;
    if (data[size - 1] % 8) { /* that takes much longer than reading */
        hp_profile_free(profile);
        return 0;
    }
    FUZZ_ASSERT(hp_profile_save(profile, fuzz_path("imported")) == HP_OK);
    FUZZ_ASSERT(hp_profile_load(fuzz_path("imported"), &again) == HP_OK);
    hp_profile_free(again);
    hp_profile_free(profile);
    return 0;
}
