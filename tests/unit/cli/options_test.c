/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: what is accepted, and the one right answer to each slip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/options.h"

static npuc_status nothing(cli *c) {
  (void)c;
  return NPUC_OK;
}

static const option bake_options[] = {
    {"--oven", 'o', OPTION_VALUE, "N", ""}, {"--fast", 0, OPTION_FLAG, NULL, ""}, {"--add", 'a', OPTION_LIST, "THING", ""}};
static const option_group bake_group = {"Bake", bake_options, 3};
static const option_group *const bake_groups[] = {&bake_group, NULL};
static const option eat_options[] = {{"--slowly", 0, OPTION_FLAG, NULL, ""}};
static const option_group eat_group = {"Eat", eat_options, 1};
static const option_group *const eat_groups[] = {&eat_group, NULL};
static const command bake = {
    .name = "bake", .arguments = "CAKE", .purpose = "", .min_arguments = 1, .max_arguments = 2, .groups = bake_groups, .run = nothing};
static const command eat = {.name = "eat", .arguments = "", .purpose = "", .groups = eat_groups, .run = nothing};
static const command *const commands[] = {&bake, &eat};

typedef struct parsed {
  arena *a;
  diag *d;
  parsed_line line;
  npuc_status status;
} parsed;

static parsed parse(const char *text) {
  parsed p = {.a = npuc_arena_create(), .d = npuc_diag_create(NULL, NULL)};
  char *copy = npuc_arena_str(p.a, text), *argv[32] = {"npuc"};
  int argc = 1;
  for (char *word = strtok(copy, " "); word && argc < 31; word = strtok(NULL, " ")) argv[argc++] = word;
  p.status = npuc_cli_parse(p.d, p.a, commands, 2, argc, argv, &p.line);
  return p;
}

static void end(parsed *p) {
  npuc_diag_destroy(p->d);
  npuc_arena_destroy(p->a);
}

/* The first error has this code, and one of its fixes holds this text. */
static void slips(const char *text, const char *code, const char *fix) {
  parsed p = parse(text);
  assert_int_equal(p.status, NPUC_USAGE);
  const diag_record *r = npuc_diag_first_error(p.d);
  assert_string_equal(npuc_diag_info(r->code)->text_code, code);
  bool found = fix == NULL;
  for (size_t i = 0; i < r->n_fixes; i++) found |= strstr(r->fixes[i], fix ? fix : "") != NULL;
  assert_true(found);
  end(&p);
}

static void accepts_every_spelling(void **state) {
  (void)state;
  static const char *const lines[] = {"bake --oven 7 cake --fast -a x -a y", "--seed 1 bake cake --oven=7 -ax -a y --fast",
                                      "bake -o7 --fast -a x -a y -- cake"};
  for (size_t i = 0; i < 3; i++) {
    parsed p = parse(lines[i]);
    const char **things;
    assert_int_equal(p.status, NPUC_OK);
    assert_ptr_equal(p.line.command, &bake);
    assert_int_equal(p.line.n_arguments, 1);
    assert_string_equal(p.line.arguments[0], "cake");
    assert_string_equal(npuc_cli_value(&p.line, "--oven"), "7");
    assert_true(npuc_cli_flag(&p.line, "--fast"));
    assert_int_equal(npuc_cli_list(&p.line, p.a, "--add", &things), 2);
    assert_string_equal(things[1], "y");
    end(&p);
  }
}

static void names_what_was_meant(void **state) {
  (void)state;
  slips("bkae cake", "NPUC-E0101", "npuc bake");
  slips("bake cake --ovne 7", "NPUC-E0102", "--oven");
  slips("bake cake --slowly", "NPUC-E0102", "npuc eat");
  slips("bake cake -z", "NPUC-E0102", "--help");
  slips("bake cake --oven 7 --oven 8", "NPUC-E0103", NULL);
  slips("bake cake --fast=yes", "NPUC-E0104", NULL);
  slips("bake cake --oven", "NPUC-E0104", NULL);
  slips("bake", "NPUC-E0105", "npuc bake --help");
  slips("bake a b c", "NPUC-E0105", NULL);
  slips("eat cake", "NPUC-E0105", NULL);
}

static void checks_numbers(void **state) {
  (void)state;
  static const struct {
    const char *line;
    bool good;
  } cases[] = {{"bake c --oven 7", true},
               {"bake c --oven 7x", false},
               {"bake c --oven -1", false},
               {"bake c --oven 99999999999999999999", false},
               {"bake c", true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    parsed p = parse(cases[i].line);
    long long v;
    npuc_status status = npuc_cli_int(p.d, &p.line, "--oven", 0, 100, 5, &v);
    assert_int_equal(status, cases[i].good ? NPUC_OK : NPUC_USAGE);
    if (i == 0) assert_int_equal(v, 7);
    if (i == 4) assert_int_equal(v, 5);
    end(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(accepts_every_spelling), cmocka_unit_test(names_what_was_meant),
                                     cmocka_unit_test(checks_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
