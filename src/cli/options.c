/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing and help from the command tables. */
#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/utf8.h"

static const option global_options[] = {
    {"--json", 0, OPTION_FLAG, NULL, "result as one JSON document on stdout; progress and diagnostics as JSON lines on stderr"},
    {"--quiet", 'q', OPTION_FLAG, NULL, "errors only"},
    {"--verbose", 'v', OPTION_FLAG, NULL, "more detail: the numbers of each stage's gate"},
    {"--color", 0, OPTION_VALUE, "auto|always|never", "colours in text output (auto: on a terminal, unless NO_COLOR is set)"},
    {"--threads", 0, OPTION_VALUE, "N", "worker threads (default: all cores); results do not depend on it"},
    {"--max-memory", 0, OPTION_VALUE, "SIZE", "most memory for tensors, such as 512M or 16G (default: 80 % of the machine's)"},
    {"--seed", 0, OPTION_VALUE, "N", "seed of random inputs (default 0)"},
    {"--log", 0, OPTION_VALUE, "FILE", "write diagnostics and progress as JSON lines to FILE too"},
    {"--help", 'h', OPTION_FLAG, NULL, "this text"},
};
const option_group npuc_cli_global_group = {"Everywhere", global_options, sizeof global_options / sizeof *global_options};

typedef struct option_cursor {
  const command *command;
  size_t group, index; /* group 0 is the global one */
} option_cursor;

static const option_group *cursor_group(const option_cursor *c) {
  if (c->group == 0) return &npuc_cli_global_group;
  return c->command && c->command->groups ? c->command->groups[c->group - 1] : NULL;
}

static const option *next_option(option_cursor *c) {
  for (const option_group *g; (g = cursor_group(c)) != NULL; c->group++, c->index = 0)
    if (c->index < g->n_options) return &g->options[c->index++];
  return NULL;
}

static const option *find_option(const command *c, const char *name, size_t n, char letter) {
  option_cursor cursor = {.command = c};
  for (const option *o; (o = next_option(&cursor)) != NULL;) {
    if (letter ? o->letter == letter : strlen(o->name) == n && memcmp(o->name, name, n) == 0) return o;
  }
  return NULL;
}

/* "No such option" with what was probably meant: a slip of this command's options, or another command's option. */
static npuc_status unknown_option(diag *d, arena *a, const command *c, const command *const *commands, size_t n_commands,
                                  const char *given) {
  const char *names[128];
  size_t n = 0;
  const char *bare = npuc_arena_strn(a, given, strcspn(given, "="));
  option_cursor cursor = {.command = c};
  for (const option *o; (o = next_option(&cursor)) != NULL && n < 128;) names[n++] = o->name;
  const char *near = npuc_nearest(bare, names, n);
  npuc_status status =
      npuc_fail(d, NPUC_DIAG_E0102, &(diag_place){.attribute = bare}, "npuc%s%s has no option %s", c ? " " : "", c ? c->name : "", bare);
  bool elsewhere = false;
  for (size_t i = 0; i < n_commands && !elsewhere; i++) {
    elsewhere = commands[i] != c && find_option(commands[i], bare, strlen(bare), 0);
    if (elsewhere) npuc_fix(d, "%s is an option of `npuc %s`", bare, commands[i]->name);
  }
  if (near && !elsewhere) npuc_fix(d, "did you mean %s?", near);
  npuc_fix(d, "npuc %s%s--help", c ? c->name : "", c ? " " : "");
  return status;
}

static bool already_given(const parsed_line *line, const option *o) {
  for (size_t i = 0; i < line->n_options; i++)
    if (line->options[i].option == o) return true;
  return false;
}

