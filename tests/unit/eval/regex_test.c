/* SPDX-License-Identifier: Apache-2.0 */
/* Whole texts against patterns. Right values: Python's re.fullmatch with re.ASCII (whose syntax RE2's is here, but for a{,2}, which is plain text in RE2): each pattern
 * matches the texts that stand behind it, and none of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "ir/eval/regex.h"

static const char *const texts[] = {"",
                                    "a",
                                    "bc",
                                    "abab",
                                    "ababc",
                                    "abc",
                                    "a.@x",
                                    "a-b-@x",
                                    "abcde@x",
                                    "www.a-b.com",
                                    "www..com",
                                    "xyz@gmail.com",
                                    " xyz@gmail.com!",
                                    "d",
                                    "ddd\303\251",
                                    "aaab",
                                    "x\012",
                                    "xx.",
                                    "aaa",
                                    "aaaa",
                                    "aab",
                                    "aabb",
                                    "12 ab",
                                    "1 -a",
                                    "HEY",
                                    "hfy",
                                    "h\303\251y",
                                    "\303\251\303\251\303\251",
                                    "\303\251ez",
                                    "\303\240z",
                                    "z",
                                    "ab",
                                    "y",
                                    "xxy",
                                    "acA",
                                    "bcA",
                                    "bc A",
                                    "]a]",
                                    "a-z",
                                    "\\]",
                                    "abcd",
                                    "abcbcd",
                                    "\011.$",
                                    "a,",
                                    "a{,2}"};

static const struct {
  const char *pattern, *matches[24];
} rows[] = {
    {"a|bc|", {"", "a", "bc"}},
    {"(ab)*c?", {"", "abab", "ababc", "abc", "ab"}},
    {"[\\w.\\-]{2,4}@x", {"a.@x", "a-b-@x"}},
    {"www\\.[\\w.-]+\\.\\bcom\\b", {"www.a-b.com"}},
    {"(\\W|^)[\\w.\\-]{0,5}@(yahoo|gmail)\\.com(\\W|$)", {"xyz@gmail.com", " xyz@gmail.com!"}},
    {"[^a-c]+",
     {"d", "ddd\303\251", "x\012", "xx.", "HEY", "hfy", "h\303\251y", "\303\251\303\251\303\251", "\303\251ez", "\303\240z", "z", "y",
      "xxy", "\\]", "\011.$"}},
    {".*x.", {"xx.", "xxy"}},
    {"a{3}", {"aaa"}},
    {"a{2,}b{0,1}", {"aaab", "aaa", "aaaa", "aab"}},
    {"\\d+\\s\\S\\D", {"12 ab", "1 -a"}},
    {"(?i)h[e-f]y", {"HEY", "hfy"}},
    {"\303\251+", {"\303\251\303\251\303\251"}},
    {"[\303\240-\303\274]*z", {"\303\240z", "z"}},
    {"\\Bab\\b", {NULL}},
    {"a{,2}", {"a{,2}"}},
    {"x*?y+?", {"y", "xxy"}},
    {"(?:a|b)(?P<n>c)\\x41", {"acA", "bcA"}},
    {"[]a]+", {"a", "aaa", "aaaa", "]a]"}},
    {"[a\\-z]+", {"a", "aaa", "aaaa", "z", "a-z"}},
    {"[\\]\\\\]+", {"\\]"}},
    {"^a$", {"a"}},
    {"(a|ab)(c|bcd)", {"abc", "abcd"}},
    {"\\t\\.\\$", {"\011.$"}},
};

static bool is_listed(const char *text, const char *const *list) {
  for (; *list; list++) {
    if (strcmp(*list, text) == 0) return true;
  }
  return false;
}

static bool matches(arena *a, const char *pattern, const char *text, size_t n) {
  const char *problem;
  const regex *r = npuc_regex_compile(a, pattern, &problem);
  if (!r) fail_msg("%s: %s", pattern, problem);
  return npuc_regex_matches(r, text, n, npuc_arena_alloc(a, npuc_regex_scratch(r)));
}

static void texts_match_as_they_should(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
      bool wanted = is_listed(texts[k], rows[i].matches);
      if (matches(a, rows[i].pattern, texts[k], strlen(texts[k])) != wanted)
        fail_msg("'%s' and \"%s\": %s", rows[i].pattern, texts[k], wanted ? "matches, and was not found to" : "does not match");
    }
  }
  assert_true(matches(a, "a.b", "a\0b", 3));
  assert_true(matches(a, "[^a]b", "\377b", 2)); /* no UTF-8 */
  npuc_arena_destroy(a);
}

/* What takes a backtracking matcher 2^5000 steps. */
static void no_pattern_takes_long(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  static char many[5001];
  memset(many, 'a', sizeof many - 1);
  assert_false(matches(a, "(a*)*(a|aa)*b", many, sizeof many - 1));
  assert_true(matches(a, "(a?){500}a{500}", many, 500));
  assert_false(matches(a, "(a?){500}a{500}", many, 499));
  npuc_arena_destroy(a);
}

static void what_is_wrong_is_said(void **state) {
  (void)state;
  static const char *const wrong[][2] = {{"(a", "missing )"},
                                         {"a)", "without a ("},
                                         {"[a", "missing ]"},
                                         {"*a", "of nothing"},
                                         {"[b-a]", "before its"},
                                         {"a{2,1}", "{count}"},
                                         {"a{1001}", "{count}"},
                                         {"\\pL", "not supported"},
                                         {"(?s)a", "flags"},
                                         {"\\x{110000}", "\\x"},
                                         {"a\\", "not supported"},
                                         {"((((){1000}){1000}){1000}){1000}", "too long"},
                                         {"(a{1000}){1000}", "too long"}};
  arena *a = npuc_arena_create();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const char *problem = NULL;
    if (npuc_regex_compile(a, wrong[i][0], &problem)) fail_msg("%s was taken", wrong[i][0]);
    if (!strstr(problem, wrong[i][1])) fail_msg("%s: %s", wrong[i][0], problem);
  }
  char deep[4001];
  memset(deep, '(', 4000);
  deep[4000] = '\0';
  const char *problem = NULL;
  assert_null(npuc_regex_compile(a, deep, &problem));
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_match_as_they_should),
      cmocka_unit_test(no_pattern_takes_long),
      cmocka_unit_test(what_is_wrong_is_said),
  };
  return cmocka_run_group_tests_name("regex", tests, NULL, NULL);
}
