/* SPDX-License-Identifier: Apache-2.0 */
/* npuc completion SHELL: a script for the shell, made of the same tables that parse the line. Values that are a choice (`auto|always|never`), a stage or a
 * target complete to words; the rest to files. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "stages/build.h"

typedef struct group_walk {
  const command *c;
  size_t group;
} group_walk;

/* The command's groups, then the global one; NULL at the end. A walk over no command has the global one only. */
static const option_group *next_group(group_walk *w) {
  size_t i = w->group++;
  size_t n = 0;
  while (w->c && w->c->groups && w->c->groups[n]) n++;
  return i < n ? w->c->groups[i] : i == n ? &npuc_cli_global_group : NULL;
}

typedef void option_function(void *user, const command *c, const option *o);
static void each_option(const command *c, option_function *call, void *user) {
  group_walk w = {.c = c};
  for (const option_group *g; (g = next_group(&w)) != NULL;)
    for (size_t i = 0; i < g->n_options; i++) call(user, c, &g->options[i]);
}

/* The words that a value is one of, blank between them; "" for files and free text. `target` in the shell's own words. */
static const char *choices(arena *a, const option *o, const char *target) {
  const char *text = o->value ? o->value : "";
  if (strchr(text, '|')) {
    char *words = npuc_arena_str(a, text);
    for (char *p = words; *p; p++)
      if (*p == '|') *p = ' ';
    return words;
  }
  if (strcmp(text, "TARGET") == 0) return target;
  const char *words = "";
  for (int i = 0; i < STAGE_COUNT && strcmp(text, "STAGE") == 0; i++)
    words = npuc_arena_printf(a, "%s%s%s", words, *words ? " " : "", npuc_stage_name((stage_id)i));
  return words;
}

/* A name of a file may follow. */
static bool takes_file(const option *o) {
  static const char *const names[] = {"FILE", "DIR", "OUT", "DATA", "SPEC", "ENV", "MODEL"};
  for (size_t i = 0; o->value && i < sizeof names / sizeof *names; i++)
    if (strstr(o->value, names[i])) return true;
  return false;
}

static const char *all_commands(arena *a, const char *between) {
  size_t n;
  const command *const *commands = npuc_cli_commands(&n);
  const char *words = "";
  for (size_t i = 0; i < n; i++) words = npuc_arena_printf(a, "%s%s%s", words, i ? between : "", commands[i]->name);
  return words;
}

/* Inside single quotes of any of the three shells: they end, an escaped quote stands, they begin again. */
static const char *quoted(arena *a, const char *text, const char *escaped) {
  const char *out = "";
  for (; *text; text++) {
    char one[2] = {*text, '\0'};
    const char *put = *text == '\'' ? "'\\''" : one;
    out = npuc_arena_printf(a, "%s%s%s", out, *text != '\'' && strchr(escaped, *text) ? "\\" : "", put);
  }
  return out;
}

typedef struct writer {
  arena *a;
  FILE *out;
} writer;

#define PUT(w, ...) fprintf((w)->out, __VA_ARGS__)

/* -- bash -- */

static const char bash_targets[] = "$(npuc targets 2>/dev/null | sed \"s/ .*//\")";

static void bash_value(void *user, const command *c, const option *o) {
  writer *w = user;
  if (o->kind == OPTION_FLAG) return;
  const char *words = choices(w->a, o, bash_targets), *name = c ? c->name : "*";
  PUT(w, "    %s,%s%s%s", name, o->name, o->letter ? npuc_arena_printf(w->a, "|%s,-%c", name, o->letter) : "", ") ");
  if (*words)
    PUT(w, "COMPREPLY=($(compgen -W \"%s\" -- \"$word\")); return ;;\n", words);
  else if (takes_file(o))
    PUT(w, "compopt -o default; return ;;\n");
  else
    PUT(w, "return ;;\n");
}

static void bash_name(void *user, const command *c, const option *o) {
  writer *w = user;
  (void)c;
  PUT(w, "%s ", o->name);
}