/* NAME=VALUE in a list whose NAME an earlier one has. */
static bool name_already_given(const parsed_line *line, const option *o, const char *value) {
  size_t n = strcspn(value, "=") + 1; /* with the sign: N is not the beginning of NAME */
  if (!strchr(o->value, '=') || !strchr(value, '=')) return false;
  for (size_t i = 0; i < line->n_options; i++)
    if (line->options[i].option == o && strncmp(line->options[i].value, value, n) == 0) return true;
  return false;
}

static npuc_status take_option(diag *d, parsed_line *line, const option *o, const char *value) {
  diag_place place = {.attribute = o->name};
  if (o->kind == OPTION_VALUE && already_given(line, o))
    return npuc_fail(d, NPUC_DIAG_E0103, &place, "%s is given twice; it takes one value", o->name);
  if (o->kind == OPTION_LIST && name_already_given(line, o, value))
    return npuc_fail(d, NPUC_DIAG_E0103, &place, "%s %.*s is given twice", o->name, (int)strcspn(value, "="), value);
  if (value && *value == '\0') return npuc_fail(d, NPUC_DIAG_E0104, &place, "the value of %s is empty: %s %s", o->name, o->name, o->value);
  line->options[line->n_options++] = (parsed_option){o, value};
  return NPUC_OK;
}

static const command *find_command(const command *const *commands, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(commands[i]->name, name) == 0) return commands[i];
  return NULL;
}

static npuc_status unknown_command(diag *d, const command *const *commands, size_t n_commands, const char *given) {
  const char *names[64];
  size_t n = 0;
  for (size_t i = 0; i < n_commands && n < 64; i++) names[n++] = commands[i]->name;
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0101, NULL, "npuc has no command '%s'", given);
  const char *near = npuc_nearest(given, names, n);
  if (near) npuc_fix(d, "npuc %s", near);
  npuc_fix(d, "npuc --help");
  return status;
}

/* The command is the first word that is no option (and no value of a global option). */
static const char *command_word(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-') return argv[i];
    size_t n = strcspn(argv[i], "=");
    const option *o = find_option(NULL, argv[i], n, 0);
    if (o && o->kind != OPTION_FLAG && argv[i][n] == '\0') i++;
  }
  return NULL;
}

static npuc_status parse_word(diag *d, arena *a, const command *const *commands, size_t n_commands, int argc, char **argv, int *i,
                              parsed_line *line) {
  const char *word = argv[*i];
  bool is_long = word[1] == '-';
  size_t n = is_long ? strcspn(word, "=") : 2;
  const option *o = find_option(line->command, word, n, is_long ? 0 : word[1]);
  if (!o || (!is_long && word[2] != '\0' && o->kind == OPTION_FLAG)) return unknown_option(d, a, line->command, commands, n_commands, word);
  const char *attached = is_long ? (word[n] == '=' ? word + n + 1 : NULL) : (word[2] ? word + 2 : NULL);
  if (o->kind == OPTION_FLAG) {
    if (attached) return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = o->name}, "%s takes no value", o->name);
    return take_option(d, line, o, NULL);
  }
  if (!attached) {
    if (*i + 1 >= argc)
      return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = o->name}, "%s wants a value: %s %s", o->name, o->name, o->value);
    attached = argv[++*i];
  }
  return take_option(d, line, o, attached);
}

