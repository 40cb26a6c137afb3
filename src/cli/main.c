/* SPDX-License-Identifier: Apache-2.0 */
/* npuc: the program. Parses, sets up what every command has, runs one command, prints its result and diagnostics, exits with its status. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/limit.h"
#include "base/os.h"
#include "cli/cli.h"
#include "formats/json.h"
#include "base/build_info.h"

/* A signal only sets this: the work polls it (progress.cancelled), cleans up and reports E0005. */
static volatile sig_atomic_t interrupted;
static void on_signal(int number) {
  (void)number;
  interrupted = 1;
}

static bool is_cancelled(void *user) {
  (void)user;
  return interrupted != 0;
}

/* The library asks the program what to do when memory for a module cannot be had; the program ends, nothing half-written has a final name. */
static void on_oom(size_t bytes) {
  static const char text[] = "error[NPUC-E0002]: out of memory\n";
  size_t limit, held;
  if (npuc_memory_is_limited(bytes, &limit, &held)) {
    char limited[160];
    int n = snprintf(
        limited, sizeof limited,
        "error[NPUC-E0009]: the model itself: %zu bytes, with %zu in use, are more than the limit of %zu\nhelp: --max-memory SIZE\n", bytes,
        held, limit);
    _exit(write(STDERR_FILENO, limited, (size_t)n) < 0 ? NPUC_ENVIRONMENT : NPUC_UNSUPPORTED);
  }
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(NPUC_ENVIRONMENT);
  _exit(NPUC_ENVIRONMENT);
}

static void show_progress(void *user, const char *what, uint64_t done, uint64_t total) {
  cli *c = user;
  double now = npuc_clock_seconds(), left;
  if (!npuc_progress_line_due(&c->line_shown, what, done, total, now)) return;
  static const char *const line =
      "{\"event\":\"progress\",\"what\":\"%s\",\"done\":%" PRIu64 ",\"total\":%" PRIu64 ",\"rate\":%.6g,\"seconds_left\":%.6g}\n";
  double rate = npuc_progress_line_rate(&c->line_shown, done, total, now, &left);
  if (c->log) fprintf(c->log, line, what, done, total, rate, left < 0 ? 0.0 : left);
  if (c->json) {
    fprintf(stderr, line, what, done, total, rate, left < 0 ? 0.0 : left);
  } else if (c->terminal) {
    char text[256] = "";
    size_t columns = npuc_cli_columns(STDERR_FILENO);
    if (done != total) npuc_progress_line_text(&c->line_shown, done, total, now, columns ? columns - 1 : 79, text, sizeof text);
    fprintf(stderr, "\r\033[K%s", text);
  }
}

static void install_signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  signal(SIGPIPE, SIG_DFL);
}

/* A result never takes the place of what it was made from: neither the model's file nor the memory of a build. */
static npuc_status keep_arguments(cli *c) {
  static const char *const names[] = {"--output", "--graph", "--trace", "--log"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *file = npuc_cli_value(&c->line, names[i]);
    for (size_t k = 0; file && k < c->line.n_arguments; k++) {
      const char *argument = c->line.arguments[k];
      bool folder = npuc_path_is_dir(argument);
      if (npuc_path_same(file, folder ? npuc_path_join(c->arena, argument, "manifest.json") : argument) && !npuc_path_is_dir(file))
        return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.file = file, .attribute = names[i]},
                         "%s would overwrite what the command reads; nothing was written", names[i]);
    }
  }
  return NPUC_OK;
}

static npuc_status set_up(cli *c) {
  const char *color = npuc_cli_value(&c->line, "--color");
  if (color && strcmp(color, "auto") != 0 && strcmp(color, "always") != 0 && strcmp(color, "never") != 0)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--color"}, "--color is auto, always or never, not '%s'", color);
  c->color = color && strcmp(color, "auto") != 0 ? strcmp(color, "always") == 0 : npuc_cli_wants_color(STDERR_FILENO);
  c->json = npuc_cli_flag(&c->line, "--json");
  c->quiet = npuc_cli_flag(&c->line, "--quiet");
  c->verbose = npuc_cli_flag(&c->line, "--verbose");
  c->terminal = npuc_cli_moves_cursor(STDERR_FILENO) && !c->quiet;
  NPUC_TRY(keep_arguments(c));
  long long threads = 0, seed = 0;
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--threads", 1, 1024, 0, &threads));
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--seed", 0, INT64_MAX, 0, &seed));
  c->seed = (unsigned long long)seed;
  size_t memory;
  NPUC_TRY(npuc_cli_size(c->diag, &c->line, "--max-memory", (size_t)(npuc_os_memory_bytes() / 5 * 4), &memory));
  npuc_memory_limit(memory);
  const char *log = npuc_cli_value(&c->line, "--log");
  if (log && !(c->log = fopen(log, "w")))
    return npuc_fail(c->diag, NPUC_DIAG_E0003, &(diag_place){.file = log}, "the log cannot be opened");
  cpu_level level;
  NPUC_TRY(npuc_cpu_select(c->diag, &level));
  c->pool = npuc_pool_create((size_t)threads);
  if (!c->pool) return npuc_fail(c->diag, NPUC_DIAG_E0002, NULL, "threads cannot be started");
  c->progress = (progress){.report = show_progress, .cancelled = is_cancelled, .user = c};
  return NPUC_OK;
}

