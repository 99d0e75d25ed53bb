// SPDX-License-Identifier: MIT
/* Names of functions, shortened: what identifies them stays. */
#include "report_fixture.h"

#include "text/short_name.h"
#include "text/utf8.h"

static void expect(const char *name, size_t columns, const char *expected)
{
    struct hp_strbuf text = {0};
    hp_short_name(&text, name, columns);
    assert_string_equal(hp_strbuf_text(&text), expected);
    assert_false(text.failed);
    hp_strbuf_fini(&text);
}

/* In as many columns as what is expected needs. */
static void expect_shortened(const char *name, const char *expected)
{
    expect(name, hp_utf8_width(expected), expected);
}

static void what_fits_stays(void **state)
{
    (void)state;
    expect("", 1, "");
    expect("main", 4, "main");
    expect("std::vector<int>::push_back(int&&)", 34, "std::vector<int>::push_back(int&&)");
    expect("core::fmt::write::h0123456789abcdef", 40, "core::fmt::write::h0123456789abcdef");
}

static void arguments_go_first(void **state)
{
    (void)state;
    const char *push = "std::vector<int, std::allocator<int> >::push_back(int const&)";
    expect(push, 60, "std::vector<…>::push_back(int const&)");
    expect(push, 36, "std::vector<…>::push_back(…)");
    expect(push, 26, "…::vector<…>::push_back(…)");
    expect(push, 25, "…::vector::push_back(…)");
    expect(push, 22, "vector::push_back(…)");
    expect(push, 17, "vector::push_back");
    expect(push, 16, "…::push_back(…)");
    expect(push, 14, "push_back(…)");
    expect(push, 8, "push_ba…");
    expect("ns::function(int)+0x1c", 12, "functi…+0x1c");
    expect("ns::function<a>+0x1c", 12, "functi…+0x1c");
    expect_shortened("void ns::f<int, char>(int, char)", "ns::f<int, char>(int, char)");
    expect_shortened("void ns::f<int, char>(int, char)", "ns::f<int, char>(…)");
    expect_shortened("void ns::f<int, char>(int, char)", "ns::f<…>(…)");
    expect_shortened("a::b<x>::c<yy>::d()", "a::b<x>::c<yy>::d()");
    expect_shortened("std::function<void (int, std::map<a, b>)>::operator()(int) const",
                     "std::function<…>::operator()(…) const");
    expect_shortened("f(void (*)(int), int (&) [3])", "f(…)");
    expect_shortened("decltype (a+b) ns::sum<int>(int, int)", "ns::sum<int>(…)");
    expect_shortened("ns::f(int, int) [clone .constprop.0]", "ns::f(…) [clone .constprop.0]");
    expect("ns::f(int, int)+0x1c", 12, "ns::f+0x1c");
    expect_shortened("ns::f<int, int> (new)", "ns::f<…> (new)");
    expect_shortened("ns::f(int, int) (was ns::g(int)?)", "ns::f(…) (was ns::g(int)?)");
    expect_shortened("ns::S<a, b> what", "ns::S<…> what");
    expect_shortened("-> ns::f(int, int)", "-> ns::f(…)");
    expect("    31: ns::f(int, int)", 15, "    31: ns::f");
    expect("non-virtual thunk to ns::S::f(int, int)", 28, "non-virtual thunk to S::f(…)");
}

static void operators_are_names(void **state)
{
    (void)state;
    expect_shortened("bool std::operator< <char, std::a>(std::x<char> const&, std::y)",
                     "std::operator< <…>(…)");
    expect_shortened("bool std::operator<(std::x<char> const&, std::y)", "std::operator<(…)");
    expect_shortened("std::ostream& std::operator<< <std::traits>(std::ostream&, char const*)",
                     "std::operator<< <…>(…)");
    expect("ns::S::operator()(int, int) const", 25, "ns::S::operator()");
    expect("ns::S::operator->() const", 21, "S::operator->() const");
    expect("ns::S::operator[](unsigned long)", 16, "S::operator[](…)");
    expect_shortened("ns::S<a, b>::operator std::string<char>() const",
                     "ns::S<…>::operator std::string<char>() const");
    expect("ns::S<a, b>::operator std::string<char>() const", 34,
           "S::operator std::string<…>() const");
    expect_shortened("operator new(unsigned long)", "operator new(…)");
    expect_shortened("ns::operator\"\" _x(unsigned long)", "ns::operator\"\" _x(…)");
    expect_shortened("auto ns::operator<=>(a const&, b const&)", "ns::operator<=>(…)");
    expect_shortened("ns::my_operator<a, b>(int)", "ns::my_operator<…>(…)");
}