npuc_status npuc_cli_parse(diag *d, arena *a, const command *const *commands, size_t n_commands, int argc, char **argv,
                           parsed_line *out_line) {
  parsed_line *line = out_line;
  *line = (parsed_line){0};
  line->options = NPUC_NEW_ARRAY(a, (size_t)argc, parsed_option);
  line->arguments = (const char **)npuc_arena_array(a, (size_t)argc, sizeof(char *));
  line->text = "npuc";
  for (int i = 1; i < argc; i++) line->text = npuc_arena_printf(a, "%s %s", line->text, argv[i]);
  const char *word = command_word(argc, argv);
  if (word) {
    line->command = find_command(commands, n_commands, word);
    if (!line->command) return unknown_command(d, commands, n_commands, word);
  }
  bool seen_command = false, only_arguments = false;
  for (int i = 1; i < argc; i++) {
    if (only_arguments || argv[i][0] != '-' || argv[i][1] == '\0') {
      if (!seen_command && argv[i] == word)
        seen_command = true;
      else
        line->arguments[line->n_arguments++] = argv[i];
    } else if (strcmp(argv[i], "--") == 0) {
      only_arguments = true;
    } else {
      NPUC_TRY(parse_word(d, a, commands, n_commands, argc, argv, &i, line));
    }
  }
  const command *c = line->command;
  if (!c || npuc_cli_flag(line, "--help")) return NPUC_OK;
  if (line->n_arguments < c->min_arguments || line->n_arguments > c->max_arguments) {
    npuc_status status = npuc_fail(d, NPUC_DIAG_E0105, NULL, "npuc %s takes %s, not %zu argument%s", c->name,
                                   *c->arguments ? c->arguments : "no argument", line->n_arguments, line->n_arguments == 1 ? "" : "s");
    npuc_fix(d, "npuc %s --help", c->name);
    return status;
  }
  return NPUC_OK;
}

const char *npuc_cli_value(const parsed_line *line, const char *name) {
  const char *value = NULL;
  for (size_t i = 0; i < line->n_options; i++)
    if (strcmp(line->options[i].option->name, name) == 0) value = line->options[i].value;
  return value;
}

bool npuc_cli_flag(const parsed_line *line, const char *name) {
  for (size_t i = 0; i < line->n_options; i++)
    if (strcmp(line->options[i].option->name, name) == 0) return true;
  return false;
}

size_t npuc_cli_list(const parsed_line *line, arena *a, const char *name, const char ***out_values) {
  size_t n = 0;
  *out_values = (const char **)npuc_arena_array(a, line->n_options + 1, sizeof(char *));
  for (size_t i = 0; i < line->n_options; i++)
    if (strcmp(line->options[i].option->name, name) == 0) (*out_values)[n++] = line->options[i].value;
  return n;
}

npuc_status npuc_cli_int(diag *d, const parsed_line *line, const char *name, long long lo, long long hi, long long fallback,
                         long long *out_value) {
  const char *text = npuc_cli_value(line, name);
  *out_value = fallback;
  if (!text) return NPUC_OK;
  char *end = NULL;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || v < lo || v > hi)
    return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = name}, "%s wants a whole number from %lld to %lld, not '%s'", name, lo,
                     hi, text);
  *out_value = v;
  return NPUC_OK;
}

/* Digits, then nothing, K, M, G or T (powers of 1024). */
static bool parse_size(const char *text, size_t *out_bytes) {
  static const char suffixes[] = "KMGT";
  char *end = NULL;
  errno = 0;
  unsigned long long v = strtoull(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || errno != 0) return false;
  const char *suffix = *end ? strchr(suffixes, *end) : NULL;
  if (*end && (!suffix || end[1])) return false;
  for (ptrdiff_t i = suffix ? suffix - suffixes + 1 : 0; i > 0; i--) {
    if (v > SIZE_MAX / 1024) return false;
    v *= 1024;
  }
  *out_bytes = (size_t)v;
  return v > 0;
}

npuc_status npuc_cli_size(diag *d, const parsed_line *line, const char *name, size_t fallback, size_t *out_bytes) {
  const char *text = npuc_cli_value(line, name);
  *out_bytes = fallback;
  if (!text || parse_size(text, out_bytes)) return NPUC_OK;
  npuc_status status =
      npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = name}, "%s wants bytes, with K, M, G or T for more, not '%s'", name, text);
  npuc_fix(d, "%s 4G", name);
  return status;
}