static void write_bash(writer *w, const command *const *commands, size_t n) {
  PUT(w,
      "# bash completion of npuc, written by `npuc completion bash`\n"
      "_npuc() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
      "  COMPREPLY=()\n"
      "  if [[ $word == = ]]; then word=; elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in %s) command=${COMP_WORDS[i]}; break ;; esac\n"
      "  done\n"
      "  case $command,$previous in\n",
      all_commands(w->a, "|"));
  for (size_t i = 0; i < n; i++) each_option(commands[i], bash_value, w);
  each_option(NULL, bash_value, w);
  PUT(w,
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    case $command in\n");
  for (size_t i = 0; i < n; i++) {
    PUT(w, "    %s) COMPREPLY=($(compgen -W '", commands[i]->name);
    each_option(commands[i], bash_name, w);
    PUT(w, "' -- \"$word\")) ;;\n");
  }
  PUT(w, "    *) COMPREPLY=($(compgen -W '--version ");
  each_option(NULL, bash_name, w);
  PUT(w,
      "' -- \"$word\")) ;;\n"
      "    esac\n"
      "  elif [[ -z $command ]]; then\n"
      "    COMPREPLY=($(compgen -W '%s' -- \"$word\"))\n"
      "  else\n"
      "    compopt -o default\n"
      "  fi\n"
      "}\n"
      "complete -F _npuc npuc\n",
      all_commands(w->a, " "));
}

/* -- zsh -- */

static const char zsh_targets[] = "'\"$targets\"'"; /* outside the quotes that an argument stands in */

static void zsh_option(void *user, const command *c, const option *o) {
  writer *w = user;
  arena *a = w->a;
  (void)c;
  const char *words = choices(a, o, zsh_targets);
  const char *action = *words ? npuc_arena_printf(a, "(%s)", words) : takes_file(o) ? "_files" : " ";
  const char *argument = o->kind == OPTION_FLAG ? "" : npuc_arena_printf(a, ":%s:%s", quoted(a, o->value, ":\\"), action);
  const char *repeat = o->kind == OPTION_LIST ? "*" : "", *help = quoted(a, o->help, "[]:\\");
  const char *form = o->kind == OPTION_FLAG ? "" : "=";
  PUT(w, "        '%s%s%s[%s]%s' \\\n", repeat, o->name, form, help, argument);
  if (o->letter) PUT(w, "        '%s-%c[%s]%s' \\\n", repeat, o->letter, help, argument);
}

static void write_zsh(writer *w, const command *const *commands, size_t n) {
  PUT(w,
      "#compdef npuc\n"
      "# zsh completion of npuc, written by `npuc completion zsh`\n"
      "_npuc() {\n"
      "  local -a commands\n"
      "  local targets curcontext=$curcontext state line\n"
      "  commands=(\n");
  for (size_t i = 0; i < n; i++) PUT(w, "    '%s:%s'\n", commands[i]->name, quoted(w->a, commands[i]->purpose, ":\\"));
  PUT(w,
      "  )\n"
      "  _arguments -C '1:command:->command' '*::argument:->argument' && return\n"
      "  case $state in\n"
      "  command) _describe -t commands command commands ;;\n"
      "  argument)\n"
      "    targets=${(f)\"$(npuc targets 2>/dev/null | sed 's/ .*//')\"}\n"
      "    targets=${targets//$'\\n'/ }\n"
      "    case $line[1] in\n");
  for (size_t i = 0; i < n; i++) {
    PUT(w, "    %s)\n      _arguments \\\n", commands[i]->name);
    each_option(commands[i], zsh_option, w);
    PUT(w, "        '*:%s:_files' ;;\n", *commands[i]->arguments ? quoted(w->a, commands[i]->arguments, ":\\") : "argument");
  }
  PUT(w,
      "    esac ;;\n"
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _npuc ]; then _npuc \"$@\"; else compdef _npuc npuc; fi\n");
}

/* -- fish -- */

static void fish_option(void *user, const command *c, const option *o) {
  writer *w = user;
  arena *a = w->a;
  PUT(w, "complete -c npuc");
  if (c) PUT(w, " -n '__fish_seen_subcommand_from %s'", c->name);
  PUT(w, " -l %s", o->name + 2);
  if (o->letter) PUT(w, " -s %c", o->letter);
  if (o->kind != OPTION_FLAG) {
    const char *words = choices(a, o, "(npuc targets 2>/dev/null | string replace -r \" .*\" \"\")");
    PUT(w, takes_file(o) && !*words ? " -r" : " -x");
    if (*words) PUT(w, " -a '%s'", words);
  }
  PUT(w, " -d '%s'\n", quoted(a, o->help, "\\"));
}

static void fish_own_option(void *user, const command *c, const option *o) {
  for (size_t i = 0; i < npuc_cli_global_group.n_options; i++)
    if (o == &npuc_cli_global_group.options[i]) return;
  fish_option(user, c, o);
}

static void write_fish(writer *w, const command *const *commands, size_t n) {
  PUT(w, "# fish completion of npuc, written by `npuc completion fish`\n");
  for (size_t i = 0; i < n; i++)
    PUT(w, "complete -c npuc -n __fish_use_subcommand -f -a %s -d '%s'\n", commands[i]->name, quoted(w->a, commands[i]->purpose, "\\"));
  each_option(NULL, fish_option, w);
  for (size_t i = 0; i < n; i++) each_option(commands[i], fish_own_option, w);
}

static npuc_status run(cli *c) {
  static const struct {
    const char *name;
    void (*write)(writer *w, const command *const *commands, size_t n);
  } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
  size_t n;
  const command *const *commands = npuc_cli_commands(&n);
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
    if (strcmp(shells[i].name, c->line.arguments[0]) != 0) continue;
    char *text = NULL;
    size_t bytes = 0;
    writer w = {.a = c->arena, .out = open_memstream(&text, &bytes)};
    if (!w.out) return npuc_fail(c->diag, NPUC_DIAG_E0002, NULL, "memory of the script");
    shells[i].write(&w, commands, n);
    npuc_status status = fclose(w.out) == 0 ? NPUC_OK : npuc_fail(c->diag, NPUC_DIAG_E0002, NULL, "memory of the script");
    if (status == NPUC_OK) npuc_cli_set(c, "script", json_string(text)), npuc_cli_say(c, "%s", text);
    free(text);
    return status;
  }
  return npuc_fail(c->diag, NPUC_DIAG_E0104, NULL, "shells are bash, zsh and fish, not '%s'", c->line.arguments[0]);
}

static const char *const examples[] = {"npuc completion bash > npuc.bash", "npuc completion zsh > _npuc",
                                       "npuc completion fish > npuc.fish", NULL};

const command npuc_command_completion = {.name = "completion",
                                         .arguments = "bash|zsh|fish",
                                         .purpose = "print the shell's completion script",
                                         .min_arguments = 1,
                                         .max_arguments = 1,
                                         .examples = examples,
                                         .run = run};