static void print_result(cli *c, npuc_status status) {
  if (!c->json || !c->line.command) return;
  json_object_set_new(c->result, "seconds", json_real(npuc_clock_seconds() - c->started));
  json_object_set_new(c->result, "peak_rss_bytes", json_integer((json_int_t)npuc_peak_rss_bytes()));
  json_object_set_new(c->result, "exit_status", json_integer(status));
  json_dumpf(c->result, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
  fputc('\n', stdout);
}

static npuc_status run_command(cli *c) {
  NPUC_TRY(set_up(c));
  c->result = json_object();
  json_object_set_new(c->result, "schema", json_string("npuc/1"));
  json_object_set_new(c->result, "command", json_string(c->line.command->name));
  npuc_status status = c->line.command->run(c);
  if (interrupted && status == NPUC_OK) status = npuc_fail(c->diag, NPUC_DIAG_E0005, NULL, "stopped by a signal");
  npuc_cli_flush(c);
  print_result(c, status);
  json_decref(c->result);
  return status;
}

/* --version by itself, or with --json. */
static bool asks_version(int argc, char **argv) {
  bool asked = false;
  for (int i = 1; i < argc; i++) {
    asked |= strcmp(argv[i], "--version") == 0;
    if (strcmp(argv[i], "--version") != 0 && strcmp(argv[i], "--json") != 0) return false;
  }
  return asked;
}

static npuc_status version(bool json) {
  if (json)
    printf("{\"schema\": \"npuc/1\", \"version\": \"%s\", \"commit\": \"%s\", \"compiler\": \"%s\", \"cpu\": \"%s\"}\n", NPUC_BUILD_VERSION,
           NPUC_BUILD_COMMIT, NPUC_BUILD_COMPILER, npuc_cpu_name(npuc_cpu_best()));
  else
    printf("npuc %s (%s, %s, kernels %s)\n", NPUC_BUILD_VERSION, NPUC_BUILD_COMMIT, NPUC_BUILD_COMPILER, npuc_cpu_name(npuc_cpu_best()));
  return NPUC_OK;
}

int main(int argc, char **argv) {
  npuc_set_oom_handler(on_oom);
  npuc_json_prepare();
  install_signals();
  size_t n_commands;
  const command *const *commands = npuc_cli_commands(&n_commands);
  cli c = {.started = npuc_clock_seconds()};
  c.arena = npuc_arena_create();
  c.diag = npuc_diag_create(NULL, NULL);
  if (!c.diag) on_oom(0);
  npuc_status status = NPUC_OK;
  if (asks_version(argc, argv)) {
    status = version(argc > 2);
  } else {
    status = npuc_cli_parse(c.diag, c.arena, commands, n_commands, argc, argv, &c.line);
    for (int i = 1; i < argc; i++) c.json |= strcmp(argv[i], "--json") == 0; /* a usage error has its JSON face too */
    if (status == NPUC_OK && c.line.command && npuc_cli_flag(&c.line, "--help"))
      npuc_cli_command_help(stdout, c.line.command, npuc_cli_columns(STDOUT_FILENO));
    else if (status == NPUC_OK && !c.line.command)
      npuc_cli_help(argc > 1 ? stdout : stderr, commands, n_commands, npuc_cli_columns(argc > 1 ? STDOUT_FILENO : STDERR_FILENO));
    else if (status == NPUC_OK)
      status = run_command(&c);
    if (status == NPUC_OK && argc == 1) status = NPUC_USAGE;
    npuc_cli_flush(&c);
  }
  if (fflush(stdout) != 0 || ferror(stdout)) status = status == NPUC_OK ? NPUC_ENVIRONMENT : status;
  if (c.log) {
    bool lost = ferror(c.log) != 0;
    if (fclose(c.log) != 0 || lost) {
      fputs("npuc: the log could not be written to its end\n", stderr);
      status = status == NPUC_OK ? NPUC_ENVIRONMENT : status;
    }
  }
  npuc_pool_destroy(c.pool);
  npuc_diag_destroy(c.diag);
  npuc_arena_destroy(c.arena);
  return (int)status;
}