npuc_status npuc_cli_real(diag *d, const parsed_line *line, const char *name, double fallback, double *out_value) {
  const char *text = npuc_cli_value(line, name);
  *out_value = fallback;
  if (!text) return NPUC_OK;
  char *end = NULL;
  double v = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(v))
    return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = name}, "%s wants a number, not '%s'", name, text);
  *out_value = v;
  return NPUC_OK;
}

enum { LEFT = 33, NARROW = 24 };

/* A sentence from column `at` on, broken at blanks so that it ends before `columns`. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t columns) {
  size_t room = columns > at + NARROW ? columns - at : columns ? NARROW : SIZE_MAX;
  while (npuc_utf8_columns(text) > room) {
    size_t fits = npuc_utf8_fit(text, room), end = fits;
    while (end > 0 && text[end] != ' ') end--;
    if (end == 0) end = fits;
    fprintf(out, "%.*s\n%*s", (int)end, text, (int)at, "");
    text += end;
    text += strspn(text, " ");
  }
  fprintf(out, "%s\n", text);
}

static void print_group(FILE *out, const option_group *g, size_t columns) {
  fprintf(out, "\n%s:\n", g->title);
  for (size_t i = 0; i < g->n_options; i++) {
    const option *o = &g->options[i];
    char left[96];
    char letter[8] = "";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "%s%s%s%s", letter, o->name, o->value ? " " : "", o->value ? o->value : "");
    char text[512];
    snprintf(text, sizeof text, "%s%s", o->help, o->kind == OPTION_LIST ? " (may repeat)" : "");
    if (strlen(left) <= LEFT - 3)
      fprintf(out, "  %-30s ", left);
    else
      fprintf(out, "  %s\n%*s", left, LEFT, "");
    print_wrapped(out, text, LEFT, columns);
  }
}

const char npuc_cli_exit_statuses[] =
    "\nExit status: 0 good, 1 internal error, 2 usage, 3 unsupported, 4 gate or tolerance failed,\n"
    "             5 environment (missing tool, disk, permission), 6 bad input file, or none there.\n";

const char npuc_cli_words[] =
    "\nnpuc --version: version, commit, compiler, kernels' CPU level.\n"
    "MODEL is recognised by content: an .onnx file, a .pt2 archive of torch.export.save, a folder made by an\n"
    "earlier build (its artifact if built, else its newest stage), OUT@STAGE (out@quantize), or a .npu file.\n"
    "DATA is [KIND:]PATH with KIND npy, npz, raw:DTYPE:DIMS, dir, cifar10, mnist or random:N.\n"
    "`npuc COMMAND --help` shows a command's options and examples; `npuc explain CODE` tells a diagnostic's story.\n";

void npuc_cli_command_help(FILE *out, const command *c, size_t columns) {
  fprintf(out, "npuc %s: %s\n\nUsage: npuc %s%s%s [OPTIONS]\n", c->name, c->purpose, c->name, *c->arguments ? " " : "", c->arguments);
  for (size_t i = 0; c->groups && c->groups[i]; i++) print_group(out, c->groups[i], columns);
  print_group(out, &npuc_cli_global_group, columns);
  if (c->examples && c->examples[0]) {
    fputs("\nExamples:\n", out);
    for (size_t i = 0; c->examples[i]; i++) fprintf(out, "  %s\n", c->examples[i]);
  }
  fputs(npuc_cli_exit_statuses, out);
}

void npuc_cli_help(FILE *out, const command *const *commands, size_t n_commands, size_t columns) {
  fputs(
      "npuc: from a trained network to the NPU, every step checked\n\n"
      "Usage: npuc COMMAND ARGUMENTS [OPTIONS]\n\nCommands:\n",
      out);
  for (size_t i = 0; i < n_commands; i++) {
    fprintf(out, "  %-10s ", commands[i]->name);
    print_wrapped(out, commands[i]->purpose, 13, columns);
  }
  print_group(out, &npuc_cli_global_group, columns);
  fputs(npuc_cli_words, out);
  fputs(npuc_cli_exit_statuses, out);
}
