// SPDX-License-Identifier: MIT
/*
 * The results of an experiment, printed for people or as JSON.
 */
#include "lab/lab.h"
#include "text/json.h"

void hp_lab_print(const struct hp_lab *lab, FILE *out)
{
    fprintf(out, "%s: %s\n", lab->experiment->name, lab->experiment->summary);
    for (size_t i = 0; i < lab->n_results; i++)
        if (!lab->results[i]->detail) {
            fputc('\n', out);
            hp_lab_results_print(lab->results[i], out);
        }
    for (size_t i = 0; i < lab->programs.n; i++)
        if (lab->outcomes[i].problem[0])
            fprintf(out, "\n! %s is left out: %s\n", lab->programs.programs[i].name,
                    lab->outcomes[i].problem);
    fprintf(out, "\nThe paper\n%s", lab->experiment->paper);
}

static void write_program(const struct hp_lab *lab, size_t i, struct hp_json *json)
{
    const struct hp_lab_outcome *outcome = &lab->outcomes[i];
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", lab->programs.programs[i].name);
    hp_json_put_string(json, "stands_for", lab->programs.programs[i].stands_for);
    hp_json_put_uint(json, "instructions", outcome->instructions);
    hp_json_put_fixed(json, "seconds", outcome->seconds, 2);
    hp_json_put_string(json, "problem", outcome->problem[0] ? outcome->problem : NULL);
    hp_json_end_object(json);
}

enum hp_err hp_lab_write(const struct hp_lab *lab, FILE *out)
{
    struct hp_json json = {.out = out, .lines = 4};
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "hotpath", HP_VERSION);
    hp_json_put_string(&json, "experiment", lab->experiment->name);
    hp_json_put_string(&json, "arch", lab->options.arch ? lab->options.arch : "x86_64");
    hp_json_put_bool(&json, "short", lab->options.short_form);
    hp_json_put_uint(&json, "instructions", lab->options.instructions);
    hp_json_put_uint(&json, "machine_instructions", lab->options.machine_instructions);
    hp_json_put_uint(&json, "cycle_instructions", lab->options.cycle_instructions);
    hp_json_put_uint(&json, "window", lab->options.window);
    hp_json_put_array(&json, "programs");
    for (size_t i = 0; i < lab->programs.n; i++)
        write_program(lab, i, &json);
    hp_json_end_array(&json);
    hp_json_put_object(&json, "sheets");
    for (size_t i = 0; i < lab->n_results; i++) {
        hp_json_key(&json, lab->results[i]->key);
        hp_lab_results_write(lab->results[i], &json);
    }
    hp_json_end_object(&json);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}
