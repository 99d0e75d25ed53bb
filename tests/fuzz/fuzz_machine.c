// SPDX-License-Identifier: MIT
/* Machine files: any text; and a core of what is accepted can be made. */
#include "hotpath/machine.h"
#include "machine/machine.h"
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hp_machine *machine = NULL;
    struct hp_core *core = NULL;
    enum hp_err err = hp_machine_parse((const char *)data, size, "file.ini", "fuzz", &machine);
    FUZZ_ASSERT(err == HP_OK || err == HP_ERR_FORMAT);
    if (err != HP_OK)
        return 0;
    FUZZ_ASSERT(hp_core_new(machine, &core) == HP_OK);
    hp_core_free(core);
    hp_machine_free(machine);
    return 0;
}
