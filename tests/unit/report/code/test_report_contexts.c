// SPDX-License-Identifier: MIT
/* Calling contexts for people and for scripts. */
#include "report_fixture.h"

static struct hp_profile with_contexts(void)
{
    struct hp_profile profile = fixture_profile();
    fixture_add_contexts(&profile);
    return profile;
}

static void expect(struct hp_report_options options, const char *expected)
{
    struct hp_profile profile = with_contexts();
    options.view = &hp_view_contexts;
    profile.n_notes = 0;
    profile.run.lost = 0;
    char *text = render(&profile, &options);
    assert_string_equal(text, expected);
    free(text);
}

static void text_is_a_tree(void **state)
{
    (void)state;
    expect((struct hp_report_options){.top = HP_REPORT_TOP_DEFAULT},
           "  inclusive  share  self  calls  function\n"
           "        995  99.5%   600      2  work\n"
           "        360  36.0%   300    100   helper\n"
           "         60   6.0%    60      8    work\n"
           "         35   3.5%    35      5   demo+0x2000\n"
           "  … and 1 more (--top 0 shows all)\n");
    expect((struct hp_report_options){.top = 2}, "  inclusive  share  self  calls  function\n"
                                                 "        995  99.5%   600      2  work\n"
                                                 "        360  36.0%   300    100   helper\n"
                                                 "  … and 3 more (--top 0 shows all)\n");
    expect((struct hp_report_options){.top = 0}, "  inclusive  share  self  calls  function\n"
                                                 "        995  99.5%   600      2  work\n"
                                                 "        360  36.0%   300    100   helper\n"
                                                 "         60   6.0%    60      8    work\n"
                                                 "         35   3.5%    35      5   demo+0x2000\n"
                                                 "          5   0.5%     5      1  (unknown)\n");
}

static void csv_has_parents_first(void **state)
{
    (void)state;
    expect((struct hp_report_options){.format = HP_REPORT_CSV},
           "id,parent,function,address,self,inclusive,calls,share\r\n"
           "0,,work,demo+0x1000,600,995,2,0.995000\r\n"
           "3,0,helper,libx.so+0x500,300,360,100,0.360000\r\n"
           "4,3,work,demo+0x1000,60,60,8,0.060000\r\n"
           "2,0,demo+0x2000,demo+0x2000,35,35,5,0.035000\r\n"
           "1,,,,5,5,1,0.005000\r\n");
}

static void json_has_the_same(void **state)
{
    (void)state;
    expect((struct hp_report_options){.format = HP_REPORT_JSON, .top = 2},
           "{\n \"hotpath\": \"" HP_VERSION "\",\n \"contexts\": [\n"
           "  {\"id\":0,\"parent\":null,\"function\":\"work\",\"address\":\"demo+0x1000\","
           "\"self\":600,\"inclusive\":995,\"calls\":2,\"share\":0.995000},\n"
           "  {\"id\":3,\"parent\":0,\"function\":\"helper\",\"address\":\"libx.so+0x500\","
           "\"self\":300,\"inclusive\":360,\"calls\":100,\"share\":0.360000}\n ]\n}\n");
}

static void deep_ones_are_numbered(void **state)
{
    (void)state;
    enum { DEPTH = 40 };
    struct hp_profile profile = with_contexts();
    struct hp_pcontext chain[DEPTH];
    struct hp_pcontext_count last = {DEPTH - 1, 0, 1000, 1};
    for (uint32_t i = 0; i < DEPTH; i++)
        chain[i] = (struct hp_pcontext){i ? i - 1 : HP_PROFILE_NONE, 0};
    profile.contexts = chain;
    profile.n_contexts = DEPTH;
    profile.context_counts = &last;
    profile.n_context_counts = 1;
    char *text = render(&profile, &(struct hp_report_options){.view = &hp_view_contexts});
    char line[128];
    for (int depth = 28; depth < DEPTH; depth++) {
        if (depth <= 30)
            snprintf(line, sizeof line, "0  %*swork\n", depth, "");
        else
            snprintf(line, sizeof line, "  %30s%d: work\n", "", depth);
        assert_non_null(strstr(text, line));
    }
    free(text);
}

static void without_contexts(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *text = render(&profile, &(struct hp_report_options){.view = &hp_view_contexts});
    assert_memory_equal(text, "  (no calling context is known", 30);
    free(text);
}

static void damage_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct hp_profile profile = with_contexts();
        struct hp_pcontext bad[5];
        struct hp_pcontext_count bad_counts[6];
        memcpy(bad, fixture_tree, sizeof bad);
        memcpy(bad_counts, fixture_tree_counts, sizeof bad_counts);
        profile.contexts = bad;
        profile.context_counts = bad_counts;
        switch (i) {
        case 0: bad[2].parent = 2; break;
        case 1: bad[2].parent = 3; break;
        case 2: bad[2].function = (uint32_t)profile.n_functions; break;
        case 3: bad_counts[2].item = 5; break;
        case 4: bad_counts[2].thread = (uint32_t)profile.n_threads; break;
        }
        FILE *out = fopen("/dev/null", "w");
        assert_int_equal(hp_report(&profile, &(struct hp_report_options){0}, out), HP_ERR_INVALID);
        fclose(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_a_tree),    cmocka_unit_test(csv_has_parents_first),
        cmocka_unit_test(json_has_the_same), cmocka_unit_test(deep_ones_are_numbered),
        cmocka_unit_test(without_contexts),  cmocka_unit_test(damage_is_refused),
    };
    return cmocka_run_group_tests_name("contexts in reports", tests, NULL, NULL);
}