static void what_has_no_name_stays_with_what_it_is_in(void **state)
{
    (void)state;
    const char *lambda = "ns::run(int)::{lambda(int, char)#1}::operator()(int, char) const";
    expect(lambda, 45, "ns::run(…)::{lambda(…)#1}::operator()");
    expect_shortened("(anonymous namespace)::parse(char const*)",
                     "(anonymous namespace)::parse(…)");
    expect_shortened("(anonymous namespace)::parse(char const*)", "…::parse(…)");
    expect_shortened("ns::run(int, int)::'lambda'(int)::operator()(int) const",
                     "ns::run(…)::'lambda'(…)::operator()(…) const");
    expect("ns::run(int, int)::$_0::operator()(int) const", 35, "ns::run(…)::$_0::operator()");
    expect_shortened("alloc::sync::run::{{closure}}::h0123456789abcdef",
                     "…::sync::run::{{closure}}");
}

static void rust_names(void **state)
{
    (void)state;
    expect_shortened("core::fmt::write::h0123456789abcdef", "core::fmt::write");
    expect_shortened("core::fmt::write::h0123456789abcdef.llvm.123", "core::fmt::write.llvm.123");
    expect_shortened("core::fmt::write::h0123456789abcdef", "…::write");
    expect("core::h0123456789abcdeg", 15, "h0123456789abc…");
    expect_shortened("<impl core::fmt::Debug for alloc::vec::Vec<u8>>::fmt",
                     "<impl Debug for Vec<…>>::fmt");
    expect_shortened("<alloc::vec::Vec<T,A> as core::iter::Extend<&T>>::extend::h0123456789abcdef",
                     "<Vec<…> as Extend<…>>::extend");
    expect_shortened("<&mut a::W as fmt::Write>::write_str", "<&mut W as Write>::write_str");
    expect_shortened("<<a::T as b::I>::Item as c::D>::drop", "<Item as D>::drop");
    expect_shortened("<F as core::FnOnce<(fn() -> a::b,)>>::call", "<F as FnOnce<…>>::call");
    expect_shortened("<a::T as b::I>::call", "…::call");
    expect_shortened("core::ptr::drop_in_place<alloc::string::String>",
                     "core::ptr::drop_in_place<…>");
}

static void other_names_are_cut(void **state)
{
    (void)state;
    expect("a_rather_long_name_in_c", 9, "a_ra…in_c");
    expect("void (*f(int))(char)", 9, "void…har)");
    expect("/lib/x86_64/libc.so.6+0x1234", 9, "/lib…1234");
    expect("strcmp@plt", 9, "strc…@plt");
    expect("f<<<<((", 5, "f<…((");
    expect("::", 1, "…");
    expect("a::", 1, "…");
    expect("größe::länge::maß<é>(ü, ö)", 14, "länge::maß<é>");
    expect("größe::länge::maß", 3, "maß");
    expect("漢字::漢字漢字", 8, "漢字漢字");
    expect("漢字::漢字漢字", 5, "漢字…");
}

/* Whatever the bytes are, the result fits, is valid, and is what it becomes again. */
static void anything_fits(void **state)
{
    (void)state;
    static const char *const pieces[] = {"std",
                                         "::",
                                         "<",
                                         ">",
                                         "(",
                                         ")",
                                         "operator",
                                         " ",
                                         "{",
                                         "}",
                                         "const",
                                         "é",
                                         "漢",
                                         "[",
                                         "]",
                                         "->",
                                         "h0123456789abcdef",
                                         "a",
                                         ",",
                                         "decltype",
                                         "~",
                                         "&",
                                         "*",
                                         "…",
                                         "'",
                                         "to",
                                         "<<"};
    const size_t n_pieces = sizeof pieces / sizeof *pieces;
    srand(1);
    for (unsigned i = 0; i < 50000; i++) {
        char name[400] = "";
        for (int n = rand() % 24; n > 0; n--)
            strcat(name, pieces[(size_t)rand() % n_pieces]);
        struct hp_strbuf once = {0}, twice = {0}, clean = {0};
        size_t columns = 1 + (size_t)rand() % 40;
        hp_short_name(&once, name, columns);
        if (hp_utf8_width(hp_strbuf_text(&once)) > columns)
            fail_msg("'%s' becomes '%s' for %zu", name, hp_strbuf_text(&once), columns);
        hp_short_name(&twice, hp_strbuf_text(&once), columns);
        assert_string_equal(hp_strbuf_text(&once), hp_strbuf_text(&twice));
        hp_strbuf_clean(&clean, hp_strbuf_text(&once));
        assert_string_equal(hp_strbuf_text(&once), hp_strbuf_text(&clean));
        hp_strbuf_fini(&once);
        hp_strbuf_fini(&twice);
        hp_strbuf_fini(&clean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stays),
        cmocka_unit_test(arguments_go_first),
        cmocka_unit_test(operators_are_names),
        cmocka_unit_test(what_has_no_name_stays_with_what_it_is_in),
        cmocka_unit_test(rust_names),
        cmocka_unit_test(other_names_are_cut),
        cmocka_unit_test(anything_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
